"""The facts that the rules of one stratum derive, round by round.

A body is a disjunction of conjunctions; a single line is a conjunction of one. Conjunctions are solved line by line
(`grow.py`), all together, and each body once for all rules that share it. After the first round they are solved
outward from the facts that are new or stronger, so a round takes time proportional to what it changes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from copy import copy

import numpy as np

from ..data.arrays import Doubles, Longs, Mask, ranges
from ..data.facts import LEAST_TRUE, NO_OBJECT
from .bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE
from .derived import FoundFacts, directed, refuse_more
from .grow import OPEN, Grower, Solutions, parts
from .pool import workers
from .ruleset import FIRST, SECOND, RuleSet

SHARD_ROWS = 2**15
"""Approximate number of partial solutions at the start of a shard."""
MAX_SHARDS = 64

NO_LINE = -1
"""Padding after the last line of a plan."""


class Stratum:
    """The `rules` of one stratum with their `confidence`. A plan is an order of the lines of a conjunction.

    A conjunction has a plan for each of its lines: a new fact enters at the first line of a plan. The first round uses
    only the plan with the cheapest first line. The `origin` of solutions is their plan. `grower` solves lines; a round
    that derives more than `max_facts` raises LimitError (None: no limit).
    """

    def __init__(self, grower: Grower, rules: RuleSet, confidence: Doubles, max_facts: int | None) -> None:
        self.grower, self.rules, self.confidence, self.max_facts = grower, rules, confidence, max_facts
        self.lines, self.lengths, self.graph = grower.lines, grower.walked.lengths, grower.graph
        self.uses_x, self.uses_y = (np.append(self.lines.uses(n), False) for n in (X_NODE, Y_NODE))  # False for NO_LINE
        self.everyone = self.graph.graph_entity if len(self.graph.graph_of) else np.arange(self.graph.num_entities)
        self.by_body = np.argsort(rules.body, kind="stable")
        self.body_pointer = np.searchsorted(rules.body[self.by_body], np.arange(len(rules.bodies) + 1))
        self._plan()
        self._index_places()
        self.answers: dict[int, Solutions] = {}

    # plans ------------------------------------------------------------------------------------------

    def _plan(self) -> None:
        """Set `order` and `negative` (plans, lines), the body of each plan, and the plans of the first round."""
        bodies, lines = self.rules.bodies, self.lines
        always = np.append((self.lengths == 0) & (lines.start == ANY_NODE), False)
        used = np.flatnonzero(np.diff(self.body_pointer))
        line = np.append(bodies.line, NO_LINE)[used].astype(np.int64)
        alone = (line >= 0) & ~always[line]
        owner, first = used[alone].tolist(), [True] * int(alone.sum())
        orders: list[list[int]] = []
        negatives: list[list[int]] = []
        for body in used[~alone].tolist():
            for positive, negative in bodies.alternatives(body):
                needed = [n for n in dict.fromkeys(positive) if not always[n]]
                if not always[np.array(negative, np.int64)].any():
                    found = self._orders(needed)
                    orders += found
                    negatives += [list(dict.fromkeys(negative))] * len(found)
                    owner += [body] * len(found)
                    first += [True, *[False] * (len(found) - 1)]
        self.owner, self.is_first = np.array(owner, np.int64), np.array(first, bool)
        self.order = _stacked([line[alone][:, None], *(np.array([order], np.int64) for order in orders)])
        nothing = np.zeros((int(alone.sum()), 0), np.int64)
        self.negative = _stacked([nothing, *(np.array([denied], np.int64) for denied in negatives)])

    def _orders(self, lines: list[int]) -> list[list[int]]:
        """Return an order starting at each line, the cheapest start first; lines with known ends come first."""
        if not lines:
            return [[]]
        sizes = self.grower.num_facts()
        orders = []
        for seed in sorted(lines, key=lambda n: self._cost(n, False, False, sizes)):
            order, left = [seed], [n for n in lines if n != seed]
            while left:
                has_x, has_y = bool(self.uses_x[order].any()), bool(self.uses_y[order].any())
                order.append(min(left, key=lambda n: self._cost(n, has_x, has_y, sizes)))
                left.remove(order[-1])
            orders.append(order)
        return orders

    def _cost(self, line: int, has_x: bool, has_y: bool, sizes: Longs) -> int:
        ends = (int(self.lines.start[line]), int(self.lines.end[line]))
        known = [a >= 0 or (a == X_NODE and has_x) or (a == Y_NODE and has_y) for a in ends]
        steps = self.lines.steps[line][: self.lengths[line]]
        return -sum(known) if any(known) else int(sizes[steps].min(initial=self.graph.num_entities))

    def _index_places(self) -> None:
        """Index the steps at which a new fact can enter, and the plans that begin with each line."""
        first = self.order[:, 0]
        self.by_line = np.argsort(first, kind="stable")
        self.line_pointer = np.searchsorted(first[self.by_line], np.arange(self.lines.num_lines + 1))
        lines = np.flatnonzero(np.diff(self.line_pointer))
        row, place = np.nonzero(self.lines.steps[lines] != NO_STEP)
        line = lines[row]
        # There are many rules with constants; a fact must not be tried on rules with other constants.
        constant = np.where(place >= self.grower.walked.last_move[line], self.lines.end[line], OPEN)
        key = self._place_key(self.lines.steps[line, place].astype(np.int64), np.maximum(constant, OPEN))
        order = np.argsort(key, kind="stable")
        self.place_key, self.place_line, self.place = key[order], line[order], place[order]

    def _place_key(self, code: Longs, constant: np.ndarray) -> Longs:
        return code * (self.graph.num_entities + 1) + constant + 1

    # rounds -----------------------------------------------------------------------------------------

    def derived(self, changes: FoundFacts | None, threads: int = 1) -> Iterator[FoundFacts]:
        """Yield what the rules derive from all known facts, or using a fact of `changes`, which must be known already.

        A round that begins with many rows is cut into shards, which run on `threads` or on a cluster.
        """
        self.answers = {}  # facts have been added since
        shards = min(MAX_SHARDS, 1 + (self._num_rows() if changes is None else changes.size) // SHARD_ROWS)
        if shards == 1:
            yield from self._shard(changes, 0, 1)
            return

        def shard(own: Stratum, number: int) -> FoundFacts:
            return FoundFacts.gather(own._shard(changes, number, shards))

        yield from workers(self._copy, threads).map(shard, range(shards))

    def _copy(self) -> Stratum:
        """Return a copy with its own scratch space."""
        own = copy(self)
        own.grower, own.answers = copy(self.grower), {}
        return own

    def _shard(self, changes: FoundFacts | None, number: int, shards: int) -> Iterator[FoundFacts]:
        """Yield what follows from every `shards`-th row, starting at row `number`."""
        if changes is None:
            return self._first(number, shards)
        return self._from_facts(changes.take(np.arange(number, changes.size, shards)))

    def _first_lines(self) -> tuple[Longs, Longs]:
        """Return the lines that plans of the first round begin with, and the plans that begin with none."""
        line = np.where(self.is_first, self.order[:, 0], NO_LINE)
        return np.unique(line[line != NO_LINE]), np.flatnonzero(self.is_first & (line == NO_LINE))

    def _num_rows(self) -> int:
        return self.grower.num_rows(self._first_lines()[0])

    def _first(self, number: int, shards: int) -> Iterator[FoundFacts]:
        chosen, free = self._first_lines()
        if number == 0:
            nothing = np.full(len(free), OPEN)
            yield from self._joined(Solutions(free, nothing, nothing, nothing, np.ones(len(free))), 1)
        for found in self.grower.everything(chosen, number, shards):
            yield from self._of_plans(found, self.is_first)

    def _from_facts(self, changes: FoundFacts) -> Iterator[FoundFacts]:
        code, node, neighbour, confidence = directed(changes)
        nothing = np.full_like(neighbour, OPEN)
        key = np.concatenate([self._place_key(code, constant) for constant in (nothing, neighbour)])
        low = np.searchsorted(self.place_key, key)
        size = np.searchsorted(self.place_key, key, side="right") - low
        for rows in parts(size):
            place, edge = ranges(low[rows], size[rows]), np.repeat(rows, size[rows]) % len(code)
            line = self.place_line[place]
            begin = self.grower.along(line, self.place[place], node[edge], neighbour[edge], confidence[edge])
            for found in self.grower.solve(begin):
                yield from self._of_plans(found._replace(origin=line[found.origin]))

    def _of_plans(self, found: Solutions, which: Mask | None = None) -> Iterator[FoundFacts]:
        """Yield what follows from solutions of lines, by the plans that begin with these lines."""
        size = np.diff(self.line_pointer)[found.origin]
        for rows in parts(size):
            plan = self.by_line[ranges(self.line_pointer[found.origin[rows]], size[rows])]
            some = found.take(np.repeat(rows, size[rows]))._replace(origin=plan)
            yield from self._joined(some if which is None else some.take(which[plan]), 1)

    # joins ------------------------------------------------------------------------------------------

    def _joined(self, found: Solutions, stage: int) -> Iterator[FoundFacts]:
        """Yield what follows from solutions of the first `stage` lines of their plans."""
        whole = found
        if stage < self.order.shape[1]:
            line = self.order[found.origin, stage]
            more = np.flatnonzero(line != NO_LINE)
            whole = found.take(line == NO_LINE)
            for part in self._with_line(found.take(more), line[more]):
                joined = part.best()
                if self.max_facts is not None and joined.size > self.max_facts:
                    refuse_more(int(np.bincount(joined.origin).max()), self.max_facts)
                yield from self._joined(joined, stage + 1)
        if whole.size:
            yield from self._unless_denied(whole) if self.negative.shape[1] else self._heads(whole)

    def _with_line(self, found: Solutions, line: Longs) -> Iterator[Solutions]:
        """Join each solution with the solutions of one more line."""
        bound, others = self._split(found, line)
        some = found.take(bound)
        for more in self._from_bound(some, line[bound]):
            confidence = np.minimum(more.confidence, some.confidence[more.origin])
            yield more._replace(origin=some.origin[more.origin], confidence=confidence)
        for own in np.unique(line[others]).tolist():
            some, answers = found.take(others[line[others] == own]), self._answers(own)
            spans = self._same_graph(some, answers)
            for rows in parts(spans[0][1] + spans[1][1]):
                first = some.take(np.concatenate([np.repeat(rows, size[rows]) for _, size in spans]))
                other = answers.take(np.concatenate([ranges(low[rows], size[rows]) for low, size in spans]))
                x, y, graph = (np.maximum(a, b) for a, b in zip(first[1:4], other[1:4]))  # one of them is open
                yield Solutions(first.origin, x, y, graph, np.minimum(first.confidence, other.confidence))

    def _split(self, found: Solutions, line: Longs) -> tuple[Longs, Longs]:
        """Return the rows whose line has a bound end, and those whose line has none."""
        is_bound = (self.uses_x[line] & (found.x != OPEN)) | (self.uses_y[line] & (found.y != OPEN))
        return np.flatnonzero(is_bound), np.flatnonzero(~is_bound & (line != NO_LINE))

    def _from_bound(self, found: Solutions, line: Longs, least: float = 0.0) -> Iterator[Solutions]:
        """Yield solutions of a line with a bound end for each row; `origin` is the row."""
        from_x = self.uses_x[line] & (found.x != OPEN)
        at_start = self.lines.start[line] == np.where(from_x, X_NODE, Y_NODE)
        place, entity = np.where(at_start, 0, self.lengths[line]), np.where(from_x, found.x, found.y)
        yield from self.grower.solve(self.grower.at(line, place, entity, found[1:4]), least)

    def _answers(self, line: int) -> Solutions:
        """Return all solutions of a line, sorted by graph."""
        if line not in self.answers:
            every = Solutions.join([*self.grower.everything(np.array([line]))]).best()
            self.answers[line] = every.take(np.argsort(every.graph, kind="stable"))
        return self.answers[line]

    def _same_graph(self, found: Solutions, answers: Solutions) -> list[tuple[Longs, Longs]]:
        """Return (begin, size) of the answers in the graph of each row, and of the answers without a graph."""
        low, high = (np.searchsorted(answers.graph, found.graph, side=side) for side in ("left", "right"))
        anywhere = found.graph == OPEN
        low, high = np.where(anywhere, 0, low), np.where(anywhere, answers.size, high)
        of_none = np.searchsorted(answers.graph, OPEN, side="right")
        return [(low, high - low), (np.zeros_like(low), np.where(anywhere, 0, of_none))]

    # negations --------------------------------------------------------------------------------------

    def _unless_denied(self, found: Solutions) -> Iterator[FoundFacts]:
        """Yield what follows if no negative line holds; first bind the variables that these lines need."""
        for row, x in self._filled(found.x, found.graph, self._denies_with(found, self.uses_x)):
            with_x = self._in_graph(found.take(row)._replace(x=x), x)
            for row, y in self._filled(with_x.y, with_x.graph, self._denies_with(with_x, self.uses_y)):
                for part in self._with_graphs(self._in_graph(with_x.take(row)._replace(y=y), y)):
                    for column in range(self.negative.shape[1]):
                        part = part.take(~self._holds(part, self.negative[part.origin, column]))
                    if part.size:
                        yield from self._heads(part)

    def _denies_with(self, found: Solutions, uses: Mask) -> Mask:
        """Return whether a negative line of the plan is marked in `uses`."""
        return uses[self.negative[found.origin]].any(axis=1)

    def _in_graph(self, found: Solutions, entity: Longs) -> Solutions:
        """Return the solutions with the graph of an entity, if it is bound."""
        if not len(self.graph.graph_of):
            return found
        return found._replace(graph=np.where(entity == OPEN, found.graph, self.graph.graph_of[entity]))

    def _with_graphs(self, found: Solutions) -> Iterator[Solutions]:
        """Expand an open graph into all graphs if a negative line may hold in some and not in others."""
        free = (found.graph == OPEN) & (self.negative[found.origin] != NO_LINE).any(axis=1)
        if not len(self.graph.graph_of) or not free.any():
            yield found
            return
        size = np.where(free, self.graph.num_graphs, 1)
        for rows in parts(size):
            row, number = np.repeat(rows, size[rows]), ranges(0 * rows, size[rows])
            yield found.take(row)._replace(graph=np.where(free[row], number, found.graph[row]))

    def _holds(self, found: Solutions, line: Longs) -> Mask:
        """Return whether the line of each row, if it has one, holds in facts of weight >= LEAST_TRUE."""
        holds = np.zeros(found.size, bool)
        bound, others = self._split(found, line)
        for some in self._from_bound(found.take(bound), line[bound], LEAST_TRUE):
            holds[bound[some.origin]] = True
        for own in np.unique(line[others]).tolist():
            rows, answers = others[line[others] == own], self._answers(own)
            spans = self._same_graph(found.take(rows), answers.take(answers.confidence >= LEAST_TRUE))
            holds[rows] = spans[0][1] + spans[1][1] > 0
        return holds

    # heads ------------------------------------------------------------------------------------------

    def _heads(self, found: Solutions) -> Iterator[FoundFacts]:
        """Yield the conclusions of the rules. An unbound head variable ranges over the entities of the graph."""
        body = self.owner[found.origin]
        size = np.diff(self.body_pointer)[body]
        for rows in parts(size):
            row, rule = np.repeat(rows, size[rows]), self.by_body[ranges(self.body_pointer[body[rows]], size[rows])]
            fixed, entity = self.rules.fixed[rule], self.rules.head_entity[rule].astype(np.int64)
            target, confidence = self.rules.head[rule], found.confidence[row] * self.confidence[rule]
            is_binary, graph = ~self.graph.is_unary[target], found.graph[row]
            subject = np.where(fixed == FIRST, entity, found.x[row])
            object_ = np.where(fixed == SECOND, entity, np.where(is_binary, found.y[row], NO_OBJECT))
            for first, filled in self._filled(subject, graph, np.ones(len(row), bool)):
                first, filled, own = self._inside(first, filled, graph[first])
                for second, other in self._filled(object_[first], own, is_binary[first]):
                    second, other, _ = self._inside(second, other, own[second])
                    last = first[second]
                    yield FoundFacts(target[last], filled[second], other, confidence[last])

    def _inside(self, row: Longs, entity: Longs, graph: Longs) -> tuple[Longs, Longs, Longs]:
        """Return (row, entity, its graph) of the entities that are in the given graph."""
        if not len(self.graph.graph_of):
            return row, entity, graph
        own = np.where(entity == NO_OBJECT, graph, self.graph.graph_of[entity])
        inside = (graph == OPEN) | (own == graph)
        return row[inside], entity[inside], own[inside]

    def _filled(self, value: Longs, graph: Longs, wanted: Mask) -> Iterator[tuple[Longs, Longs]]:
        """Yield (row, value), where open and wanted values are replaced by all entities of the graph."""
        is_open = wanted & (value == OPEN)
        if not is_open.any():
            yield np.arange(len(value)), value
            return
        pointer = self.graph.graph_pointer
        low = np.where(graph == OPEN, 0, pointer[graph])
        high = np.where(graph == OPEN, len(self.everyone), pointer[graph + 1])
        size = np.where(is_open, high - low, 1)
        for rows in parts(size):
            row, place = np.repeat(rows, size[rows]), ranges(low[rows], size[rows])
            filled, to_fill = value[row], is_open[row]
            filled[to_fill] = self.everyone[place[to_fill]]
            yield row, filled


def _stacked(blocks: Sequence[np.ndarray]) -> np.ndarray:
    """Stack blocks of rows, padded to the widest."""
    width = max(block.shape[1] for block in blocks)
    wide = [np.pad(block, ((0, 0), (0, width - block.shape[1])), constant_values=NO_LINE) for block in blocks]
    return np.concatenate(wide)
