"""Changes of a formula, and what they are counted to be: F1 and wrong answers, as brute force has them."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from refine_cases import HEAD, NO_PARTS, Rows, atom

from nlil.logic.formula import And, Formula, Not, Or
from nlil.neural.refine import Refiner, places

# places and ways --------------------------------------------------------------------------------------


def test_every_part_has_its_place() -> None:
    a, b, c, d = map(atom, "abcd")
    whole = And(a, Or(b, Not(c)))
    assert [part for part, _ in places(whole)] == [whole, a, Or(b, Not(c)), b, Not(c)]
    assert [build(d) for _, build in places(whole)] == [
        d,
        And(d, Or(b, Not(c))),
        And(a, d),
        And(a, Or(d, Not(c))),
        And(a, Or(b, d)),
    ]
    assert all(build(part) == whole for part, build in places(whole))
    assert [part for part, _ in places(Not(a))] == [Not(a)]


# what is counted --------------------------------------------------------------------------------------

POOL = tuple(map(atom, "abcdef"))
literals = st.sampled_from([*POOL, *map(Not, POOL)])
formulas = st.recursive(
    literals,
    lambda inner: st.builds(
        lambda kind, arguments: kind(*arguments), st.sampled_from([And, Or]), st.lists(inner, min_size=2, max_size=3)
    ),
    max_leaves=6,
)


@st.composite
def tables(draw: st.DrawFn) -> Rows:
    size = draw(st.integers(1, 24))
    row = st.lists(st.booleans(), min_size=size, max_size=size)
    return Rows(draw(row), {name: draw(row) for name in "abcdef"})


def by_hand(formula: Formula, literal: Formula) -> Iterator[tuple[Formula, Formula, Formula]]:
    """The formula with one part narrowed, widened, replaced by the literal, for each part from the outside in."""
    yield And(formula, literal), Or(formula, literal), literal
    if isinstance(formula, (And, Or)):
        for i, argument in enumerate(formula.arguments):
            for three in by_hand(argument, literal):
                whole = [type(formula)(*formula.arguments[:i], new, *formula.arguments[i + 1 :]) for new in three]
                yield whole[0], whole[1], whole[2]


@given(table=tables(), formula=formulas)
@settings(deadline=None, max_examples=80)
def test_changes_are_counted_as_the_changed_rules_are(table: Rows, formula: Formula) -> None:
    refiner = Refiner(HEAD, table, NO_PARTS)
    rows = np.stack([table.rows[s] for s in POOL]).astype(np.float32)
    found = list(refiner._changes(formula, POOL, rows))
    for score, wrong, new in found:
        assert score == pytest.approx(table.f1(new), abs=1e-6)
        assert wrong == table.wrong(new)
    # For every part, way and sign, in this order, the first of the best statements.
    options = {sign: [list(by_hand(formula, s if sign else Not(s))) for s in POOL] for sign in (True, False)}
    expected = []
    for place, way, sign in itertools.product(range(len(options[True][0])), range(3), (True, False)):
        expected.append(max((changes[place][way] for changes in options[sign]), key=table.f1))
    assert [new for *_, new in found] == expected


@given(table=tables(), formula=formulas)
@settings(deadline=None, max_examples=60)
def test_no_single_change_is_better_than_those_reported(table: Rows, formula: Formula) -> None:
    rows = np.stack([table.rows[s] for s in POOL]).astype(np.float32)
    best = max(score for score, *_ in Refiner(HEAD, table, NO_PARTS)._changes(formula, POOL, rows))
    every = [new for s in POOL for literal in (s, Not(s)) for three in by_hand(formula, literal) for new in three]
    assert best == pytest.approx(max(map(table.f1, every)), abs=1e-6)


@given(table=tables(), formula=formulas)
@settings(deadline=None, max_examples=60)
def test_the_value_of_a_formula(table: Rows, formula: Formula) -> None:
    refiner = Refiner(HEAD, table, NO_PARTS)
    assert refiner._value(formula).tolist() == table.values(formula)
    assert refiner._f1(formula) == pytest.approx(table.f1(formula))


def test_what_cannot_be_counted_holds_nowhere() -> None:
    refiner = Refiner(HEAD, Rows([1, 0], {"a": [1, 0]}), NO_PARTS)
    assert refiner._value(atom("unknown")).tolist() == [False, False]


def test_telling_statements_come_first_each_truth_once() -> None:
    label = [1, 1, 1, 1, 0, 0, 0, 0]
    rows = {
        "idle": [1, 0, 1, 0, 1, 0, 1, 0],
        "some": [1, 1, 1, 0, 1, 0, 0, 0],
        "same": [1, 1, 1, 0, 1, 0, 0, 0],
        "all": [1] * 8,
        "none": [0] * 8,
        "against": [0, 0, 0, 0, 1, 1, 1, 1],
    }
    refiner = Refiner(HEAD, Rows(label, rows), NO_PARTS)
    names = [s.steps[0].predicate.name for s in refiner._telling(map(atom, rows))]
    assert names == ["against", "some", "idle"]
    # Among these four `idle` tells all, as `against` does; `some` and `same` are true of the same two.
    where = np.isin(np.arange(8), (0, 2, 5, 7))
    among = [s.steps[0].predicate.name for s in refiner._telling(map(atom, rows), where)]
    assert among == ["idle", "against"]
