"""Which pairs are taken first, which of them stay; conjunctions hold wherever both patterns hold."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import sparse

import nlil
from nlil.data.kb import KnowledgeBase
from nlil.scene.fitting import Labelled, Model, one_hot
from nlil.scene.joint import (
    MAX_JOINED_PER_OBJECT,
    MAX_SURE_PER_CLASS,
    Choice,
    _pruned,
    _sampled,
    _sure,
    class_counts,
    labelled_rows,
    with_telling_conjunctions,
)
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
    held = np.repeat([[True, True], [False, False]], 30, axis=0)
    data = Labelled(label, sparse.csr_array(held), one_hot(label, 3))
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


def crowded() -> KnowledgeBase:
    """Cats are red and wet, others one of both; every third object has more rarer attributes than are paired."""
    facts = []
    for i in range(60):
        facts.append((f"o{i}", "cat" if i % 2 else "dog"))
        facts += [(f"o{i}", name) for name in (("red", "wet") if i % 2 else ("red",) if i % 4 else ("wet",))]
        facts += [
            (f"o{i}", f"a{k}")
            for k in range(2 * MAX_JOINED_PER_OBJECT)
            if i % 3 == 0 and (i // 3 + 1) * (k + 1) % 29 % 4
        ]
    kb = KnowledgeBase.from_facts(facts)
    graph_of = np.array([int(name[1:]) for name in kb.entities], np.int32)
    classes = frozenset(i for i, p in enumerate(kb.predicates) if p.name in ("cat", "dog"))
    return replace(kb, graph_of=graph_of, classes=classes)


def test_a_pair_holds_where_both_hold() -> None:
    kb = crowded()
    patterns = find_patterns(kb, np.arange(kb.num_entities, dtype=np.int32), 2, 2, 2**30)
    targets = np.array(sorted(kb.classes), np.int32)
    rows, label = labelled_rows(kb, patterns.entities, targets)
    data = Labelled(label, patterns.held[rows], one_hot(label, len(targets) + 1))
    found, clear, clear_class = with_telling_conjunctions(patterns, data, class_counts(data), 2)
    assert len(found) > len(patterns)
    held = found.held.toarray()
    for number in range(len(patterns), len(found)):
        i, j = found.bodies.lines_of(number)
        assert held[:, number].tolist() == (held[:, i] & held[:, j]).tolist()
    # Red things are cats two times of three, wet ones too, and what is both always is.
    first_step = found.bodies.lines.steps[:, 0]
    told = {
        tuple(sorted(kb.predicates[first_step[line] >> 1].name for line in found.bodies.lines_of(number))): int(target)
        for number, target in zip(clear, clear_class, strict=True)
    }
    assert kb.predicates[targets[told["red", "wet"]]].name == "cat"
