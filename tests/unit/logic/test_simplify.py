"""Rule in text, simpler rule out."""

from __future__ import annotations

import pytest

from nlil.logic.parse import parse_rule
from nlil.logic.simplify import canonical, simplify

CASES = [
    (r"\+ \+ a(X)", "a(X)"),
    (r"\+ (\+ a(X), \+ b(X))", "a(X) ; b(X)"),
    (r"\+ (a(X) ; \+ b(X))", r"\+ a(X), b(X)"),
    ("a(X), a(X), b(X)", "a(X), b(X)"),
    ("(a(X) ; b(X)), (b(X) ; a(X))", "a(X) ; b(X)"),
    ("true, a(X)", "a(X)"),
    ("true ; a(X)", "true"),
    (r"\+ true, a(X)", r"\+ true"),
    (r"\+ true ; a(X)", "a(X)"),
    (r"q(X, Z), \+ q(X, W)", r"\+ true"),
    (r"q(X, Z) ; \+ q(X, Z)", "true"),
    ("a(X), (a(X) ; b(X))", "a(X)"),
    ("a(X) ; a(X), b(X)", "a(X)"),
    (r"a(X), (\+ a(X) ; b(X))", "a(X), b(X)"),
    (r"(a(X), q(X, Z)), \+ ((a(X), q(X, W)))", r"\+ true"),
    (r"(a(X), q(X, Z)) ; \+ ((a(X), q(X, Z)))", "true"),
    ("q(X, Z), a(Z), a(Z)", "q(X, Z1), a(Z1)"),
    ("(a(X), q(X, Z))", "a(X), q(X, Z1)"),
    ("(a(X), q(X, Y), b(Y))", "a(X), b(Y), q(X, Y)"),
    ("(q(X, c), b(c))", "b(c), q(X, c)"),
    ("(a(X), b(X))", "a(X), b(X)"),
    ("(a(X), X = Y)", "a(X), X = Y"),
    (r"(a(X), q(X, Z)), Z \= X", r"a(X), q(X, Z1), Z1 \= X"),
    (r"\+ ((a(X), q(X, Z)))", r"\+ a(X) ; \+ q(X, Z1)"),
    (r"(true ; q(X, Y), Y \= X), a(X)", "a(X)"),
]


@pytest.mark.parametrize(("before", "after"), CASES)
def test_simplify(before: str, after: str) -> None:
    assert str(simplify(parse_rule(f"h(X, Y) :- {before}."))) == f"h(X, Y) :- {after}."


@pytest.mark.parametrize(
    ("one", "two"),
    [
        ("a(X), b(X)", "b(X), a(X)"),
        (r"b(X), \+ \+ a(X)", "a(X), b(X)"),
        (r"\+ (a(X), b(X))", r"\+ b(X) ; \+ a(X)"),
        ("(a(X) ; q(Y, X)), (b(X) ; q(X, Y))", "(q(X, Y) ; b(X)), (q(Y, X) ; a(X))"),
    ],
)
def test_equal_rules_have_one_canonical_form(one: str, two: str) -> None:
    assert canonical(parse_rule(f"h(X, Y) :- {one}")) == canonical(parse_rule(f"h(X, Y) :- {two}"))


def test_different_rules_keep_different_forms() -> None:
    texts = ["a(X)", "b(X)", r"\+ a(X)", "a(X), b(X)", "a(X) ; b(X)", "q(X, Y)", "q(Y, X)", r"q(X, Y), Y \= X", "true"]
    assert len({canonical(parse_rule(f"h(X, Y) :- {text}")) for text in texts}) == len(texts)
