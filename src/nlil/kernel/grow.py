"""grow: complete partial solutions of lines, over the facts of a graph and derived facts. Compiled loops.

A row starts at a node of its line, or at an edge, and grows to the right and then to the left, depth first, until the
line is complete. A solution binds X, Y and the graph, if the line determines them, with the confidence of its best
grounding: the weakest fact, maximised over groundings. Unlike `spread`, which sums over paths, only the best path
counts, and facts may be derived ones.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Doubles, Longs
from ..data.kb import KnowledgeBase
from .bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE, Lines, group_keys
from .compiled import SmallWork, compiled
from .derived import DerivedFacts, Levels, level_span, strongest
from .graph import Graph, find_member, span_edges
from .walk import NO_LIMIT, Walked

MAX_ROWS = 2**21
"""Limit of the rows made at once, unless a single row yields more; bounds the memory."""
SOLUTIONS = 2**16
"""Solutions listed at once, unless a single row has more."""
OPEN = -1
"""Stands for an entity or a graph that is not bound yet."""
NOWHERE = -2
"""Stands for a graph if the entity is not allowed at a node."""


class PartialSolutions(NamedTuple):
    """Partial solutions: steps begin .. end of `line` are done, from the node `left` to the node `right`.

    `x`, `y` and `graph` are the bindings, or OPEN. `confidence` is that of the done part.
    """

    line: Longs
    begin: Longs
    end: Longs
    left: Longs
    right: Longs
    x: Longs
    y: Longs
    graph: Longs
    confidence: Doubles


class Solutions(NamedTuple):
    """Bindings of X, Y and the graph (`x`, `y`, `graph`), or OPEN; `origin` is the row or line that was solved.

    `confidence` is that of the best grounding.
    """

    origin: Longs
    x: Longs
    y: Longs
    graph: Longs
    confidence: Doubles

    @classmethod
    def join(cls, parts: list[Solutions]) -> Solutions:
        """Concatenate `parts`; no parts give no solutions."""
        nothing = np.zeros(0, np.int64)
        none = cls(nothing, nothing, nothing, nothing, np.zeros(0))
        return cls(*map(np.concatenate, zip(none, *parts)))

    @property
    def size(self) -> int:
        """A NamedTuple's own len is its number of columns."""
        return len(self.origin)

    def take(self, rows: np.ndarray) -> Solutions:
        """Return the solutions of the given rows (numbers or a mask)."""
        return Solutions(*(column[rows] for column in self))

    def best(self) -> Solutions:
        """Return the distinct solutions, each with its best confidence."""
        return self.take(strongest(group_keys(self[:4]), self.confidence))


class GrowSpace(NamedTuple):
    """Scratch space of `grow`, by depth, the number of steps done.

    Attributes:
        node: the entity there.
        path: the entity there if distinct variables must avoid it, else -1; shifted by one.
        source: 0 while edges of the graph are tried, else 1 + the level of derived edges.
        position: the next edge to try.
        stop: the end of the edges to try.
        graph: the number of the graph there, or OPEN.
        strength: the confidence so far.
        epoch: by depth and entity, the epoch in which it was last reached.
        reached: by depth and entity, the best confidence in this epoch.
        clock: clock[0] is the current epoch; epochs never repeat.
    """

    node: Longs
    path: Longs
    source: Longs
    position: Longs
    stop: Longs
    graph: Longs
    strength: Doubles
    epoch: np.ndarray
    reached: np.ndarray
    clock: Longs


def grow_space(num_entities: int, most_steps: int) -> GrowSpace:
    """Make the scratch space for lines of up to `most_steps` steps on a base of `num_entities`."""
    depth = most_steps + 2
    node, path, source, position, stop, graph = np.zeros((6, depth), np.int64)
    epoch, reached = np.zeros((depth, num_entities), np.int64), np.zeros((depth, num_entities))
    return GrowSpace(
        node, path, source, position, stop, graph, np.zeros(depth), epoch, reached, np.zeros(1, np.int64)
    )  # fmt: skip


