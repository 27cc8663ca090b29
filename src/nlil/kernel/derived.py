"""Derived facts, beside those of the graph: sorted edges in levels, each more than twice as long as the next one.

Adding a few facts takes time proportional to their number, however many there are. Compiled loops take the levels as
one argument.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs, Mask, run_starts
from ..data.facts import NO_OBJECT
from ..errors import LimitError
from .bodies import group_keys
from .compiled import compiled
from .graph import first_at_least


def refuse_more(size: int, max_facts: int | None) -> None:
    """Raise LimitError if `size` is more than `max_facts`; None: no limit."""
    if max_facts is not None and size > max_facts:
        raise LimitError(f"the rules derive more than {max_facts:,} facts; leave out those that derive too much")


class FoundFacts(NamedTuple):
    """Facts by column, each with a `confidence`.

    `predicate`, `subject` and `object` are ids; the object of a unary fact is NO_OBJECT.
    """

    predicate: np.ndarray
    subject: np.ndarray
    object: np.ndarray
    confidence: Doubles

    @classmethod
    def none(cls) -> FoundFacts:
        """Return an empty list of facts."""
        nothing = np.zeros(0, np.int64)
        return cls(nothing, nothing, nothing, np.zeros(0))

    @classmethod
    def join(cls, parts: list[FoundFacts]) -> FoundFacts:
        """Join `parts` in order; at least one."""
        return parts[0] if len(parts) == 1 else cls(*map(np.concatenate, zip(*parts)))

    @classmethod
    def gather(cls, parts: Iterable[FoundFacts], max_facts: int | None = None) -> FoundFacts:
        """Return the distinct facts of `parts`, each with its best confidence; refuse more than `max_facts`."""
        result, waiting, size = cls.none(), list[FoundFacts](), 0
        for part in parts:
            waiting.append(part)
            size += part.size
            # Merge when the parts have grown as large as the result: the work stays proportional to the number of
            # facts.
            if size > result.size or (max_facts is not None and size + result.size > max_facts):
                result, waiting, size = cls.join([result, *waiting]).best(), [], 0
                refuse_more(result.size, max_facts)
        return cls.join([result, *waiting]).best() if size else result

    @property
    def size(self) -> int:
        """A NamedTuple's own len is its number of columns."""
        return len(self.predicate)

    def take(self, rows: np.ndarray) -> FoundFacts:
        """Return the facts of the given rows (numbers or a mask)."""
        return FoundFacts(*(column[rows] for column in self))

    def best(self) -> FoundFacts:
        """Return the distinct facts, sorted, each with its best confidence."""
        return self.take(strongest(group_keys([self.predicate, self.subject, self.object]), self.confidence))


def strongest(key: Longs, confidence: Doubles) -> Longs:
    """Return the row of the highest `confidence` for each `key`, keys ascending."""
    order = np.lexsort((-confidence, key))
    return order[run_starts(key[order])]


def directed(facts: FoundFacts) -> tuple[Longs, Longs, Longs, Doubles]:
    """Return (code, node, neighbour, confidence) of `facts`: binary ones in both directions, unary ones as loops."""
    predicate, subject, object_ = (np.asarray(column, np.int64) for column in facts[:3])
    two = object_ != NO_OBJECT
    return (
        np.concatenate((2 * predicate, 2 * predicate[two] + 1)),
        np.concatenate((subject, object_[two])),
        np.concatenate((np.where(two, object_, subject), subject[two])),
        np.concatenate((facts.confidence, facts.confidence[two])),
    )


class Levels(NamedTuple):
    """`directed` edges: level i is pointer[i] .. pointer[i + 1], sorted by (code * entities + node, neighbour).

    `key` is code * entities + node of each edge; `neighbour` and `confidence` belong to the same edge.
    """

    pointer: Longs
    key: Longs
    neighbour: Longs
    confidence: Doubles


class DerivedFacts:
    """Derived facts, each with its best confidence so far.

    Args:
        num_entities: the number of entities of the base.
        is_unary: which predicates are unary.
    """

    def __init__(self, num_entities: int, is_unary: Mask) -> None:
        self.num_entities, self.is_unary = num_entities, is_unary
        self.pointer = [0]
        self.columns: tuple[np.ndarray, ...] = (np.zeros(0, np.int64), np.zeros(0, np.int64), np.zeros(0))

    @property
    def levels(self) -> Levels:
        """The facts as a NamedTuple for compiled loops; valid until the next `put`."""
        return Levels(np.array(self.pointer), *(column[: self.pointer[-1]] for column in self.columns))

    def __getstate__(self) -> dict[str, Any]:
        """Copy the used part of the arrays: `put` writes into them, so two objects must not share them."""
        return self.__dict__ | {"columns": tuple(column[: self.pointer[-1]].copy() for column in self.columns)}

    def put(self, facts: FoundFacts) -> None:
        """Add facts. A weaker copy of a fact may stay beside it; lookups take the stronger one."""
        code, node, neighbour, confidence = directed(facts)
        new = _sorted(code * self.num_entities + node, neighbour, confidence)
        while len(self.pointer) > 1 and self.pointer[-1] - self.pointer[-2] <= 2 * len(new[0]):
            end = self.pointer.pop()
            last = (column[self.pointer[-1] : end] for column in self.columns)
            new = _sorted(*map(np.concatenate, zip(last, new)))
        begin, end = self.pointer[-1], self.pointer[-1] + len(new[0])
        if end > len(self.columns[0]):
            self.columns = tuple(np.concatenate((c[:begin], np.zeros(2 * end - begin, c.dtype))) for c in self.columns)
        for column, values in zip(self.columns, new):
            column[begin:end] = values
        self.pointer.append(end)

    def facts(self) -> FoundFacts:
        """Return all facts, sorted, each with its best confidence."""
        key, neighbour, confidence = _sorted(*self.levels[1:])
        code, node = np.divmod(key, max(self.num_entities, 1))
        object_ = np.where(self.is_unary[code >> 1], NO_OBJECT, neighbour)
        return FoundFacts(code >> 1, node, object_, confidence).take(code & 1 == 0)


def _sorted(key: Longs, neighbour: Longs, confidence: Doubles) -> tuple[Longs, Longs, Doubles]:
    """Sort by key and neighbour, and keep each edge once with its best confidence."""
    order = np.lexsort((neighbour, key))
    key, neighbour, confidence = key[order], neighbour[order], confidence[order]
    is_first = run_starts(key, neighbour)
    if is_first.all():
        return key, neighbour, confidence
    first = np.flatnonzero(is_first)
    return key[first], neighbour[first], np.maximum.reduceat(confidence, first)


@compiled
def level_span(levels: Levels, level: int, key: int) -> tuple[int, int]:
    """Return the range of the edges of `key` in one `level` of `levels`."""
    end = levels.pointer[level + 1]
    low = first_at_least(levels.key, levels.pointer[level], end, key)
    if low == end or levels.key[low] != key:
        return low, low
    return low, first_at_least(levels.key, low, end, key + 1)


@compiled
def derived_confidence(levels: Levels, key: int, neighbour: int) -> float:
    """Return the best confidence with which the edge (`key`, `neighbour`) of `levels` was derived, or 0."""
    best = 0.0
    for level in range(len(levels.pointer) - 1):
        low, high = level_span(levels, level, key)
        place = first_at_least(levels.neighbour, low, high, neighbour)
        if place < high and levels.neighbour[place] == neighbour:
            best = max(best, levels.confidence[place])
    return best
