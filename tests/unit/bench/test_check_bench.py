"""nlil bench check: what is planted, how orders are judged, and which methods run."""

from __future__ import annotations

import importlib.util

import numpy as np
import pytest

from nlil.data.facts import Facts
from nlil.datasets import load_dataset
from nlil.errors import NlilError
from nlil_bench.check import by_popularity, check_table, figures, jobs, key, measure, spoilt
from nlil_bench.job import measure_here


class Asked:
    """A request that remembers its notes."""

    def __init__(self, model: str | None = None) -> None:
        self.model, self.session, self.notes = model, self, []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def job(self, bench: str, data: str, **more):
        return {"bench": bench, "data": data, "settings": [], "options": {}, "quick": False, **more}


def test_one_binary_training_fact_in_twenty_is_wrong():
    dataset = load_dataset("kin:60")
    changed, wrong = spoilt(dataset, 0)
    assert len(wrong) == round(0.05 * len(dataset.kb.binary))
    assert not wrong.isin(dataset.splits.all()).any()
    assert wrong.isin(changed.kb.facts).all()
    assert np.array_equal(changed.kb.unary.subject, dataset.kb.unary.subject)
    assert len(changed.splits.train) == len(dataset.kb.facts)
    assert wrong.isin(spoilt(dataset, 0)[1]).all()
    assert not wrong.isin(spoilt(dataset, 1)[1]).all()


def test_figures():
    doubt, is_wrong = np.arange(200.0), np.arange(200) >= 160
    assert figures(doubt, is_wrong) == {"precision": 0.4, "recall": 1.0}
    found = figures(-doubt, is_wrong, np.full(200, 0.2))
    assert found == {"precision": 0.0, "recall": 0.0, "mean_said": pytest.approx(0.2), "brier": pytest.approx(0.16)}


def test_popularity_doubts_what_is_rare():
    columns = np.array([(0, 1, 2), (0, 1, 3), (0, 4, 3), (0, 5, 6)], np.int32).T
    doubt = by_popularity(Facts(*columns))
    assert doubt.argmax() == 3
    assert doubt[1] == doubt.min()


def test_an_entry_and_its_table():
    job = Asked().job("check", "kin:40", method="popularity")
    entry = measure_here(job)
    assert key(entry, job) == "kin:40 popularity"
    assert measure(job, lambda *_: None)["recall"] == entry["recall"]
    assert "| kin:40 | popularity |" in check_table({key(entry, job): entry})


def test_embeddings_need_pykeen(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    asked = Asked()
    assert [job["method"] for job in jobs(asked, "kin")] == ["nlil", "popularity"]
    assert asked.notes == [f"kin, {m}: not run, since PyKEEN is not installed" for m in ("transe", "rotate")]
    with pytest.raises(NlilError, match="rotate needs PyKEEN"):
        jobs(Asked("rotate"), "kin")
