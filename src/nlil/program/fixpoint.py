"""The least fixpoint of a program: stratum by stratum if there is negation, semi-naive within each.

This file knows nothing of examples or search; it checks the result of the search.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set

import numpy as np

from ..data.arrays import Mask
from ..errors import LimitError, RuleError
from ..kernel.strata import stratify
from .base import Base, Relation, Tuples, unique_rows
from .clause import BUILT_IN, Clause, Literal, Symbol, substituted
from .joins import NOTHING, Bindings, begin, extend

MAX_FACTS = 5_000_000
"""Limit of the facts that a program may derive, and of the rows of one join."""
QUERIES_AT_A_TIME = 1_000
"""Queries that a body is evaluated for at once: each may have many bindings."""


def derive(base: Base, clauses: Sequence[Clause], most: int = MAX_FACTS) -> dict[Symbol, Tuples]:
    """Return every fact of the least fixpoint, by predicate of a head.

    Facts of `base` with the predicate of a head count as given. More than `most` facts raise LimitError; negation in a
    cycle raises RuleError.
    """
    clauses = [substituted(clause) for clause in clauses]
    known = dict(base.relations)
    heads = {clause.head.symbol for clause in clauses}
    for symbol in heads:
        known.setdefault(symbol, _no_facts(symbol, base))
    for level in _strata(clauses):
        _fill([c for c in clauses if c.head.symbol in level], level, known, base, most)
    return {symbol: known[symbol].rows for symbol in heads}


def covered(clause: Clause, queries: Tuples, known: Mapping[Symbol, Relation], base: Base) -> Mask:
    """Return for which queries the body holds, whose head variables are numbered from 0.

    `known` has the tuples of each predicate; one that is missing has none.
    """
    found = np.zeros(len(queries), bool)
    for first in range(0, len(queries), QUERIES_AT_A_TIME):
        bindings = begin(queries[first : first + QUERIES_AT_A_TIME])
        for i in _order(clause, None, {*clause.head.variables}):
            literal = clause.body[i]
            relation = known.get(literal.symbol, _no_facts(literal.symbol, base))
            bindings = extend(bindings, literal, base, relation, MAX_FACTS)
        found[first + bindings.owner] = True
    return found


def _no_facts(symbol: Symbol, base: Base) -> Relation:
    return Relation(np.zeros((0, symbol.arity), np.int64), base.num_entities)


def _strata(clauses: Sequence[Clause]) -> list[frozenset[Symbol]]:
    """Return the predicates of the heads in groups; the predicates that a group negates are in earlier groups."""
    heads = dict.fromkeys(clause.head.symbol for clause in clauses)
    uses: dict[tuple[Symbol, Symbol], bool] = {}
    for clause in clauses:
        for literal in clause.body:
            if literal.symbol in heads:
                edge = clause.head.symbol, literal.symbol
                uses[edge] = uses.get(edge, False) or literal.negated
    level = stratify(heads, uses)
    return [frozenset(s for s in level if level[s] == number) for number in sorted({*level.values()})]


def _fill(
    clauses: Sequence[Clause], own: frozenset[Symbol], known: dict[Symbol, Relation], base: Base, most: int
) -> None:
    """Add to `known` what the clauses of one stratum derive; `own` are the predicates of their heads."""
    empty = {symbol: np.zeros((0, symbol.arity), np.int64) for symbol in own}
    first = {symbol: [known[symbol].rows] for symbol in own}
    for clause in clauses:
        if not any(literal.symbol in own for literal in clause.body):
            first[clause.head.symbol].append(_heads(clause, known, base, most))
    new = {symbol: unique_rows(np.concatenate(parts)) for symbol, parts in first.items()}
    for symbol in own:
        known[symbol] = Relation(empty[symbol], base.num_entities)
    while any(len(rows) for rows in new.values()):
        before = {symbol: known[symbol] for symbol in own}
        for symbol, rows in new.items():
            known[symbol] = Relation(np.concatenate((known[symbol].rows, rows)), base.num_entities)
        if sum(len(known[symbol]) for symbol in own) > most:
            raise LimitError(f"the program derives more than {most:,} facts")
        fresh = {symbol: Relation(rows, base.num_entities) for symbol, rows in new.items()}
        found: dict[Symbol, list[Tuples]] = {symbol: [empty[symbol]] for symbol in own}
        for clause in clauses:
            for place, literal in enumerate(clause.body):
                if literal.symbol in own and len(fresh[literal.symbol]):
                    found[clause.head.symbol].append(_heads(clause, known, base, most, place, fresh, before))
        new = {symbol: _without(unique_rows(np.concatenate(found[symbol])), known[symbol]) for symbol in own}


def _without(rows: Tuples, known: Relation) -> Tuples:
    if not len(rows) or not rows.shape[1]:
        return rows[: 0 if len(known) else None]
    return rows[~known.contains(list(rows.T), tuple(range(rows.shape[1])))]


def _heads(
    clause: Clause,
    known: Mapping[Symbol, Relation],
    base: Base,
    most: int,
    place: int | None = None,
    fresh: Mapping[Symbol, Relation] | None = None,
    before: Mapping[Symbol, Relation] | None = None,
) -> Tuples:
    """Return the tuples that a clause derives.

    With `place`, the literal there uses only new facts, `fresh`, and the literals before it only facts of `before`.
    """
    bindings: Bindings = NOTHING
    for i in _order(clause, place):
        literal = clause.body[i]
        relation = known.get(literal.symbol)
        if i == place and fresh is not None:
            relation = fresh[literal.symbol]
        elif place is not None and before is not None and i < place and literal.symbol in before:
            relation = before[literal.symbol]
        if relation is None:
            relation = _no_facts(literal.symbol, base)
        bindings = extend(bindings, literal, base, relation, most)
        if not len(bindings):
            return np.zeros((0, clause.head.symbol.arity), np.int64)
    columns = [bindings.values(a) for a in clause.head.args]
    if any(column is None for column in columns):
        raise RuleError(f"a variable of the head {clause.head.symbol} does not occur in its body")
    if not columns:
        return np.zeros((1, 0), np.int64)
    return unique_rows(np.column_stack([c for c in columns if c is not None]))


def _order(clause: Clause, place: int | None, known: Set[int] = frozenset()) -> list[int]:
    """Return the order to join in: new facts first, then literals with bound variables, tests as soon as possible.

    The variables `known` are bound before.
    """
    bound = {*known}
    left, order = dict(enumerate(clause.body)), list[int]()
    outside = {i: _shared(clause, i) for i in left}

    def take(i: int) -> None:
        bound.update(left.pop(i).variables)
        order.append(i)

    if place is not None:
        take(place)
    while left:
        tests = [i for i, b in left.items() if _is_test(b) and outside[i] <= bound]
        joins = [i for i, b in left.items() if not _is_test(b)]
        if not tests and not joins:
            raise RuleError("a comparison or a negation has variables that no other literal of its body binds")
        if tests:
            order.append(tests[0])
            left.pop(tests[0])
        else:
            take(max(joins, key=lambda i: (len(bound.intersection(left[i].variables)) > 0, -len(left[i].args), -i)))
    return order


def _is_test(literal: Literal) -> bool:
    return literal.negated or literal.symbol in BUILT_IN


def _shared(clause: Clause, place: int) -> set[int]:
    """Return the variables of a literal that occur elsewhere in the clause too, all of them if it is built in."""
    literal = clause.body[place]
    if literal.symbol in BUILT_IN:
        return {*literal.variables}
    others = {v for i, b in enumerate(clause.body) if i != place for v in b.variables}
    return {*literal.variables} & (others | {*clause.head.variables})
