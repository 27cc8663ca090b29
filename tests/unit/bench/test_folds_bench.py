"""nlil bench folds: its splits, what it measures, its table."""

from __future__ import annotations

import numpy as np

from nlil.cli.session import Session
from nlil.datasets import load_dataset
from nlil.progress import silent
from nlil_bench import folds
from nlil_bench.registry import Request


def test_a_random_split_has_every_training_fact_once() -> None:
    dataset = load_dataset("kin:80")
    kb, splits = folds.random_split(dataset, 1)
    assert len(splits.all().unique()) == len(splits.all()) == len(dataset.kb.facts)
    assert len(splits.valid) == len(splits.test) == len(dataset.kb.facts) // folds.PART
    assert kb.facts.isin(splits.train).all()
    other = folds.random_split(dataset, 2)[1]
    assert not np.array_equal(other.test.subject, splits.test.subject)


def test_every_way_is_measured_on_the_same_facts() -> None:
    (_, job) = folds.jobs(Request(Session()), "kin:80")
    entry = folds.measure({**job, "options": {"search": "count", "max_length": 2}}, silent)
    assert set(entry["ways"]) == set(folds.WAYS)
    assert "estimate" in entry["ways"]["held_out"]
    assert "estimate" not in entry["ways"]["nothing"]
    assert all(0 < way["mrr"] <= 1 for way in entry["ways"].values())


def test_the_table_has_a_line_for_random_splits_and_one_for_the_own_one() -> None:
    def entry(seed: int, held_out: float) -> dict[str, object]:
        ways = {
            "given": {"mrr": 0.9, "seconds": 10.0},
            "held_out": {"mrr": held_out, "seconds": 20.0, "estimate": 0.8},
            "nothing": {"mrr": 0.7, "seconds": 1.0},
        }
        return {"data": "umls", "split_seed": seed, "ways": ways, "quick": False, "machine": {"cores": 2}}

    table = folds.folds_table(
        {"umls own": entry(0, 0.85), "umls split=1": entry(1, 0.9), "umls split=2": entry(2, 0.88)}
    )
    lines = table.splitlines()
    assert "| umls | 2 random | .900 | .890 | .700 | -0.0100 ± 0.0100 | 2.0 |" in lines
    assert "| umls | own test facts | .900 | .850 | .700 | -0.0500 | 2.0 |" in lines
