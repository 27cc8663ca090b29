"""Invented predicates: unions and transitive closures of background predicates, tried one at a time.

An invented predicate is evaluated first and then added to the base like any other, so the search need not know about
it. The cost of its clauses counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import combinations, combinations_with_replacement

from ..errors import LimitError
from .base import Tuples
from .clause import Clause, Literal, Symbol
from .fixpoint import derive
from .task import Task

MAX_INVENTED = 40
"""Limit of the invented predicates that are tried."""
MAX_ROWS = 50_000
"""Limit of the tuples of an invented predicate."""


@dataclass(frozen=True, eq=False)
class Invented:
    """A predicate `symbol` with its `clauses`, the tuples `rows` that they derive, and the `types` of its arguments."""

    symbol: Symbol
    clauses: tuple[Clause, ...]
    rows: Tuples
    types: tuple[int, ...]

    @property
    def cost(self) -> int:
        """The cost of its clauses."""
        return sum(clause.cost for clause in self.clauses)

    def added_to(self, task: Task) -> Task:
        """Return the task with this predicate in its background."""
        base = task.base.with_relations({self.symbol: self.rows}, {self.symbol: self.types})
        body = None if task.bias.body is None else (*task.bias.body, self.symbol)
        return replace(task, base=base, bias=replace(task.bias, body=body))


def inventions(task: Task) -> Iterator[Invented]:
    """Yield invented predicates for the task, cheap definitions first."""
    name = next(n for i in range(1, 100) if (n := f"inv{i}") not in {s.name for s in task.base.relations})
    seen: set[bytes] = set()
    made = 0
    for clauses, types in _definitions(task, name):
        try:
            rows = derive(task.base, clauses, MAX_ROWS)[clauses[0].head.symbol]
        except LimitError:
            continue
        mark = rows.tobytes()
        if mark in seen or made >= MAX_INVENTED:
            continue
        seen.add(mark)
        made += 1
        yield Invented(clauses[0].head.symbol, clauses, rows, types)


Definition = tuple[tuple[Clause, ...], tuple[int, ...]]


def _definitions(task: Task, name: str) -> Iterator[Definition]:
    types = task.base.types
    binary = [s for s in task.symbols if s.arity == 2]
    pair, one = Symbol(name, 2), Symbol(name, 1)
    looped = [s for s in binary if types[s][0] == types[s][1]]
    for symbol in looped:
        yield _closed(pair, [Literal(symbol, (0, 1))]), types[symbol]
    unions = [u for s, t in combinations_with_replacement(binary, 2) for u in _unions(s, t, types[s], types[t])]
    for literals in unions:
        yield _clauses(pair, literals), types[literals[0].symbol]
    for literals in unions:
        if types[literals[0].symbol][0] == types[literals[0].symbol][1]:
            yield _closed(pair, literals), types[literals[0].symbol]
    for left, right in combinations(_memberships(task.symbols), 2):
        kinds = [types[u.symbol][u.args.index(0)] for u in (left, right)]
        if kinds[0] == kinds[1]:
            yield _clauses(one, [left, right]), (kinds[0],)


def _unions(
    one: Symbol, other: Symbol, types: tuple[int, ...], other_types: tuple[int, ...]
) -> Iterator[list[Literal]]:
    if one != other and types == other_types:
        yield [Literal(one, (0, 1)), Literal(other, (0, 1))]
    if types == other_types[::-1]:
        yield [Literal(one, (0, 1)), Literal(other, (1, 0))]


def _memberships(symbols: Sequence[Symbol]) -> Iterator[Literal]:
    """Yield p(X), p(X, _) and p(_, X)."""
    for symbol in symbols:
        if symbol.arity == 1:
            yield Literal(symbol, (0,))
        elif symbol.arity == 2:
            yield Literal(symbol, (0, 1))
            yield Literal(symbol, (1, 0))


def _clauses(head: Symbol, literals: Sequence[Literal]) -> tuple[Clause, ...]:
    args = tuple(range(head.arity))
    return tuple(Clause(Literal(head, args), (literal,)) for literal in literals)


def _closed(head: Symbol, literals: Sequence[Literal]) -> tuple[Clause, ...]:
    """Return the clauses of the transitive closure of a union."""
    steps = [Literal(b.symbol, tuple({0: 0, 1: 2}[a] for a in b.args)) for b in literals]
    recursive = [Clause(Literal(head, (0, 1)), (step, Literal(head, (2, 1)))) for step in steps]
    return (*_clauses(head, literals), *recursive)
