"""Conjunctions of literals over patterns: patterns of one line that must hold, and others that must not.

`held` is (objects, patterns), which pattern holds for which object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
from scipy import sparse

from ..data.arrays import Ids, Mask
from ..kernel.bodies import AND, NOT, Bodies

MAX_ATOMS = 6
"""Limit of a body."""

Literals = tuple[int, ...]
"""Lines that must hold, at least one; ~line for a line that must not hold."""


def line_of(literal: int) -> int:
    """Return the line of a `literal`."""
    return max(literal, ~literal)


def in_order(literals: Iterable[int]) -> Literals:
    """Return the `literals` in the order of reading: those that must hold first, by line."""
    return tuple(sorted(literals, key=lambda one: (one < 0, line_of(one))))


def num_lines(bodies: Bodies) -> int:
    """Return how many of the `bodies` are single lines; they come first."""
    return int(np.searchsorted(-(bodies.line >= 0).astype(int), 0))


def literals_of(bodies: Bodies, body: int) -> Literals:
    """Return the literals of a `body` of `bodies` that is a conjunction of lines and negated lines."""
    found: list[int] = []
    for op in bodies.program(body):
        if op >= 0:
            found.append(op)
        elif op == NOT:
            found[-1] = ~found[-1]
    return tuple(found)


def program_of(literals: Literals) -> list[int]:
    """Return the postfix program of the conjunction of `literals`.

    >>> program_of((3, ~5)) == [3, 5, NOT, AND]
    True
    """
    program: list[int] = []
    for place, literal in enumerate(literals):
        program += [literal] if literal >= 0 else [~literal, NOT]
        program += [AND] if place else []
    return program


def rows_of(held: sparse.csc_array, bodies: Iterable[Literals]) -> Iterator[Ids]:
    """Yield the objects for which each of the conjunctions `bodies` holds, ascending.

    >>> held = sparse.csc_array(np.array([[1, 1], [1, 0], [0, 1]], bool))
    >>> [rows.tolist() for rows in rows_of(held, [(0, 1), (0, ~1), (~0, 1)])]
    [[0], [1], [2]]
    """
    marked = np.zeros(held.shape[0], bool)
    for literals in bodies:
        first, *others = sorted(literals, key=lambda one: one < 0)  # the first one must hold
        found = _column(held, first)
        for one in others:
            there = _column(held, line_of(one))
            marked[there] = True
            found = found[marked[found] == (one >= 0)]
            marked[there] = False
        yield found


def _column(held: sparse.csc_array, line: int) -> Ids:
    return held.indices[held.indptr[line] : held.indptr[line + 1]]


def holds_for(held: sparse.csc_array, literals: Literals) -> Mask:
    """Return for which objects the conjunction of `literals` holds."""
    mask = np.zeros(held.shape[0], bool)
    mask[next(rows_of(held, [literals]))] = True
    return mask
