"""Statements one change away: what they may be made of, and which changes there are."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from soft_cases import predicate_id, space_of

from nlil.data.kb import KnowledgeBase
from nlil.logic.formula import ANY, Constant, Formula, Statement, X, Y
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.simplify import formula_key, simplify_formula
from nlil.neural.refine import MOST_GROWN_STEPS, Parts
from nlil.neural.space import Kind, Shape, Start

P, Q = Step(Predicate("p", 2)), Step(Predicate("q", 2))
U, V = Step(Predicate("u", 1)), Step(Predicate("v", 1))
BACK = P.reversed()
SMALL = Parts((P, BACK), (U, V), (ANY, Constant("c")))


def body(text: str, head: str = "h(X)") -> Formula:
    return parse_rule(f"{head} :- {text}.").body


def statement(text: str, head: str = "h(X)") -> Statement:
    formula = body(text, head)
    assert isinstance(formula, Statement)
    return formula


def meanings(formulas: Iterable[Formula]) -> set[Any]:
    """The text of `p(X, c), u(c)` is read as two statements, which one line can say too."""
    return {formula_key(simplify_formula(formula)) for formula in formulas}


# what there is ----------------------------------------------------------------------------------------


def test_parts_are_the_vocabulary_of_the_target() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c"), ("a", "u"), ("c", "v"), ("a", "h")])
    starts = [
        Start(Kind.X),
        Start(Kind.UNARY, predicate_id(kb, "u")),
        Start(Kind.CONSTANT, kb.entities.id("c")),
        Start(Kind.CONSTANT, kb.entities.id("a")),
        Start(Kind.ANY),
    ]
    space = space_of(kb, "h", starts)
    parts = Parts.of(kb, space)
    assert parts.moves == (P, BACK, Q, Q.reversed())
    assert parts.filters == (Step(Predicate("h", 1)), U, V)
    assert parts.ends == (ANY, Constant("c"), Constant("a")), "sets of a class are no ends: filters say the same"
    padded = space.padded(Shape(20, 9, 12, 1))
    assert (padded.operators < 0).any()
    assert None in padded.starts
    assert Parts.of(kb, padded) == parts
    backwards = np.array([2 * predicate_id(kb, "p") + 1], np.int32)
    half = replace(space, operators=backwards, starts=(Start(Kind.X),))
    assert Parts.of(kb, half) == Parts((BACK,), (), (ANY,)), "only the operators of the space, in their direction"


def test_single_statements_are_one_step_from_each_variable() -> None:
    assert list(SMALL.single((X,))) == [body(t) for t in ("u(X)", "v(X)", "p(X, Z1)", "p(Z1, X)")]
    both = list(SMALL.single((X, Y)))
    assert len(set(both)) == len(both) == 8
    assert {s.start for s in both} == {X, Y}
    assert {s.end for s in both} == {ANY}
    assert not list(SMALL.single(()))


# changes ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "p(X, Z1)",
            ["p(Z1, X)", "p(X, c)", "p(X, Z1), p(Z1, Z2)", "p(X, Z1), p(Z2, Z1)", "p(X, Z1), u(Z1)", "p(X, Z1), v(Z1)"],
        ),
        (
            "p(X, Z1), u(Z1)",
            [
                "p(Z1, X), u(Z1)",
                "p(X, Z1), v(Z1)",
                "u(X)",
                "p(X, Z1)",
                "p(X, c), u(c)",
                "p(X, Z1), u(Z1), p(Z1, Z2)",
                "p(X, Z1), u(Z1), p(Z2, Z1)",
                "p(X, Z1), u(Z1), v(Z1)",
            ],
        ),
        ("p(X, c)", ["p(c, X)", "p(X, Z1)", "p(X, c), u(c)", "p(X, c), v(c)"]),
    ],
)
def test_every_change_of_a_statement_about_x(text: str, expected: list[str]) -> None:
    found = list(SMALL.neighbours(statement(text)))
    assert len(set(found)) == len(found)
    assert meanings(found) == meanings(map(body, expected))


def test_a_statement_between_two_variables_keeps_its_ends() -> None:
    head = "h(X, Y)"
    found = set(SMALL.neighbours(statement("p(X, Z1), p(Z1, Y)", head)))
    assert found == {body(t, head) for t in ("p(Z1, X), p(Z1, Y)", "p(X, Z1), p(Y, Z1)", "p(X, Y)")}
    assert set(SMALL.neighbours(statement("p(X, Y)", head))) == {body("p(Y, X)", head)}, "X = Y is no shorter rule"


def test_what_begins_nowhere_has_no_neighbours() -> None:
    assert not list(SMALL.neighbours(Statement(ANY, (U,))))
    assert not list(SMALL.neighbours(Statement(Constant("c"), (P,))))


@pytest.mark.parametrize("size", [MOST_GROWN_STEPS - 1, MOST_GROWN_STEPS, MOST_GROWN_STEPS + 1])
def test_statements_do_not_grow_without_end(size: int) -> None:
    sizes = {len(s.steps) for s in SMALL.neighbours(Statement(X, (P,) * size))}
    assert sizes == ({size - 1, size, size + 1} if size < MOST_GROWN_STEPS else {size - 1, size})


def test_a_filter_stands_once() -> None:
    longer = [s for s in SMALL.neighbours(Statement(X, (P, U))) if len(s.steps) == 3]
    assert Statement(X, (P, U, V)) in longer
    assert Statement(X, (P, U, U)) not in longer


def test_every_short_statement_is_reached_one_change_at_a_time() -> None:
    """So the search can get anywhere, if the way there pays."""
    seen = set(SMALL.single((X,)))
    for _ in range(2):
        seen |= {n for s in seen for n in SMALL.neighbours(s)}
    moves, every = (P, BACK), (P, BACK, U, V)
    wanted = {Statement(X, (a, b), end) for a in moves for b in every for end in SMALL.ends}
    assert wanted <= seen
