"""Which pairs are taken first, which of them stay."""

from __future__ import annotations

import numpy as np

from nlil.classes.choosing import SURE_OF_CLASS, Choice, _pruned, _sure
from nlil.classes.fitting import Labelled, Model


def test_sure_patterns_are_taken_first() -> None:
    counts = np.array([[90, 5, 5], [79, 21, 0], [1, 49, 0], [0, 100, 0], [0, 0, 100]], np.int32)
    sizes = counts.sum(axis=1)
    pattern, target = _sure(counts, sizes, least=50)
    # The second is not sure enough, the third explains too few, the last speaks for no target.
    assert list(zip(pattern.tolist(), target.tolist())) == [(0, 0), (3, 1)]


def test_of_many_sure_patterns_the_most_telling() -> None:
    counts = np.array([[100 + i, 0, 1] for i in range(9)], np.int32)
    pattern, _ = _sure(counts, counts.sum(axis=1), least=50)
    assert pattern.tolist() == list(range(8, 8 - SURE_OF_CLASS, -1))


def test_what_was_given_stays() -> None:
    """Two patterns that hold for the same objects: either could go, and the given one stays whatever it weighs."""
    label = np.array([0] * 30 + [1] * 30, np.int32)
    pointer = np.concatenate((np.arange(31) * 2, np.full(30, 60)))
    data = Labelled(label, pointer, np.tile(np.array([0, 1], np.int32), 30), 3)
    model = Model.of(np.array([0, 1]), np.array([0, 0]), np.array([0.1, 2.0]), np.zeros(3))
    choice = Choice(pairs=1, threads=1)
    assert _pruned(model, data, choice, set()).pattern.tolist() == [1]
    assert _pruned(model, data, choice, {(0, 0)}).pattern.tolist() == [0]
