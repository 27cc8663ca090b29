"""nlil bench explanations: what is measured, against plain recomputation, and what the table says."""

from __future__ import annotations

import numpy as np
import pytest

import nlil
from nlil.data.dataset import Dataset
from nlil.datasets import load_dataset
from nlil.logic.predicate import Fact, Predicate
from nlil_bench.explanations import COUNT, Study, explanations_table, rank, repeats, summary


@pytest.fixture(scope="module")
def dataset() -> Dataset:
    return load_dataset("kin:60")


@pytest.fixture(scope="module")
def study(dataset: Dataset) -> Study:
    config = nlil.LearnerConfig(search="count", max_length=2)
    learned = nlil.Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits)
    return Study(learned.rules, dataset, 0)


def test_ranks_are_those_of_evaluation(study: Study, dataset: Dataset) -> None:
    """Over all queries with an answer that rules speak for; where none does, evaluation has a tie at the end."""
    rules = study.explainer.rules
    metrics = nlil.evaluate(rules, dataset.kb, dataset.splits.test, splits=dataset.splits)
    judged = list(study.verdicts(COUNT))
    binary = int((~dataset.splits.test.is_unary).sum())
    assert 0 < len(judged) <= 2 * binary
    assert sum(1 / one.rank for one in judged) <= metrics["mrr"] * 2 * binary + 1e-9
    assert sum(1 / one.rank for one in judged) >= (metrics["mrr"] - 0.05) * 2 * binary


def test_facts_that_are_named_count_more_than_others(study: Study) -> None:
    judged = list(study.verdicts(40))
    found = summary(judged)
    assert found["predictions"] == len(judged)
    assert found["max_lines"] <= 12
    assert found["mrr_without"] < found["mrr_without_random"] <= found["mrr"] + 1e-9
    assert found["falls"] > found["falls_at_random"]
    assert found["redundancy"] < found["redundancy_of_rules"]
    assert found["mean_reasons"] < found["mean_rules"]
    assert all(one.deleted_random <= one.deleted for one in judged)


def test_small_parts() -> None:
    facts = [Fact(Predicate("p", 2), ("a", name)) for name in "bcd"]
    assert repeats([facts[:2], facts[1:], facts[:1]]) == (5, 2)
    assert rank(np.array([5 << 40, 3 << 40, 3 << 40, 0]), 3 << 40) == 3.0
    assert summary([])["first_alone"] is None


def test_the_table(study: Study) -> None:
    found = summary(list(study.verdicts(5)))
    entry = {**found, "data": "kin:60", "quick": False, "machine": {"device": "cpu", "cores": 2}, "commit": "abc"}
    entry["date"] = "2026-01-01"
    table = explanations_table({"kin:60": entry, "kin:60 quick": replace_quick(entry)})
    assert table.count("kin:60") == 1
    assert "commit abc on 2026-01-01" in table
    assert explanations_table({}) == "Not measured yet."


def replace_quick(entry: dict[str, object]) -> dict[str, object]:
    return {**entry, "quick": True}