class Grower:
    """Solves `lines` over the facts of `kb` and derived facts."""

    def __init__(self, kb: KnowledgeBase, lines: Lines) -> None:
        self.graph, self.lines = Graph.of(kb), lines
        self.walked = Walked.of(lines, self.graph.is_unary)
        self.derived = DerivedFacts(kb.num_entities, self.graph.is_unary)
        self.small = SmallWork(grow)
        self._make_scratch()

    def _make_scratch(self) -> None:
        self.space = grow_space(self.graph.num_entities, self.lines.width)
        self.found = np.zeros((4, SOLUTIONS), np.int64), np.zeros(SOLUTIONS)

    def __getstate__(self) -> dict[str, Any]:
        """Leave out the scratch space; a copy makes its own."""
        return {name: value for name, value in self.__dict__.items() if name not in ("space", "found")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._make_scratch()

    def solve(self, rows: PartialSolutions, least: float = 0.0) -> Iterator[Solutions]:
        """Yield the solutions of each of `rows`; `origin` is the row.

        With `least`, yield one solution for each row that has one of at least this confidence.
        """
        done, levels = np.zeros(2, np.int64), self.derived.levels
        while done[0] < len(rows.line):
            numbers, strength = self.found
            # Start in plain Python, up to a limit; the remaining rows run as machine code.
            limit = int(self.small.left) if self.small.is_left else NO_LIMIT
            with self.small.of(0):
                size = grow(
                    self.graph, levels, self.walked, self.space, rows, least, limit, done,
                    numbers, strength,
                )  # fmt: skip
            self.small.left -= done[1]
            if size:
                origin, x, y, graph = numbers[:, :size].copy()
                yield Solutions(origin, x, y, graph, strength[:size].copy())
            elif done[0] < len(rows.line) and done[1] <= limit:  # one row has more solutions than fit
                self.found = np.zeros((4, 2 * len(strength)), np.int64), np.zeros(2 * len(strength))

    # partial solutions ------------------------------------------------------------------------------

    def at(
        self, line: Longs, place: Longs, entity: Longs, bound: tuple[Longs, Longs, Longs] | None = None
    ) -> PartialSolutions:
        """Return rows at a node of their line, with no step done yet.

        Args:
            line: the line of each row.
            place: the number of the node.
            entity: the entity at the node.
            bound: X, Y and the graph, or OPEN.
        """
        nothing = np.full(len(line), OPEN)
        x, y, graph = (nothing, nothing, nothing) if bound is None else bound
        return PartialSolutions(line, place, place, entity, entity, x, y, graph, np.ones(len(line)))

    def along(self, line: Longs, place: Longs, node: Longs, neighbour: Longs, confidence: Doubles) -> PartialSolutions:
        """Return rows of `line` whose step `place` is an edge from `node` to `neighbour` with this `confidence`."""
        nothing = np.full(len(line), OPEN)
        return PartialSolutions(line, place, place + 1, node, neighbour, nothing, nothing, nothing, confidence)

    def everything(self, lines: Longs, shard: int = 0, shards: int = 1) -> Iterator[Solutions]:
        """Yield all solutions of `lines`; `origin` is the line.

        With `shards`, only those that grow from every `shards`-th row, starting at row `shard`.
        """
        self.small.expect(self.num_rows(lines) * self.lines.width / shards)
        waiting: list[PartialSolutions] = []
        for rows in self._all_rows(lines):
            waiting.append(rows if shards == 1 else PartialSolutions._make(column[shard::shards] for column in rows))
            if sum(len(part.line) for part in waiting) >= SOLUTIONS:  # one call for many codes
                yield from self._of_lines(waiting)
                waiting = []
        yield from self._of_lines(waiting) if waiting else ()

    def _of_lines(self, waiting: list[PartialSolutions]) -> Iterator[Solutions]:
        rows = PartialSolutions(*map(np.concatenate, zip(*waiting)))
        for found in self.solve(rows):
            yield found._replace(origin=rows.line[found.origin])

    def _all_rows(self, lines: Longs) -> Iterator[PartialSolutions]:
        """Yield rows at the constant of each line, or else at all facts of its rarest step."""
        start, end = (anchor[lines].astype(np.int64) for anchor in (self.lines.start, self.lines.end))
        constant, length = np.where(start >= 0, start, end), self.walked.lengths[lines]
        fixed = constant >= 0
        yield self.at(lines[fixed], np.where(start >= 0, 0, length)[fixed], constant[fixed])
        everyone = np.arange(self.graph.num_entities)
        for line in lines[~fixed & (length == 0)].tolist():  # X = Y
            yield self.at(np.full(len(everyone), line), 0 * everyone, everyone)
        lines = lines[~fixed & (length > 0)]
        steps = self.walked.steps[lines]
        place = np.where(steps != NO_STEP, self.num_facts()[steps], np.iinfo(np.int64).max).argmin(axis=1)
        code = steps[np.arange(len(lines)), place]
        for own in np.unique(code).tolist():
            node, neighbour, confidence = self._facts(own)
            rows = np.flatnonzero(code == own)
            for part in parts(np.full(len(rows), len(node))):
                line, where = (np.repeat(column[rows[part]], len(node)) for column in (lines, place))
                copies = len(part)
                yield self.along(
                    line, where, np.tile(node, copies), np.tile(neighbour, copies), np.tile(confidence, copies)
                )

    def num_rows(self, lines: Longs) -> int:
        """Return how many rows `everything` grows for `lines`."""
        is_fixed = (self.lines.start[lines] >= 0) | (self.lines.end[lines] >= 0)
        steps, most = self.walked.steps[lines], np.iinfo(np.int64).max
        least = np.where(steps != NO_STEP, self.num_facts()[steps], most).min(axis=1, initial=most)
        least[self.walked.lengths[lines] == 0] = self.graph.num_entities
        return int(np.where(is_fixed, 1, least).sum())

    def num_facts(self) -> Longs:
        """Return the number of facts of each code."""
        graph, levels = self.graph, self.derived.levels
        members = np.diff(graph.member_pointer)
        sizes = graph.code_edges.copy()
        sizes[: 2 * len(members) : 2] += members
        return sizes + np.bincount(levels.key // max(graph.num_entities, 1), minlength=len(sizes))

    def _facts(self, code: int) -> tuple[Longs, Longs, Doubles]:
        """Return (node, neighbour, confidence) of all facts of a code, given and derived."""
        graph, levels = self.graph, self.derived.levels
        weight: np.ndarray
        if graph.is_unary[code >> 1]:
            own = slice(*graph.member_pointer[code >> 1 : (code >> 1) + 2])
            node = neighbour = graph.member[own]
            weight = graph.member_weight[own]
        else:
            node, place = graph.edges_along(code)
            neighbour = graph.neighbour[place]
            weight = graph.weight[place] if len(graph.weight) else graph.weight
        weight = weight if len(weight) else np.ones(len(node))
        more = np.flatnonzero(levels.key // max(graph.num_entities, 1) == code)
        return (
            np.concatenate((node, levels.key[more] % max(graph.num_entities, 1))).astype(np.int64),
            np.concatenate((neighbour, levels.neighbour[more])).astype(np.int64),
            np.concatenate((weight, levels.confidence[more])).astype(np.float64),
        )


def parts(size: Longs) -> Iterator[Longs]:
    """Yield the rows with `size` > 0, in groups whose sizes sum to at most MAX_ROWS, or of a single row."""
    rows = np.flatnonzero(size)
    total = np.cumsum(size[rows])
    begin = 0
    while begin < len(rows):
        done = total[begin - 1] if begin else 0
        end = max(int(np.searchsorted(total, done + MAX_ROWS, side="right")), begin + 1)
        yield rows[begin:end]
        begin = end


# compiled loops -------------------------------------------------------------------------------------


@compiled
def grow(
    graph: Graph,
    levels: Levels,
    lines: Walked,
    space: GrowSpace,
    rows: PartialSolutions,
    least: float,
    limit: int,
    done: Longs,
    found: np.ndarray,
    strength: Doubles,
) -> int:
    """List the solutions of `rows` from done[0] on, as long as they fit and at most `limit` edges are visited.

    Returns the number of solutions. done[0] becomes the next row, done[1] the number of edges visited. With `least`,
    one solution per row is enough.

    Args:
        graph: the given facts.
        levels: the derived facts.
        lines: the lines that `rows` refer to.
        space: scratch space for the longest line.
        rows: partial solutions.
        least: the minimum confidence; 0 lists every solution.
        limit: the number of edges; the current row is always finished.
        done: two numbers, see above.
        found: receives row, x, y, graph of each solution: (4, room for solutions).
        strength: receives their confidences.
    """
    size, done[1] = 0, 0
    while done[0] < len(rows.line) and done[1] <= limit:
        more = _grow_row(graph, levels, lines, space, rows, done, least, size, found, strength)
        if more < 0:
            return size
        size = more
        done[0] += 1
    return size


@compiled
def _grow_row(
    graph: Graph,
    levels: Levels,
    lines: Walked,
    space: GrowSpace,
    rows: PartialSolutions,
    done: Longs,
    least: float,
    size: int,
    found: np.ndarray,
    strength: Doubles,
) -> int:
    """Append the solutions of the row done[0] to the first `size`; return the new size, or -1 if they do not fit.

    Adds the number of visited edges to done[1].
    """
    row = done[0]
    if not _begin(graph, lines, space, rows, row, least):
        return size
    line, begin, end, left, right = rows.line[row], rows.begin[row], rows.end[row], rows.left[row], rows.right[row]
    x, y = rows.x[row], rows.y[row]
    num_right = lines.lengths[line] - end
    total = num_right + begin
    if total == 0:
        return _add(lines, line, row, left, right, x, y, space.graph[0], space.strength[0], size, found, strength)
    space.clock[0] += 1
    epoch, left_epoch = space.clock[0], space.clock[0]
    depth, entering = 0, True
    while depth >= 0:
        forward = depth < num_right
        place = end + depth if forward else begin - 1 - (depth - num_right)
        code = lines.steps[line, place]
        unary = graph.is_unary[code >> 1]
        if not forward and not unary:
            code = code ^ 1
        if forward:
            place += 1
        here = left if depth == num_right else space.node[depth]
        if entering:
            _open(graph, space, depth, here, code, unary)
            entering = False
        if space.position[depth] >= space.stop[depth]:
            if not _open_level(graph, levels, space, depth, here, code):
                depth -= 1
            continue
        done[1] += 1
        there, value = _follow(graph, levels, space, depth, here, unary)
        if value <= 0.0 or value < least:
            continue
        number = _arrive(graph, lines, line, place, there, x, y, space.graph[depth])
        other = _other_end(lines, line, begin, left, space.node[num_right], place, forward)
        if number == NOWHERE or (other >= 0 and other != there):
            continue
        is_constant = _is_constant(lines, line, place)
        is_new = not unary and not is_constant and other < 0
        if lines.distinct[line]:
            is_repeated = is_new and _is_on_path(space, depth, there)
        elif is_constant and len(graph.graph_of):
            is_repeated = False  # walks that meet at a constant may be in different graphs
        else:  # walks that meet are merged
            is_repeated = not _is_better(space, depth, there, value, epoch if forward else left_epoch)
        if is_repeated:
            continue
        space.node[depth + 1], space.graph[depth + 1], space.strength[depth + 1] = there, number, value
        space.path[depth + 2] = there if is_new else -1
        if depth + 1 < total:
            if depth + 1 == num_right:
                space.clock[0] += 1
                left_epoch = space.clock[0]
            depth, entering = depth + 1, True
            continue
        start = space.node[total] if begin > 0 else left
        size = _add(lines, line, row, start, space.node[num_right], x, y, number, value, size, found, strength)
        if size < 0 or least > 0.0:
            return size
    return size


@compiled
def _begin(graph: Graph, lines: Walked, space: GrowSpace, rows: PartialSolutions, row: int, least: float) -> bool:
    """Put a row into the scratch space at depth 0; return False if its bindings already rule out a solution."""
    line, begin, end, left, right = rows.line[row], rows.begin[row], rows.end[row], rows.left[row], rows.right[row]
    x, y = rows.x[row], rows.y[row]
    joins_variables = (
        lines.start[line] < 0 and lines.end[line] < 0 and min(lines.start[line], lines.end[line]) > ANY_NODE
    )
    if lines.distinct[line] and lines.last_move[line] < 0 and joins_variables and not _is_closed(lines, line):
        return False  # X = Y
    number = _arrive(graph, lines, line, begin, left, x, y, rows.graph[row])
    if number == NOWHERE or rows.confidence[row] <= 0.0 or rows.confidence[row] < least:
        return False
    space.path[0], space.path[1] = -1 if _is_constant(lines, line, begin) else left, -1
    if end > begin:
        number = _arrive(graph, lines, line, end, right, x, y, number)
        if number == NOWHERE:
            return False
        if not graph.is_unary[lines.steps[line, begin] >> 1]:
            if _is_closed(lines, line) and begin <= lines.first_move[line] and end > lines.last_move[line]:
                if left != right:
                    return False
            elif not _is_constant(lines, line, end):
                if lines.distinct[line] and space.path[0] == right:
                    return False
                space.path[1] = right
    space.node[0], space.graph[0], space.strength[0] = right, number, rows.confidence[row]
    return True


@compiled
def _open(graph: Graph, space: GrowSpace, depth: int, here: int, code: int, unary: bool) -> None:
    """Prepare the given facts to try at a depth; derived facts follow, level by level."""
    if unary:
        low = find_member(graph, here, code >> 1)
        high = low if low < 0 else low + 1
    else:
        low, high = span_edges(graph, here, code)
    space.source[depth], space.position[depth], space.stop[depth] = 0, low, high


@compiled
def _open_level(graph: Graph, levels: Levels, space: GrowSpace, depth: int, here: int, code: int) -> bool:
    """Prepare the derived facts of the next level to try at a depth; return False after the last level."""
    level = space.source[depth]
    if level == len(levels.pointer) - 1:
        return False
    low, high = level_span(levels, level, code * graph.num_entities + here)
    space.source[depth], space.position[depth], space.stop[depth] = level + 1, low, high
    return True


@compiled
def _follow(graph: Graph, levels: Levels, space: GrowSpace, depth: int, here: int, unary: bool) -> tuple[int, float]:
    """Take the next fact at a depth; return where it leads, and the confidence of the path with it."""
    edge, there, value = space.position[depth], here, space.strength[depth]
    space.position[depth] += 1
    if space.source[depth] > 0:
        there, value = levels.neighbour[edge], min(value, levels.confidence[edge])
    elif unary:
        if len(graph.member_weight):
            value = min(value, np.float64(graph.member_weight[edge]))
    else:
        there = graph.neighbour[edge]
        if len(graph.weight):
            value = min(value, np.float64(graph.weight[edge]))
    return there, value


@compiled
def _is_closed(lines: Walked, line: int) -> bool:
    """Return whether the line leads from X to X, or from Y to Y."""
    return lines.start[line] == lines.end[line] and ANY_NODE < lines.start[line] < 0


@compiled
def _other_end(lines: Walked, line: int, begin: int, left: int, right: int, place: int, forward: bool) -> int:
    """Return the entity at the other end of a closed line, if a node is at one end and the other is known; else -1."""
    if not _is_closed(lines, line):
        return -1
    if forward:
        return left if place > lines.last_move[line] and begin <= lines.first_move[line] else -1
    return right if place <= lines.first_move[line] else -1


@compiled
def _is_on_path(space: GrowSpace, depth: int, there: int) -> bool:
    """Return whether a variable already has this entity."""
    for i in range(depth + 2):
        if space.path[i] == there:
            return True
    return False


@compiled
def _is_better(space: GrowSpace, depth: int, there: int, value: float, epoch: int) -> bool:
    """Return whether no earlier walk of this epoch arrived with this confidence; record this one."""
    if space.epoch[depth + 1, there] == epoch and space.reached[depth + 1, there] >= value:
        return False
    space.epoch[depth + 1, there], space.reached[depth + 1, there] = epoch, value
    return True


@compiled
def _is_constant(lines: Walked, line: int, place: int) -> bool:
    """Return whether a node of the line is a constant."""
    at_start = place <= lines.first_move[line] and lines.start[line] >= 0
    return at_start or (place > lines.last_move[line] and lines.end[line] >= 0)


@compiled
def _arrive(graph: Graph, lines: Walked, line: int, place: int, entity: int, x: int, y: int, number: int) -> int:
    """Return the graph of the line if the entity is at a node, or NOWHERE if it is not allowed there."""
    first = lines.start[line] if place <= lines.first_move[line] else ANY_NODE
    last = lines.end[line] if place > lines.last_move[line] else ANY_NODE
    if (first >= 0 and first != entity) or (last >= 0 and last != entity):
        return NOWHERE
    is_x, is_y = first == X_NODE or last == X_NODE, first == Y_NODE or last == Y_NODE
    if (is_x and x >= 0 and x != entity) or (is_y and y >= 0 and y != entity):
        return NOWHERE
    if len(graph.graph_of) == 0 or ((first >= 0 or last >= 0) and not is_x and not is_y):
        return number  # a constant may be in any graph; variables are in the query's graph
    own = graph.graph_of[entity]
    return NOWHERE if number >= 0 and number != own else own


@compiled
def _add(
    lines: Walked,
    line: int,
    row: int,
    start: int,
    end: int,
    x: int,
    y: int,
    number: int,
    value: float,
    size: int,
    found: np.ndarray,
    strength: Doubles,
) -> int:
    """Append one solution to the first `size`; return the new size, or -1 if it does not fit."""
    if size == found.shape[1]:
        return -1
    for anchor, entity in ((lines.start[line], start), (lines.end[line], end)):
        if anchor == X_NODE:
            x = entity
        elif anchor == Y_NODE:
            y = entity
    found[0, size], found[1, size], found[2, size], found[3, size], strength[size] = row, x, y, number, value
    return size + 1
