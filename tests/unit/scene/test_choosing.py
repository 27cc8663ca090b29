"""Which pairs are taken first, which of them stay."""

from __future__ import annotations

import numpy as np

import nlil
from nlil.scene.choosing import MAX_SURE_PER_CLASS, Choice, _pruned, _sampled, _sure
from nlil.scene.fitting import Labelled, Model
from nlil.scene.patterns import find_patterns


def test_sure_patterns_are_taken_first() -> None:
    counts = np.array([[90, 5, 5], [79, 21, 0], [1, 49, 0], [0, 100, 0], [0, 0, 100]], np.int32)
    sizes = counts.sum(axis=1)
    pattern, target = _sure(counts, sizes, min_support=50)
    # The second is not sure enough, the third explains too few, the last speaks for no target.
    assert list(zip(pattern.tolist(), target.tolist())) == [(0, 0), (3, 1)]


def test_of_many_sure_patterns_the_most_telling() -> None:
    counts = np.array([[100 + i, 0, 1] for i in range(9)], np.int32)
    pattern, _ = _sure(counts, counts.sum(axis=1), min_support=50)
    assert pattern.tolist() == list(range(8, 8 - MAX_SURE_PER_CLASS, -1))


def test_what_was_given_stays() -> None:
    """Two patterns that hold for the same objects: either could go, and the given one stays whatever it weighs."""
    label = np.array([0] * 30 + [1] * 30, np.int32)
    pointer = np.concatenate((np.arange(31) * 2, np.full(30, 60)))
    data = Labelled(label, pointer, np.tile(np.array([0, 1], np.int32), 30), 3)
    model = Model.of(np.array([0, 1]), np.array([0, 0]), np.array([0.1, 2.0]), np.zeros(3))
    choice = Choice(pairs=1, threads=1)
    assert _pruned(model, data, 1, choice, set()).pattern.tolist() == [1]
    assert _pruned(model, data, 1, choice, {(0, 0)}).pattern.tolist() == [0]


def test_a_sample_is_of_whole_graphs_and_has_about_the_size() -> None:
    data = nlil.load_dataset("street:60")
    kb = data.kb
    patterns = find_patterns(kb, np.flatnonzero(kb.domain).astype(np.int32), 1, 2, 2**28)
    rows = np.arange(len(patterns.entities))
    everything = _sampled(patterns, rows, Choice(pairs=1, sample=10**6))
    assert everything.tolist() == rows.tolist()
    some = _sampled(patterns, rows, Choice(pairs=1, sample=len(rows) // 3))
    assert 0.15 * len(rows) < len(some) < 0.5 * len(rows)
    graph = kb.graph_of[patterns.entities]
    assert np.isin(graph, np.unique(graph[some])).sum() == len(some)
    other = _sampled(patterns, rows, Choice(pairs=1, sample=len(rows) // 3, seed=1))
    assert other.tolist() != some.tolist()


def test_priors_are_listed_last_where_all_rules_count() -> None:
    data = nlil.load_dataset("street:30")
    config = nlil.LearnerConfig().with_values({"preset": "scene", "top_rules": 5})
    rules = nlil.Learner(config).fit(data.kb, data.targets, data.splits).rules
    lengths = [rules[int(row)].rule.length for row in rules.order()]
    assert 0 in lengths
    assert all(length == 0 for length in lengths[lengths.index(0) :])
