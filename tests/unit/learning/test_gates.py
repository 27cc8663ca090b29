"""What chance alone brings does not pass, and each number of a gate counts."""

from __future__ import annotations

import numpy as np
import pytest

from nlil.data.facts import Facts
from nlil.evaluation.gate import Gate
from nlil.learning.gates import CONJUNCTIONS, LENGTHS, WEIGHING


def test_a_gain_by_chance_does_not_pass() -> None:
    assert not CONJUNCTIONS.passes(np.zeros(0))
    assert not CONJUNCTIONS.passes(np.array([1.0, *[0.0] * 99]))
    assert not CONJUNCTIONS.passes(np.array([1.0, -1.0, 0.5, -0.4]))
    assert CONJUNCTIONS.passes(np.array([0.5] * 10 + [0.0] * 90))


@pytest.mark.parametrize("gate", [LENGTHS, CONJUNCTIONS, WEIGHING])
def test_no_gain_passes_no_gate(gate: Gate) -> None:
    assert not gate.passes(np.zeros(100))
    assert not gate.passes(np.full(100, -0.1))
    assert gate.passes(np.full(100, 0.1))


def test_each_number_counts() -> None:
    gains = np.array([0.4] * 10 + [0.0] * 90)  # mean .04, standard error .012
    assert Gate(0, 0, least_gain=0.0, standard_errors=3.0).passes(gains)
    assert not Gate(0, 0, least_gain=0.0, standard_errors=4.0).passes(gains)
    assert Gate(0, 0, least_gain=0.03, standard_errors=0.0).passes(gains)
    assert not Gate(0, 0, least_gain=0.04, standard_errors=0.0).passes(gains)


def test_of_many_facts_a_random_part_is_drawn_in_order() -> None:
    facts = Facts(*(np.arange(100, dtype=np.int32) for _ in range(3)))
    gate = Gate(0, most_facts=30, least_gain=0.0, standard_errors=1.0)
    drawn = gate.drawn(facts, np.random.default_rng(1))
    assert len(drawn) == 30
    assert (np.diff(drawn.subject) > 0).all()
    assert gate.drawn(drawn, np.random.default_rng(2)) is drawn


def test_a_weighing_that_helps_on_the_whole_passes() -> None:
    gains = np.array([0.5] * 20 + [-0.45] * 20)  # mean .025, standard error .075
    assert WEIGHING.passes(gains)
    assert not LENGTHS.passes(gains)
    assert not WEIGHING.passes(-gains)
