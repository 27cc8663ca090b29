"""Chains of up to six steps: counted and walked with prunings, against every path written out."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.kernel.hidden import HiddenFact
from nlil.kernel.walk import FEW_EDGES, NO_LIMIT, reach, walk_space
from nlil.search.chains import CHEAP, ChainCounter
from nlil.search.options import CountingTask, CountOptions

ENTITIES = "abcdefg"


@st.composite
def dense_bases(draw: st.DrawFn) -> KnowledgeBase:
    """Many paths between few entities: where a pruning goes wrong, it goes wrong here."""
    fact = st.tuples(st.sampled_from(ENTITIES), st.sampled_from(["p", "q"]), st.sampled_from(ENTITIES))
    rows = draw(st.lists(fact, min_size=6, max_size=36))
    return KnowledgeBase.from_facts([*rows, ("a", "p", "b"), ("c", "q", "d")])


def simple_ends(kb: KnowledgeBase, start: int, steps: list[int]) -> set[int]:
    facts = kb.facts
    edges = [(2 * int(p), int(s), int(o)) for p, s, o in zip(facts.predicate, facts.subject, facts.object)]
    edges += [(code + 1, o, s) for code, s, o in edges]
    paths = [(start,)]
    for step in steps:
        paths = [
            (*path, o) for path in paths for code, s, o in edges if code == step and s == path[-1] and o not in path
        ]
    return {path[-1] for path in paths}


@settings(deadline=None, max_examples=60)
@given(dense_bases(), st.lists(st.integers(0, 3), min_size=1, max_size=6), st.sampled_from([0, 5, CHEAP]))
def test_counts_are_those_of_all_paths(kb: KnowledgeBase, steps: list[int], cheap: int) -> None:
    targets = np.arange(kb.num_predicates, dtype=np.int32)
    counter = ChainCounter(CountingTask.of(kb, Graph.of(kb.crisp), targets, CountOptions()), len(steps))
    counter.path = counter.path._replace(cheap=cheap)
    counter.count(np.array(steps[::-1], np.int32))  # nothing of a chain before must be left
    support, body, pca = counter.count(np.array(steps, np.int32))
    pairs = {(a, b) for a in range(kb.num_entities) for b in simple_ends(kb, a, steps)}
    facts = {(int(p), int(s), int(o)) for p, s, o in zip(kb.facts.predicate, kb.facts.subject, kb.facts.object)}
    assert body == len(pairs)
    assert support.tolist() == [sum((t, a, b) in facts for a, b in pairs) for t in targets.tolist()]
    subjects = [{s for p, s, _ in facts if p == t} for t in targets.tolist()]
    assert pca.tolist() == [sum(a in mine for a, _ in pairs) for mine in subjects]


@settings(deadline=None, max_examples=60)
@given(dense_bases(), st.lists(st.integers(0, 3), min_size=3, max_size=6), st.sampled_from([0, 2, FEW_EDGES]))
def test_a_walk_reaches_every_end_once(kb: KnowledgeBase, steps: list[int], few: int) -> None:
    graph = Graph.of(kb.crisp)
    space = walk_space(kb.num_entities, len(steps), few)
    for start in range(kb.num_entities):
        found = reach(
            graph,
            space,
            np.array(steps, np.int64),
            len(steps),
            start,
            True,
            HiddenFact(-1, -1, -1, -1, graph.is_unary),
            NO_LIMIT,
            -1,
        )
        ends = space.ends[:found].tolist()
        assert len(set(ends)) == len(ends)
        assert set(ends) == simple_ends(kb, start, steps)
