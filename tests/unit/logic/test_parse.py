"""Rule in text, value out; and what a wrong text is told."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nlil.errors import RuleSyntaxError
from nlil.logic.formula import TRUE, And, Constant, Not, Or, Path, Statement, X, Y
from nlil.logic.parse import parse_program, parse_rule
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.query import Query, parse_fact, parse_query
from nlil.logic.rule import Head, Rule
from nlil.logic.tokens import Token, tokenize


def move(name: str, inverse: bool = False) -> Step:
    return Step(Predicate(name, 2), inverse)


def kind(name: str) -> Step:
    return Step(Predicate(name, 1))


def body(text: str):
    return parse_rule(f"h(X, Y) :- {text}.").body


CAR = Statement(X, (kind("car"),))
INSIDE = Statement(X, (move("inside"),))
PARKED = Statement(X, (kind("car"), move("inside")))


def test_the_example_of_the_design() -> None:
    rule = parse_rule("person(X) :- inside(X, Z1), car(Z1), on(Z2, X), clothing(Z2).")
    assert rule == Rule(
        Head(Predicate("person", 1), (X,)),
        And(
            Statement.meet(Path(X, (move("inside"),)), Path.unary(Predicate("car", 1))),
            Statement(X, (move("on", True), kind("clothing"))),
        ),
    )


def test_atoms_that_share_body_variables_are_one_statement_in_any_order() -> None:
    chain = Statement(X, (move("p"), kind("car"), move("q", True)), Y)
    assert body("p(X, Z), q(Y, Z), car(Z)") == chain
    assert body("car(A), q(Y, A), p(X, A)") == chain
    assert body("car(A), big(X), q(Y, A), p(X, A)") == And(chain, Statement(X, (kind("big"),)))


def test_brackets_around_plain_atoms_make_one_statement() -> None:
    assert body("car(X), inside(X, Z)") == And(CAR, INSIDE)
    assert body("(car(X), inside(X, Z))") == PARKED
    assert body("(inside(X, Z), car(X))") == PARKED
    assert body("((car(X), inside(X, Z)))") == PARKED
    assert body(r"\+ (car(X), inside(X, Z))") == Not(And(CAR, INSIDE))
    assert body(r"\+ ((car(X), inside(X, Z)))") == Not(PARKED)
    assert body("(car(X), inside(X, Z)) ; car(X)") == Or(PARKED, CAR)


def test_brackets_that_cannot_be_one_statement_mean_nothing() -> None:
    big = Statement(Y, (kind("big"),))
    assert body("(car(X), big(Y))") == And(CAR, big)
    assert body("(p(X, Z)), q(Z, Y)") == Statement(X, (move("p"), move("q")), Y)
    assert body("(p(X, Z), car(X)), q(Z, Y)") == And(Statement(X, (move("p"), move("q")), Y), CAR)
    assert body("(car(X), (big(Y), true))") == And(CAR, big, TRUE)


def test_a_line_that_returns_to_its_anchor() -> None:
    twice = Statement(X, (kind("car"), move("p")), X)
    assert twice == Statement(X, (move("p"), kind("car")), X) == Statement(X, (move("p", True), kind("car")), X)
    assert body("(p(X, X), car(X))") == twice
    assert Statement(X, (kind("car"),), X) == CAR


def test_constants_equations_and_truth() -> None:
    assert body("X = Y") == Statement(X, (), Y)
    assert body("X = 'New York'") == body("'New York' = X") == Statement(X, (), Constant("New York"))
    assert body("(car(X), X = c)") == Statement(X, (kind("car"),), Constant("c"))
    assert body("age(X, 42), size(X, -1.5)") == And(
        Statement(X, (move("age"),), Constant("42")), Statement(X, (move("size"),), Constant("-1.5"))
    )
    assert body(r"\+ true") == Not(TRUE)
    assert body("p(X, true)") == Statement(X, (move("p"),), Constant("true"))
    assert parse_rule("speaks(A, english).") == parse_rule("speaks(X, english) :- true.")


def test_heads_are_renamed() -> None:
    assert parse_rule("p(A, B) :- q(B, A)") == parse_rule("p(X, Y) <- q(Y, X).")
    assert parse_rule("p(c, B) :- q(B, X)") == parse_rule("p(c, Y) <= q(Y, Z1)")
    assert parse_rule("p(_, _) :- q(_, _)") == parse_rule("p(X, Y) :- q(Z1, Z2)")


def test_white_space_comments_and_escapes() -> None:
    text = "p(X)  % why\n :- /* also * / here */ 'it''s'( X ) ,\n 'a\\x41\\\\101\\\\u0041\\n'(X)"
    assert parse_rule(text) == parse_rule("p(X) :- 'it\\'s'(X), 'aAAA\\n'(X).")


def test_distinct() -> None:
    chain = r"p(X, Z), q(Z, Y)"
    assert parse_rule(rf"h(X, Y) :- {chain}, Z \= X, Y \= X, Y \= Z").distinct
    assert not parse_rule(f"h(X, Y) :- {chain}").distinct
    inside = parse_rule(r"h(X) :- \+ (p(X, Z), Z \= X), (a(X), q(X, W), X \= W)")
    assert inside.distinct
    assert isinstance(inside.body, And)


@pytest.mark.parametrize(
    ("text", "column", "reason"),
    [
        ("p(X) :- a(X, Z), b(X, Z), c(Z, X)", 29, "Z is joined by three binary atoms"),
        ("p(X) :- a(U, V), b(V, U)", 18, "U and V are joined in a ring"),
        ("p(X) :- a(Z, Z)", 9, "Z is joined to itself"),
        ("p(X) :- a(X, Z), \\+ b(Z)", 23, "Z occurs inside and outside of \\+"),
        ("p(X) :- (a(X, Z) ; b(X)), c(Z)", 29, "Z occurs inside and outside of a branch of ;"),
        ("p(X) :- \\+ a(X, Z), \\+ b(X, Z)", 29, "Z occurs inside and outside of \\+"),
        ("p(X, Y) :- a(X, Z), b(Z, Y), Z \\= X", 12, "lacks Y \\= X"),
        ("p(X) :- a(X, Z), Z \\= X, b(X, W)", 26, "lacks W \\= X"),
        ("p(X, Y) :- a(X), b(Y), X \\= Y", 24, "write \\+ X = Y"),
        ("p(X) :- a(X, c), X \\= c", 18, "must compare two variables"),
        ("p(X) :- a(X, Z), Z = c", 18, "write 'c' in place of Z"),
        ("p(X) :- X = X", 9, "always holds"),
        ("p(X, X) :- a(X)", 6, "X occurs twice in the head"),
        ("p(c, d)", 1, "the head needs a variable"),
        ("p(X) :- a(X, Y, Z)", 9, "'a' takes one or two arguments, got 3"),
        ("p(X) :- a", 10, "expected '(', '=' or '\\=' after 'a', got the end"),
        ("p(X) :- a(X,", 13, "expected a variable or a name, got the end"),
        ("p(X) :- (a(X), b(X)", 20, "for the '(' of column 9"),
        ("p(X) :- a(X) b(X)", 14, "expected ',', ';' or '.'"),
        ("p(X) a(X)", 6, "expected ':-' or '.'"),
        ("p(X) :- .", 9, "expected an atom"),
        ("p(X) :- /m/01(X)", 9, "unexpected character '/'"),
        ("p(X) :- 'a(X)", 9, "not closed"),
        ("p(X) :- 'a''(X)", 9, "not closed"),
        ("p(X) :- 'a\\q'(X)", 11, "unknown escape"),
        ("p(X) :- '\\x110000\\'(X)", 10, "not a character"),
        ("P(X) :- a(X)", 1, "expected a rule such as"),
        (":- p(X, Y), q(X, Y)", 1, "expected a rule such as"),
        ("p(X) :- a(X) /* why", 14, "expected '*/' to close this comment"),
        ("", 1, "got 0"),
        ("p(X). q(X).", 7, "got 2"),
        ("p(X) :- " + "(" * 200, 109, "more than 100 nested"),
    ],
)
def test_a_syntax_error_names_the_column(text: str, column: int, reason: str) -> None:
    with pytest.raises(RuleSyntaxError) as caught:
        parse_rule(text)
    assert caught.value.column == column
    assert reason in str(caught.value)


def test_the_same_variable_in_two_branches_is_fine() -> None:
    assert body("a(X, Z) ; b(X, Z)") == body("a(X, Z) ; b(X, W)")


def test_a_file_of_rules() -> None:
    text = "% kin\np(X) :- a(X).\n\n  q(X) :-\n  b(X). p(X).\n"
    assert [line for _, line in parse_program(text)[0]] == [2, 4, 5]
    assert parse_program(" % nothing\n") == ([], [])
    with pytest.raises(RuleSyntaxError, match=r"^line 3, column 9: .* in 'p\(X\) :- \?'$"):
        parse_program("p(X) :- a(X).\n\np(X) :- ?\nq(X).")
    with pytest.raises(RuleSyntaxError, match=r"^line 2, column 1: .* after an atom of the body, got 'q'"):
        parse_program("p(X) :- a(X)\nq(X).")


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("uncle(alice, ?)", Query("uncle", ("alice", None))),
        ("person(obj17)", Query("person", ("obj17",))),
        ("p(?,b).", Query("p", (None, "b"))),
        (" Uncle ( Alice Smith , ? ) ", Query("Uncle", ("Alice Smith", None))),
        ("/film/film/genre(/m/01, ?)", Query("/film/film/genre", ("/m/01", None))),
        ("'a(b)'('x, y', '?')", Query("a(b)", ("x, y", "?"))),
        ("it's(o'hara, ?)", Query("it's", ("o'hara", None))),
    ],
)
def test_queries(text: str, query: Query) -> None:
    assert parse_query(text) == query
    assert parse_query(str(query)) == query


@pytest.mark.parametrize(
    ("text", "column"),
    [("", 1), ("uncle", 6), ("uncle(", 7), ("uncle()", 7), ("uncle(alice", 12), ("uncle(a,)", 9), ("p(a) b", 5),
     ("p(a, b, c)", 10), ("?(a)", 1), ("'p(a)", 1), ("p('a' b)", 7), ("(a)", 1), ("p(a))", 5)],
)  # fmt: skip
def test_a_malformed_query_names_the_column_and_shows_the_form(text: str, column: int) -> None:
    with pytest.raises(RuleSyntaxError, match=r"uncle\(alice, \?\)") as caught:
        parse_query(text)
    assert caught.value.column == column


def test_facts() -> None:
    assert parse_fact("uncle(alice, 'Bob B')") == Fact(Predicate("uncle", 2), ("alice", "Bob B"))
    assert parse_fact("person(obj17).") == Fact(Predicate("person", 1), ("obj17",))
    with pytest.raises(RuleSyntaxError, match="without"):
        parse_fact("uncle(alice, ?)")


def test_what_follows_an_error_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    """A megabyte of rules with an error in the first one would otherwise take seconds."""
    read = []

    def counted(text: str) -> Iterator[Token]:
        for token in tokenize(text):
            read.append(token)
            yield token

    monkeypatch.setattr("nlil.logic.syntax.tokenize", counted)
    with pytest.raises(RuleSyntaxError, match="expected an atom"):
        parse_program("p(X, Y) :- ),\n" + "q(X, Y).\n" * 1_000)
    assert len(read) < 12
