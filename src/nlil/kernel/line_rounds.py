"""What rules whose bodies are lines derive, round by round, for all lines at once.

The first round walks the base (`LineRules.answers`). After it a line is only looked at from facts that are new or
stronger: a table has one row for each of them at each place of a line where it fits, and grows to both sides of that
place, step by step, for all lines together. A line is solved once for all rules that have it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask, ranges
from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from .bodies import NO_STEP, X_NODE, Y_NODE, Lines
from .counting import LineRules
from .graph import Graph
from .ruleset import FIRST, SECOND, RuleSet
from .store import FactKey

MOST_ROWS = 2**21
"""Rows of a table that are grown at once, as far as one row does not have more: bounds the memory."""
LINES = 256
"""Lines that are walked at once in the first round."""


def pair_keys(num_entities: int, subject: np.ndarray, object_: np.ndarray) -> Longs:
    """One number for each pair; the object of a unary fact is NO_OBJECT. 10^8 entities make numbers of 10^16."""
    return subject.astype(np.int64) * (num_entities + 1) + object_ + 1


class Edges(NamedTuple):
    """Derived facts as edges, sorted by code * entities + node. A unary fact leads from its entity to itself."""

    key: Longs
    neighbour: Longs
    confidence: Doubles

    @classmethod
    def of(cls, facts: Mapping[FactKey, float], num_entities: int) -> Edges:
        code, node, neighbour, confidence = directed(facts)
        return cls(code * num_entities + node, neighbour, confidence)._sorted()

    def _sorted(self) -> Edges:
        order = np.argsort(self.key, kind="stable")
        return Edges(self.key[order], self.neighbour[order], self.confidence[order])

    def merged(self, other: Edges) -> Edges:
        """Both together."""
        return Edges(
            np.concatenate((self.key, other.key)),
            np.concatenate((self.neighbour, other.neighbour)),
            np.concatenate((self.confidence, other.confidence)),
        )._sorted()


def directed(facts: Mapping[FactKey, float]) -> tuple[Longs, Longs, Longs, Doubles]:
    """(code, node, neighbour, confidence): a binary fact in both directions, a unary one from its entity to itself."""
    predicate, subject, object_ = np.array([*facts], np.int64).reshape(-1, 3).T
    confidence = np.fromiter(facts.values(), np.float64, len(facts))
    other = np.where(object_ == NO_OBJECT, subject, object_)
    two = object_ != NO_OBJECT
    return (
        np.concatenate((2 * predicate, 2 * predicate[two] + 1)),
        np.concatenate((subject, object_[two])),
        np.concatenate((other, subject[two])),
        np.concatenate((confidence, confidence[two])),
    )


class Table(NamedTuple):
    """Rows that grow: steps begin .. end of a line are done, from the node `left` to the node `right`.

    `nodes` has the entities at the nodes between them that must differ from others, else -1.
    """

    line: Longs
    begin: Longs
    end: Longs
    left: Longs
    right: Longs
    nodes: np.ndarray
    confidence: Doubles

    def take(self, rows: np.ndarray) -> Table:
        return Table(*(column[rows] for column in self))


class LineRounds:
    """Derives facts by the rules of a RuleSet whose bodies are lines, over the crisp facts of one graph.

    `taken` marks the rules that it knows; the others are left to joins.
    """

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, confidence: Doubles) -> None:
        self.rules, self.kb, self.confidence = rules, kb, confidence
        self.walked = LineRules(rules, kb, threads=1)
        self.taken: Mask = self.walked.is_chain | self.walked.is_entity
        self.graph, self.is_unary = Graph.of(kb), self.walked.is_unary
        self.lines: Lines = rules.bodies.lines
        rows = np.flatnonzero(self.taken)
        of_line = self.walked.line[rows]
        order = np.argsort(of_line, kind="stable")
        self.by_line = rows[order]
        self.pointer = np.searchsorted(of_line[order], np.arange(self.lines.num_lines + 1))
        self.steps, self.lengths = self.walked.steps, self.walked.lengths
        self.is_pair = (self.lines.start == X_NODE) & (self.lines.end == Y_NODE)
        self.is_constant = self._constant_nodes()
        self.unary_key = kb.unary.predicate.astype(np.int64) * kb.num_entities + kb.unary.subject
        self.known: dict[int, Longs] = {}
        self.derived: list[Edges] = []
        self._index_places(np.unique(of_line).astype(np.int64))

    def _constant_nodes(self) -> Mask:
        """(lines, nodes): whether a node of a line is the constant that it ends in; node i stands before step i."""
        steps = self.lines.steps
        moves = (steps != NO_STEP) & ~self.is_unary[steps >> 1]
        after = np.zeros((self.lines.num_lines, self.lines.width + 1), bool)
        after[:, :-1] = np.flip(np.logical_or.accumulate(np.flip(moves, 1), axis=1), 1)
        return ~after & (self.lines.end >= 0)[:, None]

    def _index_places(self, lines: Longs) -> None:
        """Sort the places where an edge can stand by (code, the constant that it must lead to)."""
        line, place = np.nonzero(self.steps[lines] != NO_STEP)
        line = lines[line]
        constant = np.where(self.is_constant[line, place + 1], self.lines.end[line], -1)
        key = self._place_key(self.steps[line, place], constant)
        order = np.argsort(key, kind="stable")
        self.place_key, self.place_line, self.place = key[order], line[order], place[order]

    def _place_key(self, code: Longs, constant: np.ndarray) -> Longs:
        return code * (self.kb.num_entities + 1) + constant + 1

    # rounds -----------------------------------------------------------------------------------------

    def first(self) -> Iterator[dict[FactKey, float]]:
        """What the rules derive from the facts of the base."""
        lines = np.flatnonzero(np.diff(self.pointer))
        for begin in range(0, len(lines), LINES):
            line, x, y = self.walked.answers(lines[begin : begin + LINES])
            yield from self._heads(line, x, y, np.ones(len(line)))

    def put(self, changes: Mapping[FactKey, float]) -> None:
        """Let facts be known from now on. One that was weaker stays beside itself: the stronger one wins anyhow."""
        new = Edges.of(changes, self.kb.num_entities)
        while self.derived and len(self.derived[-1].key) <= 2 * len(new.key):
            new = self.derived.pop().merged(new)
        self.derived.append(new)

    def from_facts(self, changes: Mapping[FactKey, float]) -> Iterator[dict[FactKey, float]]:
        """What the rules derive with one of these facts at some place; they must have been `put`."""
        code, node, neighbour, confidence = directed(changes)
        for constant in (np.full_like(neighbour, -1), neighbour):
            key = self._place_key(code, constant)
            low, high = np.searchsorted(self.place_key, key), np.searchsorted(self.place_key, key, side="right")
            for rows in _parts(high - low):
                size = (high - low)[rows]
                row, place = np.repeat(rows, size), ranges(low[rows], size)
                yield from self._solved(
                    self._started(self.place_line[place], self.place[place], node[row], neighbour[row], confidence[row])
                )

    def _started(self, line: Longs, place: Longs, node: Longs, neighbour: Longs, confidence: Doubles) -> Table:
        """Rows of one step each."""
        nodes = np.full((len(line), self.lines.width + 1), -1, np.int64)
        row = np.arange(len(line))
        ends = [np.where(self.is_constant[line, place + i], -1, (node, neighbour)[i]) for i in (0, 1)]
        nodes[row, place], nodes[row, place + 1] = ends
        is_loop = (ends[0] == ends[1]) & (ends[0] >= 0) & ~self.is_unary[self.steps[line, place] >> 1]
        table = Table(line, place, place + 1, node, neighbour, nodes, confidence)
        return table.take(~(is_loop & self.lines.distinct[line]))

    def _solved(self, table: Table) -> Iterator[dict[FactKey, float]]:
        """Grow the rows until their lines are whole."""
        growing = (table.end < self.lengths[table.line]) | (table.begin > 0)
        whole = table.take(~growing)
        if len(whole.line):
            yield from self._heads(
                whole.line, whole.left, np.where(self.is_pair[whole.line], whole.right, -1), whole.confidence
            )
        if growing.any():
            for part in self._grown(table.take(growing)):
                yield from self._solved(part)

    def _grown(self, table: Table) -> Iterator[Table]:
        """Every row by one step: to the right, or to the left where it is whole on the right."""
        forward = table.end < self.lengths[table.line]
        code = self.steps[table.line, np.where(forward, table.end, table.begin - 1)]
        unary = self.is_unary[code >> 1]
        code = np.where(forward | unary, code, code ^ 1)
        node = np.where(forward, table.right, table.left)
        size = self._num_edges(code, node, unary)
        for rows in _parts(size):
            row, neighbour, confidence = self._edges(code[rows], node[rows], unary[rows])
            yield self._extended(table.take(rows[row]), forward[rows[row]], unary[rows[row]], neighbour, confidence)

    def _extended(self, table: Table, forward: Mask, unary: Mask, neighbour: Longs, confidence: Doubles) -> Table:
        place = np.where(forward, table.end + 1, table.begin - 1)
        constant = self.is_constant[table.line, place]
        fits = ~constant | (neighbour == self.lines.end[table.line])
        is_new = ~unary & ~constant & self.lines.distinct[table.line]
        fits &= ~(is_new & (table.nodes == neighbour[:, None]).any(axis=1))
        table.nodes[np.arange(len(place)), place] = np.where(constant, -1, neighbour)
        return Table(
            table.line,
            np.where(forward, table.begin, place),
            np.where(forward, place, table.end),
            np.where(forward, table.left, neighbour),
            np.where(forward, neighbour, table.right),
            table.nodes,
            np.minimum(table.confidence, confidence),
        ).take(fits)

    # facts ------------------------------------------------------------------------------------------

    def _num_edges(self, code: Longs, node: Longs, unary: Mask) -> Longs:
        """How many edges, at most, `_edges` finds for each row."""
        low, high = self.graph.edges(node, code)
        size = np.where(unary, 1, high - low)
        for edges in self.derived:
            key = code * self.kb.num_entities + node
            size += np.searchsorted(edges.key, key, side="right") - np.searchsorted(edges.key, key)
        return size

    def _edges(self, code: Longs, node: Longs, unary: Mask) -> tuple[Longs, Longs, Doubles]:
        """(row, neighbour, confidence) of the edges of each node along its code, given and derived."""
        low, high = self.graph.edges(node, code)
        size = np.where(unary, 0, high - low)
        parts = [(np.repeat(np.arange(len(node)), size), self.graph.neighbour[ranges(low, size)].astype(np.int64))]
        if unary.any() and len(self.unary_key):
            key = (code >> 1) * self.kb.num_entities + node
            found = self.unary_key[np.searchsorted(self.unary_key, key).clip(max=len(self.unary_key) - 1)] == key
            row = np.flatnonzero(unary & found)
            parts.append((row, node[row]))
        confidence = [np.ones(len(row)) for row, _ in parts]
        key = code * self.kb.num_entities + node
        for edges in self.derived:
            low = np.searchsorted(edges.key, key)
            size = np.searchsorted(edges.key, key, side="right") - low
            place = ranges(low, size)
            parts.append((np.repeat(np.arange(len(node)), size), edges.neighbour[place]))
            confidence.append(edges.confidence[place])
        row, neighbour = (np.concatenate(column) for column in zip(*parts))
        return row, neighbour, np.concatenate(confidence)

    def _heads(self, line: Longs, x: Longs, y: Longs, confidence: Doubles) -> Iterator[dict[FactKey, float]]:
        """What the rules with these lines derive of the answers, the facts of the base left out."""
        rules = self.rules
        for rows in _parts(np.diff(self.pointer)[line]):
            size = np.diff(self.pointer)[line[rows]]
            row, rule = np.repeat(rows, size), self.by_line[ranges(self.pointer[line[rows]], size)]
            fixed, entity = rules.fixed[rule], rules.head_entity[rule].astype(np.int64)
            subject = np.where(fixed == FIRST, entity, x[row])
            object_ = np.where(fixed == SECOND, entity, np.where(fixed == FIRST, x[row], y[row]))
            yield self._best(rules.head[rule], subject, object_, confidence[row] * self.confidence[rule])

    def _best(self, target: Ids, subject: Longs, object_: Longs, confidence: Doubles) -> dict[FactKey, float]:
        """Each new fact with the best of its confidences."""
        found: dict[FactKey, float] = {}
        size = self.kb.num_entities
        order = np.argsort(target, kind="stable")
        begins = np.flatnonzero(np.diff(target[order], prepend=-1))
        for rows in np.split(order, begins[1:]) if len(order) else ():
            number = int(target[rows[0]])
            key = pair_keys(size, subject[rows], object_[rows])
            known = self._known(number)
            place = np.searchsorted(known, key)
            is_new = (known[place] != key) & (confidence[rows] > 0)
            key, value = key[is_new], confidence[rows[is_new]]
            best = np.lexsort((-value, key))
            best = best[np.flatnonzero(np.diff(key[best], prepend=-1))]
            pairs, values = key[best], value[best].tolist()
            subjects, objects = (pairs // (size + 1)).tolist(), (pairs % (size + 1) - 1).tolist()
            found |= {(number, s, o): v for s, o, v in zip(subjects, objects, values)}
        return found

    def _known(self, target: int) -> Longs:
        """The keys of the facts of a predicate, ascending, and one behind all others."""
        if target not in self.known:
            facts = self.kb.facts  # sorted by predicate, subject, object
            begin, end = np.searchsorted(facts.predicate, (target, target + 1))
            keys = pair_keys(self.kb.num_entities, facts.subject[begin:end], facts.object[begin:end])
            self.known[target] = np.append(keys, np.iinfo(np.int64).max)
        return self.known[target]


def _parts(size: Longs) -> Iterable[Longs]:
    """Rows whose sizes are not 0, in parts that sum to at most MOST_ROWS, or of one row."""
    rows = np.flatnonzero(size)
    total = np.cumsum(size[rows])
    begin = 0
    while begin < len(rows):
        done = total[begin - 1] if begin else 0
        end = max(int(np.searchsorted(total, done + MOST_ROWS, side="right")), begin + 1)
        yield rows[begin:end]
        begin = end
