"""Denials as text and back."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlil.errors import RuleSyntaxError
from nlil.logic.parse import parse_program, parse_rule
from nlil.logic.predicate import Predicate, Step
from nlil.logic.text import denial_text
from strategies import names

FATHER, AUNT = Predicate("father", 2), Predicate("aunt", 2)


def test_denials_stand_among_rules() -> None:
    text = (
        "% mine\nuncle(X, Y) :- brother(X, Z), father(Z, Y).\n:- father(A, B), aunt(B, A).\n\n:- father(X, Y),\n"
        "father(Y, X).\nmale(X) :- father(X, Y).\n"
    )
    rules, denials = parse_program(text)
    assert [line for _, line in rules] == [2, 7]
    assert denials == [((FATHER, Step(AUNT, inverse=True)), 3), ((FATHER, Step(FATHER, inverse=True)), 5)]


@given(names(), names(), st.booleans())
def test_what_is_written_is_read(target: str, other: str, inverse: bool) -> None:
    denial = Predicate(target, 2), Step(Predicate(other, 2), inverse or target == other)
    assert parse_program(denial_text(*denial)) == ([], [(denial, 1)])


@pytest.mark.parametrize(
    "text",
    [
        ":- p(X, Y).",
        ":- p(X, Y), q(X, Y), r(X, Y).",
        ":- p(X, Y) ; q(X, Y).",
        ":- p(X), q(X).",
        ":- p(X, Y), q(X).",
        ":- p(X, X), q(X, X).",
        ":- p(X, Y), q(X, X).",
        ":- p(X, Y), q(Y, Z).",
        ":- p(X, a), q(X, a).",
        ":- p(X, Y), p(X, Y).",
        ":- p(X, Y), \\+ q(X, Y).",
        ":- true.",
    ],
)
def test_other_denials_are_refused(text: str) -> None:
    with pytest.raises(RuleSyntaxError, match="two binary predicates of the same two variables"):
        parse_program(f"p(X) :- q(X).\n{text}")


def test_a_rule_needs_a_head() -> None:
    with pytest.raises(RuleSyntaxError, match="expected a rule such as"):
        parse_rule(":- p(X, Y), q(X, Y).")
    with pytest.raises(RuleSyntaxError, match=r"^line 3, .* after an atom of a denial"):
        parse_program("p(X) :- q(X).\n:- p(X, Y), q(X, Y)\nr(X).")
