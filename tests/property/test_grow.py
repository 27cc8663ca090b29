"""Lines grow to the same solutions wherever they begin: those of brute force."""

from __future__ import annotations

from unittest.mock import patch

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

import oracle
from nlil.kernel.bodies import BodyBuilder
from nlil.kernel.compiled import SmallWork, interpreted
from nlil.kernel.derived import FoundFacts
from nlil.kernel.grow import OPEN, Grower, Solutions
from nlil.logic.formula import X, Y
from nlil.logic.rule import Head, Rule
from property.engine_cases import LIKES, NAMES, bases, statements


def grower_of(kb, rule, derived):
    """One that knows the facts of some predicates as derived ones, the others from the base."""
    builder = BodyBuilder(kb)
    builder.add(rule)
    f = kb.facts
    is_derived = np.isin(f.predicate, list(derived))
    grower = Grower(kb.with_facts(f[~is_derived]), builder.bodies().lines)
    weight = np.ones(len(f)) if f.weight is None else f.weight.astype(np.float64)
    for part in np.array_split(np.flatnonzero(is_derived), 3):
        if len(part):
            grower.derived.put(FoundFacts(f.predicate[part], f.subject[part], f.object[part], weight[part]))
    return grower


def best_by_pair(kb, solutions):
    """(x, y) -> the confidence of the best solution; what is open stands for any entity of the graph."""
    found = {}
    for i, x in enumerate(NAMES):
        for j, y in enumerate(NAMES):
            graph = OPEN if kb.graph_of is None else int(kb.graph_of[i])
            if kb.graph_of is not None and kb.graph_of[j] != graph:
                continue
            bound = zip(*(column.tolist() for column in solutions[1:]))
            fits = [c for a, b, g, c in bound if a in (OPEN, i) and b in (OPEN, j) and g in (OPEN, graph)]
            found[x, y] = max(fits, default=0.0)
    return found


def solutions_of(parts):
    return Solutions.join(list(parts)).best()


@given(
    kb=bases(),
    statement=statements([X, Y]),
    distinct=st.booleans(),
    derived=st.sets(st.sampled_from(range(4))),
    plain=st.booleans(),
)
@settings(deadline=None, max_examples=150)
def test_lines_grow_to_the_same_solutions_from_every_place(kb, statement, distinct, derived, plain):
    rule = Rule(Head.of(LIKES), statement, distinct)
    world = oracle.World.of(kb)
    with interpreted(plain), patch.object(SmallWork, "limit", -1):
        grower = grower_of(kb, rule, derived)
        everything = solutions_of(grower.everything(np.array([0])))
        expected = best_by_pair(kb, everything)
        assert expected == {(x, y): oracle.strength(world, statement, distinct, x, y) for x, y in expected}
        for place, code in enumerate(grower.walked.steps[0, : grower.walked.lengths[0]].tolist()):
            node, neighbour, confidence = grower._facts(code)
            line = np.zeros(len(node), np.int64)
            rows = grower.along(line, line + place, node, neighbour, confidence)
            assert best_by_pair(kb, solutions_of(grower.solve(rows))) == expected
