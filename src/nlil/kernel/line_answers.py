"""LineAnswers: to what degree lines hold for a batch of queries. The compiled driver, for crisp and soft facts.

A query knows one head variable and may leave the other open: X in p(a, ?) and u(a), Y in p(?, a). A line may use both,
only the known one (one value per query), only the open one (one value per candidate), or neither. The result is an
array (queries, candidates), or one that broadcasts to it.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from .array_cache import ArrayCache
from .bodies import ANY_NODE, X_NODE, Y_NODE, Bodies
from .compiled import compiled
from .graph import Graph
from .hidden import HiddenFact
from .spread import spread
from .walk import Walked, WalkSpace

ANYWHERE = -1
"""Stands for any end of a line, or any graph."""
UNARY = -1
"""Stands for the code of a binary target."""


class LineAnswers:
    """The lines of some bodies, for queries of one target in one direction.

    Args:
        graph: the facts; the results are truth values if it is crisp, degrees of truth if it is soft.
        bodies: the bodies to evaluate.
        code: the step code of the target in the direction of the queries, or UNARY.
        known: the known entity of each query.
        hidden: the other end of its hidden fact, or -1.
        group: unary predicates that are hidden at the entity of a query.
        space: the scratch space of the calling thread.
        memory: bytes of the cache of answers.
    """

    def __init__(
        self,
        graph: Graph,
        bodies: Bodies,
        code: int,
        known: Ids,
        hidden: Ids,
        group: Mask,
        space: WalkSpace,
        memory: int,
    ) -> None:
        self.graph, self.bodies, self.code = graph, bodies, code
        self.known, self.hidden, self.group, self.space = known, hidden, group, space
        lines = bodies.lines
        backward = code != UNARY and code & 1
        self.known_node, self.open_node = (Y_NODE, X_NODE) if backward else (X_NODE, Y_NODE)
        self.may_hide = lines.names([*np.flatnonzero(group), *([] if code == UNARY else [code >> 1])])
        self.hides = hidden >= 0 if code != UNARY else np.full(len(known), bool(group.any()))
        self.walked = Walked.of(lines, graph.is_unary)
        of_query = graph.graph_numbers(known)
        self.number = np.full(len(known), ANYWHERE) if of_query is None else of_query
        self._nothing = np.full(len(known), -1, np.int32)
        self._cache = ArrayCache(memory)

    def body(self, number: int) -> np.ndarray:
        """Return the value of body `number`: its program over the values of its lines."""
        return self.bodies.degree(number, self.line, self.graph.is_crisp)

    def line(self, number: int) -> np.ndarray:
        """Return the value of line `number`."""
        return self._cache.get(number, lambda: self._value(number))

    def _value(self, number: int) -> np.ndarray:
        lines = self.bodies.lines
        value = self._line(number, int(lines.start[number]), int(lines.end[number]), bool(lines.distinct[number]))
        return value.astype(bool, copy=False) if self.graph.is_crisp else value

    def _line(self, line: int, start: int, end: int, distinct: bool) -> np.ndarray:
        """Return an array (queries, candidates), (queries, 1), (1, candidates) or (1, 1)."""
        if start == end == ANY_NODE and not self.walked.lengths[line]:
            return np.ones((1, 1))
        if distinct and self.walked.last_move[line] < 0 and {start, end} == {X_NODE, Y_NODE}:
            return np.zeros((1, 1))  # distinct variables are never equal
        if self.known_node in (start, end):
            return self._on_known(line, start, end, distinct)
        answer = self._on_open if self.open_node in (start, end) else self._on_neither
        whole = answer(line, start, end, distinct, -1)
        own = np.flatnonzero(self.hides) if self.may_hide[line] else self.known[:0]
        if not len(own):
            return whole
        whole = np.broadcast_to(whole, (len(self.known), whole.shape[1])).copy()
        for query in own.tolist():
            value = answer(line, start, end, distinct, query)
            whole[query] = value[query if len(value) > 1 else 0]
        return whole

    def _on_known(self, line: int, start: int, end: int, distinct: bool) -> np.ndarray:
        """Evaluate a line at the known variable.

        A value per query, or per query and candidate if it ends at the open one.
        """
        forward = start == self.known_node
        other = end if forward else start
        ends = self.known if other == self.known_node else np.full(len(self.known), max(other, ANYWHERE))
        own = (self.known, self.hidden) if self.may_hide[line] else (self._nothing, self._nothing)
        return self._walk(line, forward, distinct, False, self.known, ends, self.number, own, other == self.open_node)

    def _on_open(self, line: int, start: int, end: int, distinct: bool, query: int) -> np.ndarray:
        """Evaluate a line at the candidate: a value for each, with the fact of `query` hidden (-1: of none)."""
        own, graph_of = self._own(query), self.graph.graph_of
        forward = start == self.open_node
        other = end if forward else start
        if other >= 0 and not len(graph_of):
            start_there, anywhere = np.array([other]), np.array([ANYWHERE])
            return self._walk(line, not forward, distinct, True, start_there, anywhere, anywhere, own, True)
        everyone = np.arange(self.graph.num_entities)
        ends = everyone if other == self.open_node else np.full(len(everyone), max(other, ANYWHERE))
        number = graph_of.astype(np.int64) if len(graph_of) else np.full(len(everyone), ANYWHERE)
        return self._walk(line, forward, distinct, False, everyone, ends, number, own, False).T

    def _on_neither(self, line: int, start: int, end: int, distinct: bool, query: int) -> np.ndarray:
        """Evaluate a line between constants or any entities of the query's graph: one value per graph."""
        value = np.zeros((len(self.known), 1))
        for number in np.unique(self.number if query < 0 else self.number[query]):
            forward = start >= 0
            begin, other = (start, end) if forward else (end, start)
            starts = np.array([begin])
            if begin < 0:
                graph = max(int(number), 0)
                starts = np.arange(*self.graph.graph_pointer[graph : graph + 2])
                starts = self.graph.graph_entity[starts] if number >= 0 else starts
            ends, numbers = np.full(len(starts), max(other, ANYWHERE)), np.full(len(starts), number)
            found = self._walk(line, forward, distinct, begin >= 0, starts, ends, numbers, self._own(query), False)
            value[self.number == number] = min(1.0, float(found.sum()))
        return value if len(self.graph.graph_of) else value[:1]

    def _own(self, query: int) -> tuple[Ids, Ids]:
        """Return the two ends of the fact that a query hides, or -1."""
        return (self._nothing[:1],) * 2 if query < 0 else (self.known[[query]], self.hidden[[query]])

    def _walk(
        self,
        line: int,
        forward: bool,
        distinct: bool,
        from_constant: bool,
        start: np.ndarray,
        end: np.ndarray,
        number: np.ndarray,
        own: tuple[Ids, Ids],
        to_all: bool,
    ) -> np.ndarray:
        """Return from each start the degree at its end (starts, 1), or at every entity (starts, entities)."""
        total = np.zeros((len(start), 1))
        # Truth values take an eighth of the memory of degrees, and most of the time is that of clearing it.
        dense = np.zeros((len(start) if to_all else 0, self.graph.num_entities), bool if self.graph.is_crisp else float)
        steps = (self.walked.steps if forward else self.walked.backwards)[line]
        hidden = (np.broadcast_to(column, len(start)).astype(np.int64) for column in own)
        _degrees(
            self.graph, self.space, steps, self.walked.lengths[line], distinct, from_constant,
            start.astype(np.int64), end.astype(np.int64), number.astype(np.int64), self.code, *hidden, self.group,
            total, dense,
        )  # fmt: skip
        return dense if to_all else total


@compiled
def _degrees(
    graph: Graph,
    space: WalkSpace,
    steps: Longs,
    num_steps: int,
    distinct: bool,
    from_constant: bool,
    start: Longs,
    end: Longs,
    number: Longs,
    code: int,
    own_start: Longs,
    own_end: Longs,
    group: Mask,
    total: Doubles,
    dense: np.ndarray,
) -> None:
    """Write the degrees of the line at its ends into `dense`, if it has rows, and their sums into `total`."""
    for i in range(len(start)):
        found = spread(
            graph, space, steps, num_steps, start[i], distinct,
            HiddenFact(code, own_start[i], own_end[i], own_start[i], group), end[i], from_constant, number[i],
        )  # fmt: skip
        for k in range(found):
            b = space.ends[k]
            total[i, 0] = min(1.0, total[i, 0] + space.value[b])
            if len(dense):
                dense[i, b] = space.value[b]
