"""Conjunctions of lines, without the parts that change no count.

`leaf(X) :- on(X, Z1), on(X, Z2), tree(Z2)` holds for the same objects without its first line. Parts are left out one by
one: literals first, longest first, then atoms of lines, if what is left of the line is a pattern too.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..data.arrays import Ids
from ..kernel.bodies import ANY_NODE, NO_STEP, Bodies, Lines, unary_mask
from .literals import Literals, holds_for, in_order, line_of, literals_of, num_lines, program_of
from .patterns import Patterns


class LeanLiterals:
    """Leaves out what changes no count, over the objects of `patterns`."""

    def __init__(self, patterns: Patterns) -> None:
        self.held, self.is_unary = patterns.held.tocsc(), unary_mask(patterns.kb.predicates)
        self.lines: Lines = patterns.bodies.lines
        self.atoms = self.lines.lengths.astype(np.int64)
        self.number = {self._key(line): line for line in range(num_lines(patterns.bodies))}
        self.packed: dict[int, np.ndarray] = {}

    def _key(self, line: int) -> tuple[int, ...]:
        return int(self.lines.start[line]), *(s for s in self.lines.steps[line].tolist() if s != NO_STEP)

    def holds(self, literals: Sequence[int]) -> np.ndarray:
        """Return the objects for which all `literals` hold, as packed bits."""
        for line in map(line_of, literals):
            if line not in self.packed:
                self.packed[line] = np.packbits(holds_for(self.held, (line,)))
        sides = [self.packed[line_of(one)] if one >= 0 else ~self.packed[line_of(one)] for one in literals]
        return np.asarray(np.bitwise_and.reduce(sides))

    def rows(self, literals: Sequence[int]) -> Ids:
        """Return the positions of the objects for which all `literals` hold, ascending."""
        return np.flatnonzero(np.unpackbits(self.holds(literals), count=self.held.shape[0])).astype(np.int32)

    def shorter(self, line: int) -> Iterator[int]:
        """Yield the lines that are `line` without a unary predicate or without its last step."""
        start, *steps = self._key(line)
        last_is_free = self.lines.end[line] == ANY_NODE
        for i, step in enumerate(steps):
            if self.is_unary[step >> 1] or (last_is_free and i == len(steps) - 1):
                found = self.number.get((start, *steps[:i], *steps[i + 1 :]))
                if found is not None:
                    yield found

    def lean_disjunction(self, parts: Sequence[Literals]) -> tuple[Literals, ...]:
        """Return the disjunction of `parts` without the parts, literals and atoms that change no count."""
        kept = list(dict.fromkeys(parts))
        for part in tuple(kept):
            rest = [other for other in kept if other != part]
            beside = np.bitwise_or.reduce([self.holds(other) for other in rest]) if rest else None
            if beside is not None and not (self.holds(part) & ~beside).any():
                kept = rest
            else:
                kept[kept.index(part)] = self.lean(part, beside)
        return tuple(kept)

    def lean(self, literals: Literals, beside: np.ndarray | None = None) -> Literals:
        """Return `literals` without the parts that change no count; at least one of them must hold.

        Objects `beside`, as packed bits, do not matter: another disjunct holds for them.
        """
        matters = np.uint8(255) if beside is None else ~beside
        value = self.holds(literals) & matters

        def is_same(other: Literals) -> bool:
            return np.array_equal(self.holds(other) & matters, value)

        for one in sorted(literals, key=lambda one: -self.atoms[line_of(one)]):
            rest = tuple(other for other in literals if other != one)
            if max(rest, default=-1) >= 0 and is_same(rest):
                literals = rest
        while True:
            options = (
                (*literals[:i], less if one >= 0 else ~less, *literals[i + 1 :])
                for i, one in enumerate(literals)
                for less in self.shorter(line_of(one))
            )
            same = next(filter(is_same, options), None)
            if same is None:
                return in_order(literals)
            literals = same


def with_literals(patterns: Patterns, bodies: Sequence[Literals]) -> tuple[Patterns, Ids]:
    """Return the `patterns` followed by the conjunctions `bodies` that are new, and the number of each of the `bodies`.

    What changes no count is left out first, so that a body may be a pattern already.
    """
    known = {in_order(literals_of(patterns.bodies, body)): body for body in _conjunctions(patterns.bodies)}
    leaner, size = LeanLiterals(patterns), len(patterns)
    new: list[Literals] = []
    number = np.zeros(len(bodies), np.int32)
    for i, literals in enumerate(bodies):
        found = leaner.lean(literals)
        if len(found) > 1 and found not in known:
            known[found] = size + len(new)
            new.append(found)
        number[i] = known[found] if len(found) > 1 else found[0]
    return patterns.with_programs([program_of(one) for one in new], [leaner.rows(one) for one in new]), number


def _conjunctions(bodies: Bodies) -> list[int]:
    """Return the numbers of the bodies that are not single lines."""
    return np.flatnonzero(bodies.line < 0).tolist()
