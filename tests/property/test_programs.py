"""What programs derive == a brute-force evaluation of their text, for predicates of one to four arguments."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.errors import RuleError
from nlil.program.base import Base, BaseBuilder
from nlil.program.clause import AT_MOST, DIFFERENT, EQUAL, LESS, Clause, Literal, Symbol, clause_text
from nlil.program.fixpoint import derive
from nlil_bench.ilp_check import derived

GIVEN = (Symbol("p", 1), Symbol("q", 2), Symbol("r", 3), Symbol("s", 4))
MADE = (Symbol("t", 1), Symbol("u", 2), Symbol("v", 3))
NAMES = ("0", "1", "2", "3")


@st.composite
def bases(draw: st.DrawFn) -> Base:
    builder = BaseBuilder()
    for name in NAMES:
        builder.add(Symbol("all", 1), (name,))
    for symbol in GIVEN:
        rows = st.tuples(*[st.sampled_from(NAMES)] * symbol.arity)
        for args in draw(st.lists(rows, max_size=6)):
            builder.add(symbol, args)
    return builder.finish({})


@st.composite
def made_clauses(draw: st.DrawFn) -> Clause:
    """A clause whose variables are all bound by atoms; tests and negated atoms come last."""
    arguments = st.one_of(st.integers(0, 3), st.integers(-len(NAMES), -1))
    atoms = st.sampled_from((*GIVEN, *MADE)).flatmap(
        lambda symbol: st.builds(Literal, st.just(symbol), st.tuples(*[arguments] * symbol.arity))
    )
    body = draw(st.lists(atoms, min_size=1, max_size=3))
    bound = sorted({v for literal in body for v in literal.variables})
    known = st.sampled_from([*bound, -1, -2]) if bound else st.sampled_from([-1, -2])
    head = draw(st.sampled_from(MADE))
    head_literal = Literal(head, draw(st.tuples(*[known] * head.arity)))
    tests = draw(
        st.lists(
            st.builds(Literal, st.sampled_from((EQUAL, DIFFERENT, LESS, AT_MOST)), st.tuples(known, known)), max_size=1
        )
    )
    negated = draw(
        st.lists(
            st.sampled_from(GIVEN).flatmap(
                lambda symbol: st.builds(Literal, st.just(symbol), st.tuples(*[known] * symbol.arity), st.just(True))
            ),
            max_size=1,
        )
    )
    return Clause(head_literal, (*body, *tests, *negated))


@settings(max_examples=200, deadline=None)
@given(bases(), st.lists(made_clauses(), min_size=1, max_size=4))
def test_fixpoint_is_the_oracle(base: Base, clauses: list[Clause]) -> None:
    facts = {(s.name, *(base.names[i] for i in row)) for s, r in base.relations.items() for row in r.rows.tolist()}
    expected = derived([clause_text(clause, base.names) for clause in clauses], facts) - facts
    found = derive(base, clauses)
    made = {(s.name, *(base.names[i] for i in row)) for s, rows in found.items() for row in rows.tolist()}
    assert made - facts == expected


@settings(max_examples=60, deadline=None)
@given(st.sets(st.tuples(st.sampled_from("abcdef"), st.sampled_from("abcdef")), min_size=1, max_size=10), st.booleans())
def test_recursion_to_the_end(edges: set[tuple[str, str]], is_linear: bool) -> None:
    builder = BaseBuilder()
    e, r = Symbol("e", 2), Symbol("r", 2)
    for edge in sorted(edges):
        builder.add(e, edge)
    base = builder.finish({})
    step = Literal(e if is_linear else r, (0, 2))
    clauses = [
        Clause(Literal(r, (0, 1)), (Literal(e, (0, 1)),)),
        Clause(Literal(r, (0, 1)), (step, Literal(r, (2, 1)))),
    ]
    facts = {("e", *edge) for edge in edges}
    expected = {fact[1:] for fact in derived([clause_text(c, base.names) for c in clauses], facts) if fact[0] == "r"}
    assert {tuple(base.names[i] for i in row) for row in derive(base, clauses)[r].tolist()} == expected


def test_negation_in_a_cycle_is_refused() -> None:
    builder = BaseBuilder()
    builder.add(Symbol("p", 1), ("a",))
    base = builder.finish({})
    t = Symbol("t", 1)
    clause = Clause(Literal(t, (0,)), (Literal(Symbol("p", 1), (0,)), Literal(t, (0,), True)))
    with pytest.raises(RuleError, match="negation"):
        derive(base, [clause])
