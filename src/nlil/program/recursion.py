"""Recursive clauses: which goals lead to which sub-goals, and what follows if other clauses cover some of them.

A recursive clause is followed from the examples to sub-goals, and from these to further ones, until no new goal
appears. No facts of the target are needed: a goal holds if another clause covers it, or if all sub-goals of one way to
satisfy a recursive clause hold. This is computed for all candidates of the other clauses at once, one bit each.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import product

import numpy as np
from numpy.typing import NDArray

from ..data.arrays import Longs, Mask
from ..errors import LimitError
from .base import Base, Tuples, row_keys
from .clause import Clause, Literal, Symbol
from .joins import Bindings, begin, extend
from .refinement import LOCAL, MAX_ROWS, BoundBody, fingerprint

Bits = NDArray[np.uint64]
MAX_GOALS = 4_000
"""Limit of the goals that are followed; a clause that leads to more is dropped."""


class Goals:
    """Tuples of the target by number: the `examples` first, in order, then the sub-goals found."""

    def __init__(self, examples: Tuples, num_entities: int) -> None:
        self._number: dict[int, int] = {}
        self._parts: list[Tuples] = []
        self._num_entities = num_entities
        self.numbers(examples)

    def __len__(self) -> int:
        return len(self._number)

    @property
    def rows(self) -> Tuples:
        """Every goal, by number."""
        return np.concatenate(self._parts)

    def numbers(self, rows: Tuples) -> Longs:
        """Return the number of each of `rows`; new ones get new numbers."""
        keys = row_keys(list(rows.T), self._num_entities)
        before = len(self._number)
        number = self._number
        found = np.array([number.setdefault(key, len(number)) for key in keys.tolist()], np.int64)
        if len(number) > before:
            new, first = np.unique(found, return_index=True)
            self._parts.append(rows[first[new >= before]])
        return found


class Recursive:
    """A recursive `clause` and where it leads: the goal `source`[i] holds if all goals `subgoals`[i] do."""

    def __init__(self, clause: Clause, source: Longs, subgoals: Tuples) -> None:
        self.clause = clause
        joined = np.unique(np.column_stack((source, subgoals)), axis=0)
        joined = joined[(joined[:, 1:] != joined[:, :1]).all(axis=1)]
        self.source, self.subgoals = joined[:, 0], joined[:, 1:]


def recursive_literals(target: Symbol, types: Sequence[int], wanted: Sequence[int]) -> Iterator[Literal]:
    """Yield the atoms of the `target` over bound variables, which have these `types`, but not the head itself.

    `wanted` are the types of the arguments of the target.
    """
    choices = [[v for v, t in enumerate(types) if t == of and t != LOCAL] for of in wanted]
    head = tuple(range(target.arity))
    yield from (Literal(target, args) for args in product(*choices) if args != head)


def subgoals_of(bindings: Bindings, literals: Sequence[Literal], goals: Goals) -> tuple[Longs, Tuples]:
    """Return the owner and the numbers of the sub-goals, the `literals` of the target, for each row of `bindings`."""
    found = []
    for literal in literals:
        columns = [bindings.values(a) for a in literal.args]
        found.append(goals.numbers(np.column_stack([c for c in columns if c is not None])))
    return bindings.owner, np.column_stack(found)


class Follower:
    """Follows a recursive `clause` over `goals`, which may be shared; `node` is the rest of its body on examples."""

    def __init__(self, clause: Clause, base: Base, goals: Goals, node: BoundBody) -> None:
        self.clause, self._base, self._goals = clause, base, goals
        self._own = [literal for literal in clause.body if literal.symbol == clause.head.symbol]
        self._others = [literal for literal in clause.body if literal.symbol != clause.head.symbol]
        self._done = len(node.covered)
        source, subgoals = subgoals_of(node.bindings, self._own, goals)
        self._sources, self._subgoals = [source], [subgoals]

    def follow(self) -> bool:
        """Take one step from the new goals; return whether there were any."""
        if self._done == len(self._goals):
            return False
        if len(self._goals) > MAX_GOALS:
            raise LimitError(f"more than {MAX_GOALS:,} sub-goals")
        new, self._done = np.arange(self._done, len(self._goals)), len(self._goals)
        bindings = begin(self._goals.rows[new])
        for literal in self._others:
            bindings = extend(bindings, literal, self._base, self._base.relation(literal.symbol), MAX_ROWS)
        owner, found = subgoals_of(bindings, self._own, self._goals)
        self._sources.append(new[owner])
        self._subgoals.append(found)
        return True

    @property
    def steps(self) -> Recursive:
        """Return where the clause leads from the goals so far."""
        return Recursive(self.clause, np.concatenate(self._sources), np.concatenate(self._subgoals))


def follow_all(followers: Sequence[Follower]) -> None:
    """Follow the clauses of `followers` over their shared goals until there are no new ones.

    Raises LimitError if there are too many.
    """
    while sum(one.follow() for one in followers):
        pass


def consequences(holds: Bits, recursive: Sequence[Recursive]) -> Bits:
    """Return which goals hold in the least fixpoint, in every column separately.

    `holds` has a row for each goal: the bits of the candidates that cover it. `recursive` are the clauses to apply.
    """
    holds = holds.copy()
    plans = [_by_source(one) for one in recursive if len(one.source)]
    changed = True
    while changed:
        changed = False
        for subgoals, goals, first in plans:
            reached = np.bitwise_and.reduce(holds[subgoals], axis=1) if subgoals.shape[1] > 1 else holds[subgoals[:, 0]]
            reached = np.bitwise_or.reduceat(reached, first, axis=0)
            before = holds[goals]
            after = before | reached
            if (after != before).any():
                holds[goals] = after
                changed = True
    return holds


def _by_source(one: Recursive) -> tuple[Tuples, Longs, Longs]:
    goals, first = np.unique(one.source, return_index=True)
    return one.subgoals, goals, first


def packed(covered: Sequence[Mask]) -> Bits:
    """Return the masks `covered` of candidates as bits: a row for each goal, a bit for each candidate."""
    matrix = np.array(covered, bool).T
    padded = np.zeros((matrix.shape[0], -(-matrix.shape[1] // 64) * 64), bool)
    padded[:, : matrix.shape[1]] = matrix
    return np.packbits(padded, axis=1, bitorder="little").view(np.uint64)


def unpacked(bits: Bits, count: int) -> NDArray[np.bool_]:
    """Return the masks of the first `count` candidates of `bits`: a row for each candidate, a column for each goal."""
    return np.unpackbits(bits.view(np.uint8), axis=1, bitorder="little")[:, :count].T.astype(bool)


def mark_of(source: Longs, columns: Sequence[Longs]) -> int:
    """Return a hash that two clauses share if they lead from each `source` to the same sub-goals, the `columns`."""
    pairs = np.unique(np.column_stack((source, *columns)), axis=0)
    return fingerprint(Bindings(pairs[:, 0], tuple(pairs.T[1:])), 0)


class Examples:
    """The examples, `num_positive` positive ones first, to look sub-goals up: +1, -1 if negative, 0 for others."""

    def __init__(self, rows: Tuples, num_positive: int, num_entities: int) -> None:
        self._num_entities = num_entities
        keys = row_keys(list(rows.T), num_entities)
        order = np.argsort(keys, kind="stable")
        self.keys, self._label = keys[order], np.where(order < num_positive, 1, -1)
        self._own = keys

    def steps(self, node: BoundBody, literal: Literal) -> tuple[Longs, Longs, Longs]:
        """Return owner, key and label of the sub-goals of a `literal` of the target, without steps to the same goal.

        `node` is the rest of the body, evaluated on the examples.
        """
        columns = [node.bindings.values(a) for a in literal.args]
        keys = row_keys([c for c in columns if c is not None], self._num_entities)
        owner = node.bindings.owner
        moves = keys != self._own[owner]
        owner, keys = owner[moves], keys[moves]
        place = np.minimum(np.searchsorted(self.keys, keys), len(self.keys) - 1)
        return owner, keys, np.where(self.keys[place] == keys, self._label[place], 0)
