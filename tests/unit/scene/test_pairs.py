"""Conjunctions of two patterns hold wherever both hold, also for objects about which more is said than is paired."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlil.data.kb import KnowledgeBase
from nlil.scene.choosing import MAX_JOINED_PER_OBJECT, class_counts, telling_conjunctions
from nlil.scene.fitting import Labelled
from nlil.scene.joint import labelled_rows
from nlil.scene.patterns import find_patterns


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
    data = Labelled(label, *patterns.rows(rows), len(targets) + 1)
    found = telling_conjunctions(patterns, data, class_counts(data, len(patterns)), 2)
    assert found.pairs
    pointer, row = patterns.members()
    for (i, j), mine in zip(found.pairs, found.rows, strict=True):
        both = set(row[pointer[i] : pointer[i + 1]].tolist()) & set(row[pointer[j] : pointer[j + 1]].tolist())
        assert set(mine.tolist()) == both, (str(patterns.body[i]), str(patterns.body[j]))
    # Red things are cats two times of three, wet ones too, and what is both always is.
    clear = {
        tuple(sorted(str(patterns.body[p].steps[0].predicate) for p in found.pairs[pair])): int(target)
        for pair, target in zip(found.clear, found.clear_class, strict=True)
    }
    assert kb.predicates[targets[clear["red/1", "wet/1"]]].name == "cat"
