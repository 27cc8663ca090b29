"""Every baseline of nlil bench kb is ranked alike: from its own scores a few plain lines give the same figures."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from nlil.data.dataset import Dataset, make_dataset
from nlil.data.facts import Splits
from nlil.data.kb import KnowledgeBase
from nlil.logic.predicate import Predicate
from nlil_bench import kb
from nlil_bench.baselines import NAMES as ALL_NAMES
from nlil_bench.baselines import make_baseline
from nlil_bench.baselines.interface import CLASS_NAMES
from nlil_bench.kb import ROW_NAMES

NAMES = [name for name in ALL_NAMES if name not in CLASS_NAMES]
FEW = {
    "neural-lp": ("epochs=2", "hidden=8"),
    "dilp": ("updates=5", "starts=2"),
    "transe": ("epochs=2", "dim=4"),
    "rotate": ("epochs=2", "dim=4"),
}


def people() -> Dataset:
    """A line of sixteen: every grandchild is known but those of four."""
    parent = [(f"p{i}", "parent", f"p{i + 1}") for i in range(15)] + [(f"p{i}", "parent", f"c{i}") for i in range(4)]
    grand = [(f"p{i}", "grand", f"p{i + 2}") for i in range(14)] + [(f"p{i}", "grand", f"c{i + 1}") for i in range(3)]
    everything = KnowledgeBase.from_facts([*parent, *grand])
    asked = np.flatnonzero(everything.facts.predicate == everything.predicate_id(Predicate("grand", 2)))[::4]
    held = np.isin(np.arange(len(everything.facts)), asked)
    train, test = everything.facts[~held], everything.facts[held]
    return make_dataset("people", everything.with_facts(train), Splits(train, test=test), (Predicate("grand", 2),))


def scorer(name: str, model: Any, data: Dataset) -> Callable[[int, int, int], np.ndarray]:
    """(predicate, given, side) -> the score of every entity."""
    if name != "neural-lp":
        return lambda predicate, given, side: np.asarray(model.scores(predicate, np.array([given]), side)[0])

    def of_chains(predicate: int, given: int, side: int) -> np.ndarray:
        dense = np.zeros(data.kb.num_entities)
        entities, score = model.model.scores(data.kb.predicates[predicate], given, bool(side))
        dense[entities] = score
        return dense

    return of_chains


def plain_figures(scores: Callable[[int, int, int], np.ndarray], data: Dataset) -> dict[str, float]:
    """Filtered, both directions, the middle of a tie."""
    everything = data.splits.train + data.splits.test
    known = set(zip(*(column.tolist() for column in (everything.predicate, everything.subject, everything.object))))
    ranks = []
    for p, s, o in zip(data.splits.test.predicate, data.splits.test.subject, data.splits.test.object):
        for side, (given, answer) in enumerate(((s, o), (o, s))):
            score = scores(int(p), int(given), side)
            rivals = [
                e
                for e in range(data.kb.num_entities)
                if e != answer and ((p, given, e) if side == 0 else (p, e, given)) not in known
            ]
            tied = np.isclose(score[rivals], score[answer], rtol=1e-7, atol=0)
            ranks.append(1 + ((score[rivals] > score[answer]) & ~tied).sum() + tied.sum() / 2)
    found = np.array(ranks)
    return {"mrr": float((1 / found).mean()), **{f"hits@{k}": float((found <= k).mean()) for k in (1, 3, 10)}}


@pytest.mark.parametrize("name", NAMES)
def test_the_figures_of_a_baseline_are_those_of_its_scores(name: str) -> None:
    if name in ("transe", "rotate"):
        pytest.importorskip("pykeen", reason=f"PyKEEN is not installed: the ranks of {name} are NOT tested")
    data = people()
    model = make_baseline(name, FEW.get(name, ()), {"device": "cpu", "threads": 1})
    model.fit(data, seed=1)
    metrics = model.evaluate("test")
    assert metrics.num_queries == 2 * len(data.splits.test) > 0
    expected = plain_figures(scorer(name, model, data), data)
    assert {figure: metrics[figure] for figure in expected} == pytest.approx(expected)
    assert metrics["mrr_pessimistic"] <= metrics["mrr"] <= metrics["mrr_optimistic"]


def test_every_model_has_a_row() -> None:
    assert list(ROW_NAMES) == [kb.OURS, *NAMES]
