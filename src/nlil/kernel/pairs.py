"""Pairs: for which pairs of entities each statement holds, as bits or as sorted keys, cached within a budget.

`evaluator` determines the base and the device; of `rule`, only `distinct` matters for the truth of a `statement`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from ..data.arrays import Longs, Mask
from ..logic.formula import And, Formula, Not, Or, Statement
from ..logic.rule import Rule
from .array_cache import ArrayCache, TooLarge
from .bodies import ANY_NODE, X_NODE, Y_NODE, Line
from .compiled import compiled
from .evaluator import Evaluator, given_queries, is_guarded, walk_from_x
from .frontier import Queries, Rows
from .graph import Graph
from .hidden import Hidden

MOST_PAIRS = 2**26
"""Limit of the pairs that are stored as bits; beyond it, combining sorted keys is cheaper."""
STATEMENTS = 64
"""The memory budget should hold the answers of at least this many statements; larger answers are not cached."""


def combined(formula: Formula, leaf: Callable[[Statement], np.ndarray], true: Any) -> np.ndarray:
    """Return the truth of `formula` over arrays of truth values or of words, which broadcast.

    `leaf` returns the array of a statement; `true` is one true element.
    """
    match formula:
        case Statement():
            return leaf(formula)
        case Not(argument):
            return ~combined(argument, leaf, true)
        case And(arguments) | Or(arguments):
            join = np.bitwise_and if isinstance(formula, And) else np.bitwise_or
            value = combined(arguments[0], leaf, true)
            for argument in arguments[1:]:
                value = join(value, combined(argument, leaf, true))
            return value
        case _:
            return np.asarray(true)


class Pairs:
    """For which pairs (x, y) each statement holds, with nothing hidden. The same for every head p(X, Y)."""

    def __init__(self, evaluator: Evaluator) -> None:
        self.evaluator = evaluator
        self.n = evaluator.kb.num_entities
        self.as_bits = self.n**2 <= min(MOST_PAIRS, 8 * evaluator.memory // STATEMENTS)
        self.cache = ArrayCache(evaluator.memory // 4)
        self.everything = torch.arange(self.n, device=evaluator.device)

    def at(self, rule: Rule, statement: Statement, x: Longs, y: Longs) -> Mask:
        """Return whether the statement holds for each pair; `x` and `y` are columns of entity ids."""
        line = Line.of(self.evaluator.kb, statement)
        if not (line.uses_x and line.uses_y):
            return self._side(rule, statement, line)[y if line.uses_y else x]
        if self.as_bits:
            return look_up(self.words(rule, statement), x, y)
        return among(x * self.n + y, self.keys(rule, statement))

    def words(self, rule: Rule, statement: Statement) -> Words:
        """Return the truth for all pairs as bits: (n, words), or an array that broadcasts to it."""
        line = Line.of(self.evaluator.kb, statement)
        if not (line.uses_x and line.uses_y):
            side = self._side(rule, statement, line)
            return pack(side[None, :]) if line.uses_y else whole_rows(side)

        def make() -> Words:
            parts = [np.zeros((0, -(-self.n // 64)), np.uint64)]
            for block, rows in self._walk(rule, statement):
                truth = np.zeros((block.stop - block.start, self.n), bool)
                truth[rows.query.cpu().numpy(), rows.node.cpu().numpy()] = True
                parts.append(pack(truth))
            return np.concatenate(parts)

        return self.cache.get((statement, rule.distinct), make)

    def keys(self, rule: Rule, statement: Statement) -> Longs:
        """Return x * n + y of the pairs for which a statement over both sides holds, ascending."""

        def make() -> Longs:
            parts, room = [np.zeros(0, np.int64)], self.evaluator.memory // (8 * STATEMENTS)
            for block, rows in self._walk(rule, statement):
                room -= len(rows.query)
                if room < 0:
                    raise TooLarge
                parts.append(((rows.query + block.start) * self.n + rows.node).cpu().numpy())
            return np.unique(np.concatenate(parts))

        return self.cache.get((statement, rule.distinct), make)

    def reached(self, rule: Rule, formula: Formula) -> Longs:
        """Return keys of pairs that include all answers of the guarded `formula`."""
        match formula:
            case Statement():
                return self.keys(rule, formula)
            case And(arguments):
                guards = [a for a in arguments if is_guarded(self.evaluator, a)]
                return min((self.reached(rule, a) for a in guards), key=len)
            case Or(arguments):
                return np.unique(np.concatenate([self.reached(rule, a) for a in arguments]))
            case _:
                raise AssertionError("is_guarded admits only statements at the leaves")

    def _side(self, rule: Rule, statement: Statement, line: Line) -> Mask:
        """Return the truth of a statement over one side for each entity there; over neither, for each x."""

        def make() -> Mask:
            members = None if rule.distinct else line_members(self.evaluator, line)
            if members is not None:
                return members
            queries = given_queries(self.evaluator, self.everything, Y_NODE if line.uses_y else X_NODE)
            return truth_of(self.evaluator, rule, line, queries, None)

        return self.cache.get((statement, rule.distinct), make)

    def _walk(self, rule: Rule, statement: Statement) -> Iterator[tuple[slice, Rows]]:
        def run(low: int, high: int) -> Rows:
            queries = given_queries(self.evaluator, self.everything[low:high])
            return walk_from_x(self.evaluator, rule, statement, queries)

        return self.evaluator.blocks(rule, self.n, self.evaluator.max_rows, run)


def truth_of(evaluator: Evaluator, rule: Rule, line: Line, queries: Queries, hidden: Hidden | None) -> Mask:
    """Return for which of `queries` the `line` holds; `hidden` is what they may not see (None: nothing)."""
    return (evaluator.statement_value(rule.distinct, line, queries, hidden, rule) > 0).cpu().numpy()


def line_members(evaluator: Evaluator, line: Line) -> Mask | None:
    """Return for which values of its one variable `line` holds, ignoring weights.

    Returns None if the line does not have exactly one variable end, or if the path of a walk matters. A walk keeps the
    starts apart, which a truth value does not need: moving one set from the far end back to the variable takes one pass
    over the edges of each step. Body variables may coincide, so this is not exact under `distinct`.
    """
    kb = evaluator.kb.crisp
    graph = Graph.of(kb)
    if line.equal is not None or evaluator.crosses:
        return None
    variables = [end in (X_NODE, Y_NODE) for end in (line.anchors[0], line.anchors[-1])]
    if len(line.anchors) == 1:
        return _filtered(graph, np.ones(kb.num_entities, bool), line.filters[0]) if variables[0] else None
    if variables[0] == variables[1]:
        return None
    if variables[1]:
        line = line.reversed()
    far = line.anchors[-1]
    reached = np.full(kb.num_entities, far == ANY_NODE)
    if far != ANY_NODE:
        reached[far] = True
    reached = _filtered(graph, reached, line.filters[-1])
    for code, filters in zip(line.codes[::-1], line.filters[-2::-1]):
        node, edge = graph.edges_along(code)
        before = np.zeros_like(reached)
        before[node[reached[graph.neighbour[edge]]]] = True
        reached = _filtered(graph, before, filters)
    return reached


def _filtered(graph: Graph, entities: Mask, filters: tuple[int, ...]) -> Mask:
    for predicate in filters:
        kept = np.zeros_like(entities)
        members = graph.members(predicate)
        kept[members] = entities[members]
        entities = kept
    return entities


def among(wanted: Longs, keys: Longs) -> Mask:
    """Return which of `wanted` are among the ascending `keys`."""
    if not len(keys):
        return np.zeros(len(wanted), bool)
    place = np.searchsorted(keys, wanted)
    return keys[np.minimum(place, len(keys) - 1)] == wanted


# bits: one row per subject, 64 objects per word; and, or, not work on whole words ---------------------------

Words = NDArray[np.uint64]
ALL = np.uint64(2**64 - 1)
NONE = np.uint64(0)


def pack(mask: Mask) -> Words:
    """Return the (..., n) truth values of `mask` as (..., ceil(n / 64)) words; the unused bits are 0."""
    n = mask.shape[-1]
    num_words = -(-n // 64)
    packed = np.zeros((*mask.shape[:-1], 8 * num_words), np.uint8)
    packed[..., : -(-n // 8)] = np.packbits(mask, axis=-1, bitorder="little")
    return packed.view("<u8").astype(np.uint64, copy=False)


def whole_rows(mask: Mask) -> Words:
    """Return the n truth values of `mask` as (n, 1) words of all ones or all zeros, one per subject."""
    return np.where(mask, ALL, NONE)[:, None]


def look_up(words: Words, row: Longs, column: Longs) -> Mask:
    """Return the bits of `words` at each (row, column)."""
    return (words[row, column >> 6] >> (column & 63).astype(np.uint64)) & np.uint64(1) != 0


@compiled
def row_counts(words: np.ndarray) -> np.ndarray:
    """Count the ones in each row of `words`."""
    counts = np.zeros(words.shape[0], np.int64)
    for i in range(words.shape[0]):
        total = np.int64(0)
        for j in range(words.shape[1]):
            # Population count: sum bits in pairs, then fours, then bytes, which the product adds up.
            word = words[i, j]
            word = word - ((word >> np.uint64(1)) & np.uint64(0x5555555555555555))
            word = (word & np.uint64(0x3333333333333333)) + ((word >> np.uint64(2)) & np.uint64(0x3333333333333333))
            word = (word + (word >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
            total += np.int64((word * np.uint64(0x0101010101010101)) >> np.uint64(56))
        counts[i] = total
    return counts
