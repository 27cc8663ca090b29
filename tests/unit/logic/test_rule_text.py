"""Value in, text out, character by character."""

from __future__ import annotations

import pytest

from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Fact, Predicate
from nlil.logic.text import atom_text, fact_text, formula_text, readable_text, rule_text

EXACT = [
    "person(X) :- inside(X, Z1), car(Z1), on(Z2, X), clothing(Z2).",
    "bus(X) :- \\+ (wearing(Z1, X), shirt(Z1)).",
    "bus(X) :- \\+ car(X).",
    "bus(X) :- \\+ \\+ car(X).",
    "bus(X) :- \\+ true.",
    "speaks(X, english) :- true.",
    "speaks(X, english) :- lives_in(X, london).",
    "p(c, Y) :- q(Y, 'New York'), surfboard(Z1).",
    "p(X, Y) :- q(X, Y) ; r(Y, X), car(X) ; X = Y.",
    "p(X, Y) :- (q(X, Y) ; r(Y, X)), car(X), \\+ (a(X) ; b(X)).",
    "p(X) :- (car(X), inside(X, Z1)), \\+ ((big(X), car(X))).",
    "p(X) :- (car(X), X = c).",
    "p(X) :- '/film/film/genre'(X, Z1), 'true'(Z1).",
    "p(X, Y) :- q(X, Z1), r(Z1, Y), Z1 \\= X, Y \\= X, Y \\= Z1.",
    "p(X, Y) :- q(X, Y), Y \\= X, r(X, Y), \\+ (s(X, Y), Y \\= X).",
    "p(X) :- (car(X), inside(X, Z1)), Z1 \\= X, a(X).",
    "p(X) :- car(Z1), on(Z2, Z1).",
    "p(X) :- a(Z1, Z2), b(Z2, Z3).",
]


@pytest.mark.parametrize("text", EXACT)
def test_rules_print_as_they_are_read(text: str) -> None:
    rule = parse_rule(text)
    assert rule_text(rule) == text == str(rule)
    assert formula_text(rule.body, rule.distinct) == text.partition(" :- ")[2][:-1]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("car", "car"),
        ("is_aB9", "is_aB9"),
        ("", "''"),
        ("Car", "'Car'"),
        ("42", "'42'"),
        ("true", "'true'"),
        ("été", "'été'"),
        ("it's", r"'it\'s'"),
        ("a\\b\nc\td", r"'a\\b\nc\td'"),
        ("\x00\u2028", r"'\x0\\x2028\'"),
    ],
)
def test_names_are_quoted_never_rewritten(name: str, text: str) -> None:
    assert atom_text(name) == text


def test_facts() -> None:
    assert fact_text(Fact(Predicate("/p", 2), ("a", "B c"))) == "'/p'(a, 'B c')"


def test_labels_are_for_people() -> None:
    rule = parse_rule("'/genre'(X, '/m/1') :- likes(X, '/m/1').")
    shown = readable_text(rule, entity_label={"/m/1": "Film noir"}.__getitem__, predicate_label=str.upper)
    assert shown == "/GENRE(X, Film noir) :- LIKES(X, Film noir)."
    assert readable_text(rule) == rule_text(rule)
