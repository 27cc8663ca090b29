"""Hypothesis strategies shared by all tests: random rules that use every construct of the language.

Hand `Names` over to draw rules about a given knowledge base; without it the names are nasty ones.

    @given(rules(Names(unary=("car",), binary=("on", "inside"), entities=("a", "b"))))
"""

from __future__ import annotations

from dataclasses import dataclass

from hypothesis import strategies as st

from nlil.logic.formula import ANY, TRUE, Anchor, And, Constant, Formula, Not, Or, Path, Statement, X, Y
from nlil.logic.predicate import Fact, Predicate, Step
from nlil.logic.rule import Head, Rule

NASTY = (
    "/film/film/genre", "it's", "A b", "été", "\\", "", "a\nb", "true", "X", "Z1", "42", "-1.5", "_", "?", "p",
    "p", "q", "car", "big", "is_a", "\\+", ":-", "%", "'", "''", "\\n", "a.b", "\t", "\x00", "\u2028", "\ud800",
    "ß", "Ω", "🚗",
)  # fmt: skip


@dataclass(frozen=True)
class Names:
    """The names that random rules may use; an empty tuple leaves that construct out."""

    unary: tuple[str, ...]
    binary: tuple[str, ...]
    entities: tuple[str, ...]


NASTY_NAMES = Names(NASTY, NASTY, NASTY)


def names() -> st.SearchStrategy[str]:
    return st.sampled_from(NASTY) | st.text(max_size=5)


def filters(names: Names) -> st.SearchStrategy[Step]:
    return st.builds(lambda name: Step(Predicate(name, 1)), st.sampled_from(names.unary))


def moves(names: Names) -> st.SearchStrategy[Step]:
    return st.builds(
        lambda name, inverse: Step(Predicate(name, 2), inverse), st.sampled_from(names.binary), st.booleans()
    )


def facts(names: Names = NASTY_NAMES) -> st.SearchStrategy[Fact]:
    entity = st.sampled_from(names.entities)
    kinds = []
    if names.unary:
        kinds.append(st.builds(lambda p, a: Fact(Predicate(p, 1), (a,)), st.sampled_from(names.unary), entity))
    if names.binary:
        kinds.append(
            st.builds(lambda p, a, b: Fact(Predicate(p, 2), (a, b)), st.sampled_from(names.binary), entity, entity)
        )
    return st.one_of(kinds)


def heads(names: Names = NASTY_NAMES) -> st.SearchStrategy[Head]:
    """p(X), p(X, Y), p(X, c), p(c, Y)."""
    kinds = []
    if names.unary:
        kinds.append(st.sampled_from(names.unary).map(lambda name: Head(Predicate(name, 1), (X,))))
    if names.binary:
        arguments: list[st.SearchStrategy] = [st.just((X, Y))]
        if names.entities:
            constant = st.sampled_from(names.entities).map(Constant)
            arguments += [constant.map(lambda c: (X, c)), constant.map(lambda c: (c, Y))]
        binary = st.sampled_from(names.binary).map(lambda name: Predicate(name, 2))
        kinds.append(st.builds(Head, binary, st.one_of(arguments)))
    return st.one_of(kinds)


def anchors(names: Names, variables: tuple[Anchor, ...]) -> st.SearchStrategy[Anchor]:
    kinds: list[st.SearchStrategy] = [st.just(ANY)]
    if variables:
        kinds.append(st.sampled_from(variables))
    if names.entities:
        kinds.append(st.sampled_from(names.entities).map(Constant))
    return st.one_of(kinds)


@st.composite
def paths(draw, names: Names = NASTY_NAMES, variables: tuple[Anchor, ...] = (X, Y), max_steps: int = 3) -> Path:
    """A start, then up to `max_steps` moves and filters in any order."""
    kinds = [kind(names) for kind, known in ((moves, names.binary), (filters, names.unary)) if known]
    steps = draw(st.lists(st.one_of(kinds), max_size=max_steps))
    return Path(draw(anchors(names, variables)), tuple(steps))


@st.composite
def statements(
    draw, names: Names = NASTY_NAMES, variables: tuple[Anchor, ...] = (X, Y), max_steps: int = 3
) -> Statement:
    """Two paths that meet; where there is nothing to meet in (`any` and `any`, X and X) one atom is added."""
    left = draw(paths(names, variables, max_steps))
    right = draw(paths(names, variables, max_steps))
    if not (left.steps or right.steps) and (ANY in (left.start, right.start) or left.start == right.start):
        left = left.then(draw(filters(names) if names.unary else moves(names)))
    return Statement.meet(left, right)


def formulas(
    names: Names = NASTY_NAMES,
    variables: tuple[Anchor, ...] = (X, Y),
    max_steps: int = 3,
    max_leaves: int = 5,
) -> st.SearchStrategy[Formula]:
    """Statements and TRUE under Not, And and Or, nested in any way."""
    statement = statements(names, variables, max_steps)
    leaf = st.one_of(statement, statement, statement, st.just(TRUE))
    return st.recursive(
        leaf,
        lambda inner: st.one_of(
            inner.map(Not),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: And(*parts)),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: Or(*parts)),
        ),
        max_leaves=max_leaves,
    )


@st.composite
def rules(draw, names: Names = NASTY_NAMES, max_steps: int = 3, max_leaves: int = 5) -> Rule:
    """Any rule: every kind of head, body and anchor, distinct or not."""
    head = draw(heads(names))
    variables = tuple(sorted(head.variables, key=lambda v: v.name))
    body = draw(formulas(names, variables, max_steps, max_leaves))
    return Rule(head, body, draw(st.booleans()))


@st.composite
def shuffled(draw, formula: Formula) -> Formula:
    """The same formula with the arguments of And and Or in another order and some double negations."""
    match formula:
        case And(arguments):
            result: Formula = And(*[draw(shuffled(a)) for a in draw(st.permutations(arguments))])
        case Or(arguments):
            result = Or(*[draw(shuffled(a)) for a in draw(st.permutations(arguments))])
        case Not(argument):
            result = Not(draw(shuffled(argument)))
        case _:
            result = formula
    return Not(Not(result)) if draw(st.integers(0, 4)) == 0 else result
