"""TransE and RotatE: PyKEEN trains, we rank. Skipped where the extra `kge` is not installed."""

from __future__ import annotations

import sys
from importlib.util import find_spec

import numpy as np
import pytest
import torch

from nlil.data.dataset import Dataset, make_dataset
from nlil.data.facts import Splits
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError, MissingExtra, NlilError
from nlil_bench.baselines import make_baseline
from nlil_bench.baselines.embeddings import Embedding, EmbeddingSettings, RotatE, TransE

needs_pykeen = pytest.mark.skipif(
    find_spec("pykeen") is None,
    reason="PyKEEN is not installed: TransE and RotatE are NOT tested; pip install 'nlil[kge]'",
)
FEW = EmbeddingSettings(dim=16, negatives=8, batch=32, lr=0.05, margin=3.0, epochs=20, check_every=10, threads=1)


def line(size: int = 24) -> Dataset:
    """next(i, i + 1) along a line, prev its inverse; every sixth prev is left out, every twelfth to test on.

    (Around a ring no translation is true: it would have to come back to where it started.)
    """
    rows = [(f"n{i}", "next", f"n{i + 1}") for i in range(size - 1)]
    rows += [(f"n{i + 1}", "prev", f"n{i}") for i in range(size - 1)]
    kb = KnowledgeBase.from_facts([*rows, ("n0", "first")])
    previous = np.flatnonzero(kb.facts.predicate == kb.predicate_id(kb.predicate("prev")))
    test, valid = previous[::12], previous[6::12]
    train = np.setdiff1d(np.arange(len(kb.facts)), np.concatenate((test, valid)))
    facts = kb.facts
    return make_dataset("line", kb.with_facts(facts[train]), Splits(facts[train], facts[valid], facts[test]))


@needs_pykeen
@pytest.mark.parametrize("kind", [TransE, RotatE])
def test_what_was_learned_is_ranked_high(kind: type[Embedding]) -> None:
    data = line()
    model = kind(FEW)
    told: list[tuple[str, int, int]] = []
    model.fit(data, 0, lambda stage, done, total, note="": told.append((stage, done, total)))
    metrics = model.evaluate("test")
    assert model.evaluate("train")["mrr"] > 0.6  # untrained it is .2
    assert metrics.num_queries == 2 * len(data.splits.test)
    assert metrics["mrr_pessimistic"] <= metrics["mrr"] <= metrics["mrr_optimistic"]
    assert told[0] == (kind.name, 10, 20)
    assert all({"epoch", "loss", "valid_mrr"} <= set(entry) for entry in model.history)
    assert "no rules" in metrics.notes[0]


@needs_pykeen
@pytest.mark.parametrize("kind", [TransE, RotatE])
def test_scores_are_those_of_the_formula_in_both_directions(kind: type[Embedding]) -> None:
    data = line(8)
    model = kind(EmbeddingSettings(dim=4, epochs=1, threads=1))
    model.fit(data)
    entity = model._trained.entity_representations[0]().detach()
    relation = model._trained.relation_representations[0]().detach()
    p = data.kb.predicate_id(data.kb.predicate("next"))
    given = np.array([3, 5], np.int32)

    def distance(head: torch.Tensor, tail: torch.Tensor) -> torch.Tensor:
        moved = head + relation[p] if kind is TransE else head * relation[p]
        return torch.linalg.vector_norm(moved - tail, ord=1 if kind is TransE else 2, dim=-1)

    for side in (0, 1):
        found = model.scores(p, given, side)
        assert found.shape == (2, 8)
        for row, known in enumerate(given):
            ends = (entity[known], entity) if side == 0 else (entity, entity[known])
            np.testing.assert_allclose(found[row], -distance(*ends).numpy(), rtol=1e-4, atol=1e-5)


@needs_pykeen
def test_same_seed_same_figures_and_the_seed_of_others_is_left_alone() -> None:
    data = line(8)
    torch.manual_seed(7)
    expected = torch.rand(3)
    torch.manual_seed(7)
    scores = []
    for seed in (0, 0, 1):
        model = TransE(EmbeddingSettings(dim=4, epochs=2, threads=1))
        model.fit(data, seed)
        scores.append(model.scores(0, np.array([0], np.int32), 0))
    assert np.array_equal(scores[0], scores[1])
    assert not np.array_equal(scores[0], scores[2])
    assert torch.equal(torch.rand(3), expected)


@needs_pykeen
def test_the_best_weights_on_validation_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    """Validation says the first check is the best; training ends after `patience` more, and those weights are back."""
    from nlil_bench.baselines import embeddings

    figures = iter([0.9, 0.5, 0.4, 0.3])
    kept: list[np.ndarray] = []
    model = TransE(EmbeddingSettings(dim=4, epochs=50, check_every=1, patience=2, threads=1))

    def figure(ranks: object) -> dict[str, float]:
        kept.append(model.scores(0, np.array([0], np.int32), 0))
        return {"mrr": next(figures)}

    monkeypatch.setattr(embeddings, "rank_figures", figure)
    model.fit(line(8))
    assert [entry["epoch"] for entry in model.history] == [1, 2, 3]
    assert not np.array_equal(kept[0], kept[-1])
    assert np.array_equal(model.scores(0, np.array([0], np.int32), 0), kept[0])


@needs_pykeen
def test_nothing_binary_to_learn_from() -> None:
    kb = KnowledgeBase.from_facts([("a", "p"), ("b", "p")])
    with pytest.raises(NlilError, match="expected binary facts"):
        make_baseline("transe").fit(make_dataset("unary", kb, Splits(kb.facts)))


def test_without_the_package_one_sentence_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pykeen", None)
    with pytest.raises(MissingExtra, match=r"TransE needs the package 'pykeen'.*pip install 'nlil\[kge\]'"):
        make_baseline("transe").fit(line(8))


def test_wrong_settings() -> None:
    with pytest.raises(ConfigError, match="expected 1 to 2, got 3"):
        EmbeddingSettings(norm=3)
