"""What the paper's sigmoid makes of right rules: the losses that docs/paper.md, section 5, lists."""

from __future__ import annotations

import math

import numpy as np
import pytest

from nlil.datasets.planted import planted

Counts = np.ndarray


def sigma(count: Counts) -> Counts:
    return 1 / (1 + np.exp(-count))


def loss(score: Counts, label: Counts) -> float:
    """Cross-entropy, positives weighing as much as negatives."""
    return float(-np.log(score[label]).mean() - np.log(1 - score[~label]).mean()) / 2


def matrices(construct: str) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Facts by predicate, as matrices and vectors, and where the target holds."""
    base = planted(construct)
    found: dict[str, np.ndarray] = {}
    for number, predicate in enumerate(base.kb.predicates):
        facts = base.kb.facts.of(number)
        found[predicate.name] = np.zeros((base.kb.num_entities,) * predicate.arity)
        found[predicate.name][(facts.subject, facts.object)[: predicate.arity]] = 1
    return found, found[base.target.name] > 0


@pytest.mark.parametrize(
    ("construct", "first", "second", "planted_loss", "other_loss"),
    [
        ("disjunction", "hears siren", "sees fire", 0.756, 0.577),
        ("conjunction", "lives_in suburb", "works_at office", 0.485, 0.604),
        ("negated-conjunction", "funded_by company", "reviews product", 0.489, 0.636),
    ],
)
def test_two_statements(construct: str, first: str, second: str, planted_loss: float, other_loss: float) -> None:
    facts, label = matrices(construct)
    one, two = (sigma(facts[relation] @ facts[kind]) for relation, kind in (first.split(), second.split()))
    both = {"disjunction": 1 - (1 - one) * (1 - two), "conjunction": one * two, "negated-conjunction": 1 - one * two}
    alone = 1 - one if construct == "negated-conjunction" else one
    assert loss(both[construct], label) == pytest.approx(planted_loss, abs=5e-4)
    assert loss(alone, label) == pytest.approx(other_loss, abs=5e-4)
    is_worse_than_silence = loss(both[construct], label) > math.log(2)
    assert is_worse_than_silence == (construct == "disjunction")


def test_a_tree_and_its_recursive_double() -> None:
    facts, label = matrices("tree")
    siblings = facts["part_of"] @ facts["part_of"].T
    itself = siblings.diagonal() * label  # the query's own fact is hidden
    assert loss(sigma(siblings @ facts["eye"]), label) == pytest.approx(0.465, abs=5e-4)
    assert loss(sigma(siblings @ label - itself), label) == pytest.approx(0.475, abs=5e-4)


def test_a_negation() -> None:
    facts, label = matrices("negation")
    assert loss(1 - sigma(facts["eats"] @ facts["poisonous"]), label) == pytest.approx(0.488, abs=5e-4)
