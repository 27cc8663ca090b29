"""Text and parser are exact inverses; simplify and canonical are what they claim, for every rule."""

from __future__ import annotations

from collections.abc import Callable

from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.errors import RuleSyntaxError
from nlil.logic.formula import TRUE, And, Formula, Not, Or, Statement, Truth
from nlil.logic.parse import parse_program, parse_rule
from nlil.logic.predicate import Fact, Predicate
from nlil.logic.query import Query, parse_fact, parse_query
from nlil.logic.rule import Rule
from nlil.logic.simplify import FALSE, canonical, simplify, simplify_formula
from nlil.logic.text import fact_text, readable_text, rule_text
from strategies import NASTY, Names, facts, formulas, names, rules, shuffled, statements

quick = settings(deadline=None, max_examples=100)
FEW = Names(unary=("a", "b"), binary=("p",), entities=("c",))
"""Few names, so that equal statements, complements and lines that return to their anchor are common."""


@quick
@given(rules())
def test_parse_inverts_text(rule: Rule) -> None:
    assert parse_rule(rule_text(rule)) == rule


@quick
@given(rules(FEW, max_leaves=6))
def test_parse_inverts_text_with_few_names(rule: Rule) -> None:
    assert parse_rule(rule_text(rule)) == rule


@settings(deadline=None, max_examples=25)
@given(st.lists(rules(max_leaves=3), max_size=4))
def test_a_file_of_rules(many: list[Rule]) -> None:
    text = "% a comment\n" + "\n% 'another\n".join(map(rule_text, many))
    assert parse_program(text) == ([(rule, 2 + 2 * i) for i, rule in enumerate(many)], [])


@quick
@given(rules())
def test_text_is_one_printable_line(rule: Rule) -> None:
    assert rule_text(rule).isprintable()
    assert readable_text(rule, str, str).endswith(".")


@quick
@given(facts() | st.builds(lambda p, a, b: Fact(Predicate(p, 2), (a, b)), names(), names(), names()))
def test_facts_and_queries(fact: Fact) -> None:
    assert parse_fact(fact_text(fact)) == fact
    query = Query(fact.predicate.name, (None, *fact.arguments[1:]))
    assert parse_query(str(query)) == query


PIECES = ("p(X, Y)", ":-", "<=", "(", ")", ",", ";", ".", "\\+", "\\=", "=", "X", "Z", "_", "true", "'", "'a'", "%",
          "q(", "42", "?", "q(X, Z)", "r(Z, Y)", "a(Z)", " ", "\n", "\\x110000\\", "/*", "Y \\= X",
          "p(X) :- ")  # fmt: skip
garbage = st.text() | st.lists(st.sampled_from(PIECES + NASTY), max_size=12).map("".join)


def refusal(parse: Callable[[str], object], text: str) -> RuleSyntaxError | None:
    try:
        parse(text)
    except RuleSyntaxError as error:
        return error
    return None


@settings(deadline=None, max_examples=500)
@given(garbage)
def test_garbage_is_refused_with_a_column(text: str) -> None:
    for parse in (parse_rule, parse_program, parse_query, parse_fact):
        error = refusal(parse, text)
        if error is not None:
            assert 1 <= error.column <= len(error.text) + 1
            assert error.text in text


@settings(deadline=None, max_examples=200)
@given(garbage.map("p(X, Y) :- q(X, Z1), ".__add__))
def test_what_is_read_can_be_printed(text: str) -> None:
    try:
        rule = parse_rule(text)
    except RuleSyntaxError:
        return
    assert parse_rule(rule_text(rule)) == rule


# simplify and canonical ---------------------------------------------------------------------------


@quick
@given(formulas(FEW, max_steps=2, max_leaves=8))
def test_simplify_is_idempotent(formula: Formula) -> None:
    once = simplify_formula(formula)
    assert simplify_formula(once) == once


def crisp(formula: Formula, truth: dict[Statement, bool]) -> bool:
    match formula:
        case Truth():
            return True
        case Not(argument):
            return not crisp(argument, truth)
        case And(arguments):
            return all(crisp(a, truth) for a in arguments)
        case Or(arguments):
            return any(crisp(a, truth) for a in arguments)
        case _:
            return truth[formula]


@st.composite
def shapes_and_truths(draw) -> tuple[Formula, dict[Statement, bool]]:
    """A formula over three statements that no splitting touches, and which of them hold."""
    atoms = [s for s in draw(st.lists(statements(FEW), min_size=3, max_size=3)) if simplify_formula(s) == s]
    leaf = st.sampled_from([TRUE, *atoms])
    formula = draw(
        st.recursive(
            leaf,
            lambda inner: (
                inner.map(Not)
                | st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(*parts))
                | st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(*parts))
            ),
            max_leaves=8,
        )
    )
    return formula, {atom: draw(st.booleans()) for atom in atoms}


@settings(deadline=None, max_examples=150)
@given(shapes_and_truths())
def test_simplify_keeps_the_truth_value(shape: tuple[Formula, dict[Statement, bool]]) -> None:
    formula, truth = shape
    assert crisp(simplify_formula(formula), truth) == crisp(formula, truth)


@quick
@given(formulas(FEW, max_steps=2, max_leaves=4))
def test_a_formula_and_its_negation(formula: Formula) -> None:
    """psi and not psi is false wherever psi is a statement, a conjunction or a disjunction of statements."""
    flat = simplify_formula(formula)
    parts = flat.arguments if isinstance(flat, And | Or) else (flat,)
    if not any(isinstance(p, And | Or) for p in parts):
        assert simplify_formula(And(formula, Not(formula))) == FALSE
        assert simplify_formula(Or(Not(formula), formula)) == TRUE


@quick
@given(st.data(), rules(FEW, max_steps=2, max_leaves=8))
def test_canonical_does_not_see_order(data: st.DataObject, rule: Rule) -> None:
    other = Rule(rule.head, data.draw(shuffled(rule.body)), rule.distinct)
    assert canonical(other) == canonical(rule)


@quick
@given(rules(FEW, max_steps=2, max_leaves=8))
def test_canonical_is_idempotent_and_simple(rule: Rule) -> None:
    once = canonical(rule)
    assert canonical(once) == once
    assert simplify(once) == once
    assert once.length <= rule.length
