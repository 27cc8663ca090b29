"""Bindings: the values of a clause's variables, one row for each way to satisfy its literals; and how to add a literal.

A row belongs to its `owner`, a query.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Longs, Mask
from ..errors import LimitError
from .base import Base, Relation, Tuples
from .clause import AT_LEAST, AT_MOST, BUILT_IN, DIFFERENT, EQUAL, LESS, MORE, Literal, Symbol


@dataclass(frozen=True, eq=False, slots=True)
class Bindings:
    """`columns` has the values of each variable, None if it is not bound yet; `owner` the query of each row."""

    owner: Longs
    columns: tuple[Longs | None, ...]

    def __len__(self) -> int:
        return len(self.owner)

    def take(self, rows: Longs | Mask) -> Bindings:
        """Return some of the `rows`."""
        return Bindings(self.owner[rows], tuple(None if c is None else c[rows] for c in self.columns))

    def values(self, argument: int) -> Longs | None:
        """Return the values of a variable, or of the entity ~`argument`; None if the variable is not bound."""
        if argument < 0:
            return np.full(len(self.owner), ~argument)
        return self.columns[argument] if argument < len(self.columns) else None


def begin(queries: Tuples) -> Bindings:
    """Return one row for each query, with the head variables bound."""
    return Bindings(np.arange(len(queries)), tuple(np.ascontiguousarray(c) for c in queries.T))


ORDERED = {LESS: np.less, AT_MOST: np.less_equal, AT_LEAST: np.greater_equal, MORE: np.greater}
NOTHING = Bindings(np.zeros(1, np.int64), ())
"""One row that binds nothing: the start of bodies that are evaluated for all entities."""


def extend(bindings: Bindings, literal: Literal, base: Base, relation: Relation, most: int) -> Bindings:
    """Return the rows of `bindings` in every way that satisfies the literal.

    Args:
        bindings: The rows so far.
        literal: The literal to add. If it is negated or built in, the variables it shares with others must be bound.
        base: Has the numbers that comparisons need.
        relation: The tuples of the literal's predicate.
        most: More rows raise LimitError.
    """
    if literal.symbol in BUILT_IN:
        return bindings.take(compared(bindings, literal, base))
    columns = [bindings.values(a) for a in literal.args]
    bound = tuple(i for i, column in enumerate(columns) if column is not None)
    known = [column for column in columns if column is not None]
    if literal.negated or len(bound) == len(columns):
        holds = relation.contains(known, bound)
        if not bound:
            holds = np.repeat(holds, len(bindings))
        return bindings.take(holds != literal.negated)
    return _expanded(bindings, literal.args, relation, bound, known, most)


def _expanded(
    bindings: Bindings, args: Sequence[int], relation: Relation, bound: tuple[int, ...], known: list[Longs], most: int
) -> Bindings:
    """Join with the tuples that agree in the arguments `bound`; the others bind variables."""
    if bound:
        first, counts = relation.count(known, bound)
    else:
        first, counts = np.zeros(len(bindings), np.int64), np.full(len(bindings), len(relation))
    total = int(counts.sum())
    if total > most:
        raise LimitError(f"a clause has more than {most:,} ways to be satisfied")
    if bound:
        found = relation.matches(bound, first, counts)
    else:
        found = np.tile(relation.rows, (len(bindings), 1))
    rows = bindings.take(np.repeat(np.arange(len(bindings)), counts))
    values: list[Longs | None] = [*rows.columns]
    keep: Mask | None = None
    for i, argument in enumerate(args):
        if i in bound:
            continue
        values += [None] * (argument + 1 - len(values))
        column = values[argument]
        if column is None:
            values[argument] = np.ascontiguousarray(found[:, i])
        else:  # the variable occurs twice in this literal
            same = column == found[:, i]
            keep = same if keep is None else keep & same
    rows = Bindings(rows.owner, tuple(values))
    return rows if keep is None else rows.take(keep)


def compared(bindings: Bindings, literal: Literal, base: Base) -> Mask:
    """Return for which rows of `bindings` a built-in literal holds."""
    left, right = (bindings.values(a) for a in literal.args)
    assert left is not None
    assert right is not None
    return _compare(literal.symbol, left, right, base) != literal.negated


def _compare(symbol: Symbol, left: Longs, right: Longs, base: Base) -> Mask:
    if symbol in (EQUAL, DIFFERENT):
        return (left == right) == (symbol == EQUAL)
    a, b = base.numbers[left], base.numbers[right]
    with np.errstate(invalid="ignore"):
        result: Mask = ORDERED[symbol](a, b)
    return result
