"""Random small bases and rules for the engine: every construct of the language over fixed names."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st

from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.errors import RuleError
from nlil.logic.formula import ANY, TRUE, And, Constant, Not, Or, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule

BIG, RED, KNOWS, LIKES = Predicate("big", 1), Predicate("red", 1), Predicate("knows", 2), Predicate("likes", 2)
PREDICATES = (BIG, KNOWS, LIKES, RED)
SIZE = 5
NAMES = tuple("abcde")


@st.composite
def bases(draw, weighted=None, graphs=None):
    """Five entities, two unary and two binary predicates; sometimes weights, graphs, classes.

    Weights are quarters: their products and sums are exact, so that results can be compared bit by bit.
    """
    rows = [
        (p, s, o)
        for p in range(4)
        for s in range(SIZE)
        for o in (range(SIZE) if PREDICATES[p].arity == 2 else [NO_OBJECT])
    ]
    # Lists are short by default; walks need something to walk on.
    least = draw(st.sampled_from([0, 10, 25]))
    chosen = draw(st.lists(st.sampled_from(rows), min_size=least, max_size=30, unique=True))
    weighted = draw(st.booleans()) if weighted is None else weighted
    graphs = draw(st.booleans()) if graphs is None else graphs
    weight = None
    if weighted:
        quarters = st.sampled_from([0.0, 0.25, 0.5, 0.75, 1.0])
        weight = np.asarray(draw(st.lists(quarters, min_size=len(chosen), max_size=len(chosen))), np.float32)
    columns = np.asarray(chosen, np.int32).reshape(-1, 3)
    facts = Facts(columns[:, 0], columns[:, 1], columns[:, 2], weight).unique()
    graph_of = np.asarray([0, 0, 1, 0, 1], np.int32) if graphs else None
    classes = frozenset([0, 3]) if draw(st.booleans()) else frozenset()
    return KnowledgeBase(Vocabulary(NAMES), PREDICATES, facts, graph_of, classes)


steps = st.builds(
    lambda p, inverse: Step(p, inverse and p.arity == 2),
    st.sampled_from([KNOWS, LIKES, KNOWS, LIKES, KNOWS, LIKES, BIG, RED]),
    st.booleans(),
)
constants = st.sampled_from(NAMES[:3]).map(Constant)


@st.composite
def statements(draw, variables):
    anchors = st.one_of(st.sampled_from(variables), st.just(ANY), constants)
    # An X to Y statement is what most rules are: do not leave it to chance.
    if len(variables) == 2 and draw(st.booleans()):
        start, end = X, Y
    else:
        start, end = draw(anchors), draw(anchors)
    size = draw(st.integers(0, 4))
    try:
        return Statement(start, tuple(draw(st.lists(steps, min_size=size, max_size=size))), end)
    except RuleError:
        return Statement(start, (Step(BIG),), end)


def formulas(variables):
    leaves = st.one_of(statements(variables), statements(variables), st.just(TRUE))
    return st.recursive(
        leaves,
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda a: And(*a)),
            st.lists(inner, min_size=2, max_size=3).map(lambda a: Or(*a)),
        ),
        max_leaves=3,
    )


heads = st.one_of(
    st.sampled_from([Head.of(BIG), Head.of(KNOWS), Head.of(KNOWS)]),
    constants.map(lambda c: Head(KNOWS, (X, c))),
    constants.map(lambda c: Head(KNOWS, (c, Y))),
)


@st.composite
def rules(draw, heads=heads):
    head = draw(heads)
    variables = sorted(head.variables, key=lambda v: v.name)
    return Rule(head, draw(formulas(variables)), draw(st.booleans()))
