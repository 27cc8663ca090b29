"""Prolog terms: what is read, and that its text is read again."""

from __future__ import annotations

import pytest

from nlil.logic.terms import Compound, Name, Variable, conjuncts, read_clauses, read_term
from nlil.logic.tokens import Fault


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("p(a, -3)", "p(a, -3)"),
        ("X-1", "X - 1"),
        ("[1,2|T]", "[1, 2|T]"),
        ("[]", "[]"),
        ("a:-b,c", "a :- (b, c)"),
        ("h :- \\+ p(X), Y is X mod 2 ; s", None),
        ("'A b'(\"it's\")", "'A b'('it\\'s')"),
        ("0.3::edge(a,b)", "0.3 :: edge(a, b)"),
        ("type(f,(list,))", "type(f, list)"),
        ("direction(f,(in,out))", "direction(f, (in, out))"),
        ("X = [H|_]", None),
        (":- dynamic foo/2", None),
    ],
)
def test_text_is_read_again(text: str, shown: str | None) -> None:
    term = read_term(text)
    if shown is not None:
        assert str(term) == shown
    again = read_term(str(term))
    assert str(again) == str(term)


def test_operators_bind_as_in_prolog() -> None:
    assert read_term("1 - 2 - 3") == Compound("-", (Compound("-", (Name("1"), Name("2"))), Name("3")))
    assert read_term("1 + 2 * 3").args[1] == Compound("*", (Name("2"), Name("3")))  # type: ignore[union-attr]
    assert [str(t) for t in conjuncts(read_term("a, b, c"))] == ["a", "b", "c"]
    assert read_term("f(X, Y, X)") == Compound("f", (Variable("X"), Variable("Y"), Variable("X")))


def test_anonymous_variables_differ() -> None:
    term = read_term("p(_, _)")
    assert isinstance(term, Compound)
    assert term.args[0] != term.args[1]


def test_clauses_have_lines() -> None:
    found = list(read_clauses("% a comment\np(a).\n\nq(X) :-\n  p(X).\n"))
    assert [(clause.line, str(clause.term)) for clause in found] == [(2, "p(a)"), (4, "q(X) :- p(X)")]


@pytest.mark.parametrize("text", ["p(a", "p(a))", "[1, 2", "'open", "p(a) q", "X is", "p(,)"])
def test_faults_have_a_place(text: str) -> None:
    with pytest.raises(Fault) as caught:
        read_term(text)
    assert 0 <= caught.value.offset <= len(text)
