"""Random small scene graphs, and bodies that speak about one object: for what is learned about object classes."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.logic.formula import ANY, TRUE, And, Formula, Not, Or, Statement, X
from nlil.logic.predicate import Predicate, Step

ABOVE, BIG, CAT, DOG, MAN, NEAR, ON, RED = PREDICATES = (
    Predicate("above", 2),
    Predicate("big", 1),
    Predicate("cat", 1),
    Predicate("dog", 1),
    Predicate("man", 1),
    Predicate("near", 2),
    Predicate("on", 2),
    Predicate("red", 1),
)
CLASSES = frozenset({2, 3, 4})
GEOMETRY = frozenset({0, 1})
GRAPH_OF = (0, 0, 0, 0, 1, 1, 1, 2, 2, 3)
"""Ten objects in four graphs; no fact is about the last: it is a world of another split."""
NAMES = tuple(f"o{i}" for i in range(len(GRAPH_OF)))


@st.composite
def scenes(draw: st.DrawFn, everyone: bool = False) -> KnowledgeBase:
    """Objects of no class, one class or two; relations inside a graph, to itself as well; facts from boxes.

    `everyone`: every graph has a fact.
    """
    rows = [
        (p, s, o)
        for p, predicate in enumerate(PREDICATES)
        for s, graph in enumerate(GRAPH_OF[:-1])
        for o in ([i for i, g in enumerate(GRAPH_OF) if g == graph] if predicate.arity == 2 else [NO_OBJECT])
    ]
    size = draw(st.sampled_from([6, 20, 45]))
    chosen = draw(st.lists(st.sampled_from(rows), min_size=size, max_size=size + 10, unique=True))
    columns = np.asarray([*chosen, *([(5, 9, 9), (2, 7, NO_OBJECT), (3, 4, NO_OBJECT)] if everyone else [])], np.int32)
    facts = Facts(columns[:, 0], columns[:, 1], columns[:, 2]).unique()
    geometry = GEOMETRY if draw(st.booleans()) else frozenset()
    return KnowledgeBase(
        Vocabulary(NAMES), PREDICATES, facts, np.asarray(GRAPH_OF, np.int32), CLASSES, geometry=geometry
    )


steps = st.builds(lambda p, inverse: Step(p, inverse and p.arity == 2), st.sampled_from(PREDICATES), st.booleans())
lines = st.lists(steps, min_size=1, max_size=4).map(lambda found: Statement(X, tuple(found), ANY))
sets = st.sampled_from([p for p in PREDICATES if p.arity == 1]).map(lambda p: Statement(ANY, (Step(p),), ANY))


def bodies(leaves: st.SearchStrategy[Formula]) -> st.SearchStrategy[Formula]:
    """The leaves, and `true`, under Not, And and Or."""
    return st.recursive(
        st.one_of(leaves, leaves, leaves, st.just(TRUE)),
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(*parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(*parts)),
        ),
        max_leaves=4,
    )


simple_bodies = bodies(st.one_of(lines, sets))
