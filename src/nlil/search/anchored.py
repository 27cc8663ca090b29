"""Rules with a constant in the head, for all targets at once, with exact statistics.

    q(X, c) :- k(X, d)      anchored        q is a step code, so q(c, Y) :- k(d, Y) is the same shape
    q(X, c) :- k(X, Z1)     half-anchored   (X and Z1 distinct)
    q(X, c) :- true         prior

The facts of a head q(X, c) are the span of c along q ^ 1: its neighbours are the x. The loop over the edges of those
x counts every body at once; a body k(X, d) is a span too, that of d along k ^ 1. The fact q(x, c) is hidden from its
own body: there it supports neither the head's own span, nor its mirror image at a self-loop q(c, c), nor k(X, Z1) with
k = q where x has no other q-edge.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ..data.arrays import Flag, Ids, Longs
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE
from ..kernel.compiled import compiled
from ..kernel.graph import Graph, find_span, first_at_least, span_edges
from ..kernel.hidden import hides_edge
from ..kernel.pool import workers
from ..kernel.ruleset import FIRST, SECOND, RuleSet
from ..kernel.sorting import sort_range
from ..logic.rule import SMOOTHING, smoothed_confidence
from ..progress import Progress
from .cost import most_rules
from .options import NEVER, Task

if TYPE_CHECKING:
    from .tensors import TensorCounter

CHUNKS = 32
"""The budget of all threads together is this many times what comes back from one compiled call."""
LOOKUP = 8
"""Edges that are walked in the time of looking up one body."""
EDGES_PER_RULE = 4
"""Edges that are walked for each anchored rule found, about; 5 on a generated graph of 0.3 million facts."""
CONFIDENCES, GRADES = 64, 64 * 1024
"""Rules are graded by support, and those of equal support by so many steps of their confidence."""
NEARLY = 1e-6
"""So that no rounding loses a rule; what is kept in the end is decided by whole numbers."""


class Needs(NamedTuple):
    """What a rule needs: its `support`, its `confidence`, and its `grade` (see `_grades`)."""

    support: int
    confidence: float
    grade: int


@compiled
def _add_bodies(graph: Graph, x: int, q: int, c: int, count: Ids, lost: Ids, touched: Longs, num_touched: int) -> int:
    """Add 1 to the count of each body that holds of x without the fact q(x, c), and to `lost` of those that hold of x
    only by that fact. A body k(X, d) is a span, the bodies k(X, Z1) are numbered behind the spans.

    touched[:num_touched] lists the bodies that have been added to; returns the new num_touched.
    """
    e, end = graph.pointer[x], graph.pointer[x + 1]
    while e < end:
        k, leaves, is_lost = graph.code[e], False, False
        while e < end and graph.code[e] == k:
            d = graph.neighbour[e]
            is_own = hides_edge(q, x, c, k, x, d)
            num_touched = _add(graph.back_span[e], is_own, count, lost, touched, num_touched)
            leaves, is_lost = leaves or (d != x and not is_own), is_lost or (d != x and is_own)
            e += 1
        if leaves or is_lost:
            num_touched = _add(len(graph.span_node) + k, not leaves, count, lost, touched, num_touched)
    return num_touched


@compiled
def _add(body: int, is_lost: bool, count: Ids, lost: Ids, touched: Longs, num_touched: int) -> int:
    if count[body] == 0 and lost[body] == 0:
        touched[num_touched] = body
        num_touched += 1
    if is_lost:
        lost[body] += 1
    else:
        count[body] += 1
    return num_touched


@compiled
def _look_up(
    graph: Graph, x: int, q: int, c: int, least: Longs, count: Ids, lost: Ids, touched: Longs, num: int
) -> None:
    """Do what `_add_bodies` does, but only for the first `num` of `touched`, and where x can help to reach `least`."""
    num_spans = len(graph.span_node)
    for i in range(num):
        body = touched[i]
        if count[body] + 1 < least[i]:
            continue
        if body < num_spans:
            low, high = graph.span_pointer[body], graph.span_pointer[body + 1]
            place = first_at_least(graph.neighbour, low, high, x)
            if place < high and graph.neighbour[place] == x:
                is_own = hides_edge(q, x, c, graph.span_code[body] ^ 1, x, graph.span_node[body])
                _add(body, is_own, count, lost, touched, num)
            continue
        low, high = span_edges(graph, x, body - num_spans)
        leaves, is_lost = False, False
        for e in range(low, high):
            d = graph.neighbour[e]
            is_own = hides_edge(q, x, c, body - num_spans, x, d)
            leaves, is_lost = leaves or (d != x and not is_own), is_lost or (d != x and is_own)
            if leaves:
                break
        if leaves or is_lost:
            _add(body, not leaves, count, lost, touched, num)


class Tally(NamedTuple):
    """Scratch of one thread, all zeros between two calls: by body, how many entities there are of some kind.

    Attributes:
        held: neighbours of the head that the body holds of.
        lost: those that it holds of only by the hidden fact.
        pca: entities with an edge along the step of the head that it holds of.
        touched: bodies with a count.
        least: of each of these, the count that a rule needs.
    """

    held: Ids
    lost: Ids
    pca: Ids
    touched: Longs
    least: Longs

    @classmethod
    def of(cls, num_bodies: int) -> Tally:
        """Make room for `num_bodies`."""
        held, lost, pca = np.zeros((3, num_bodies), np.int32)
        return cls(held, lost, pca, *np.zeros((2, num_bodies), np.int64))


@compiled
def _add_pca(graph: Graph, code: int, amount: int, pca: Ids) -> None:
    """Add `amount` to every body once for each entity with an edge along `code` that it holds of."""
    for i in range(graph.code_pointer[code], graph.code_pointer[code + 1]):
        x = graph.span_node[graph.code_span[i]]
        for span in range(graph.node_span[x], graph.node_span[x + 1]):
            low, high = graph.span_pointer[span], graph.span_pointer[span + 1]
            for e in range(low, high):
                pca[graph.back_span[e]] += amount
            if high - low > 1 or graph.neighbour[low] != x:
                pca[len(graph.span_node) + graph.span_code[span]] += amount


@compiled
def _walk_head(graph: Graph, head: int, code: int, size: Longs, needs: Needs, tally: Tally, flag: Flag) -> int:
    """Count the bodies of one head; returns how many of them were touched, -1 where it was stopped.

    Who has most edges by far is not walked: a rule needs the support of somebody else too, so its bodies are known
    then, and are looked up.
    """
    low, high, c = graph.span_pointer[head], graph.span_pointer[head + 1], graph.span_node[head]
    edges, largest = 0, low
    for m in range(low, high):
        degree = graph.pointer[graph.neighbour[m] + 1] - graph.pointer[graph.neighbour[m]]
        edges += degree
        if degree > graph.pointer[graph.neighbour[largest] + 1] - graph.pointer[graph.neighbour[largest]]:
            largest = m
    hub = graph.neighbour[largest]
    degree = graph.pointer[hub + 1] - graph.pointer[hub]
    is_hub = needs.support > 1 and degree > LOOKUP * (edges - degree)
    touched = 0
    for m in range(low, high):
        if flag[0]:
            return -1
        if m != largest or not is_hub:
            touched = _add_bodies(graph, graph.neighbour[m], code, c, tally.held, tally.lost, tally.touched, touched)
    if is_hub:
        for i in range(touched):
            body = tally.touched[i]
            tally.least[i] = _least(needs, size[body] - tally.lost[body] - 1)
        _look_up(graph, hub, code, c, tally.least, tally.held, tally.lost, tally.touched, touched)
    for i in range(touched):
        body = tally.touched[i]
        tally.least[i] = _least(needs, size[body] - tally.lost[body])
    return touched


@compiled
def _least(needs: Needs, body_size: int) -> int:
    """The least support of a rule whose body holds of so many entities."""
    # Support and smoothed confidence together are the grade.
    by_grade = needs.grade / CONFIDENCES * (body_size + SMOOTHING) / (body_size + SMOOTHING + 1)
    return max(needs.support, 1, math.ceil(max(needs.confidence * body_size, by_grade - NEARLY)))


@compiled
def _anchored_of(
    graph: Graph, code: int, begin: int, end: int, size: Longs, needs: Needs, capacity: int, tally: Tally, flag: Flag
) -> tuple[int, int, int, Longs]:
    """Rules of the heads begin .. end of a code, until `capacity` rows; (next head, rows it takes, rows, columns).

    `size` says how many entities each body holds of.
    """
    columns = np.empty((6, capacity), np.int64)
    num_spans, num_codes, n = len(graph.span_node), graph.num_codes, graph.num_entities
    count, lost, touched = tally.held, tally.lost, tally.touched
    rows = 0
    for place in range(begin, end):
        head = graph.code_span[place]
        if graph.span_pointer[head + 1] - graph.span_pointer[head] < needs.support:
            continue
        num_touched, kept, c = _walk_head(graph, head, code, size, needs, tally, flag), 0, graph.span_node[head]
        if num_touched < 0:
            return end, 0, rows, columns
        for i in range(num_touched):
            body = touched[i]
            if count[body] >= tally.least[i]:
                if rows + kept < capacity:
                    is_span = body < num_spans
                    step = np.int64(graph.span_code[body] ^ 1) if is_span else num_codes + body - num_spans
                    columns[0, rows + kept] = step * n + (graph.span_node[body] if is_span else 0)
                kept += 1
        fits = rows + kept <= capacity
        if fits:
            sort_range(columns[0], rows, rows + kept)
        for i in range(rows, rows + kept if fits else rows):
            step, d = columns[0, i] // n, columns[0, i] % n
            body = num_spans + step - num_codes
            if step < num_codes:
                body = find_span(graph, d, step ^ 1)
            columns[0, i], columns[1, i] = c, step if step < num_codes else step - num_codes
            columns[2, i], columns[3, i] = d if step < num_codes else ANY_NODE, count[body]
            columns[4, i] = size[body] - lost[body]
            columns[5, i] = (tally.pca[body] if code % 2 == 0 else size[body]) - lost[body]
        for i in range(num_touched):
            count[touched[i]], lost[touched[i]] = 0, 0
        if not fits:
            return place, kept, rows, columns
        rows += kept
    return end, 0, rows, columns


def body_sizes(graph: Graph) -> Longs:
    """Count the entities that each body holds of.

    Bodies are the spans k(X, d), and behind them for each code k that there is an edge k to another entity.
    """
    beyond_self = np.bincount(graph.span_code[graph.leaves()], minlength=graph.num_codes)
    return np.concatenate((np.diff(graph.span_pointer), beyond_self))


def anchored_rows(
    graph: Graph, code: int, sizes: Longs, room: Room, tally: Tally, budget: int, flag: Flag = NEVER
) -> Iterator[Longs]:
    """Count anchored and half-anchored rules of all heads q(X, c) for the step `code` q, some heads at a time.

    Rows of the results: the constant of the head, step and end of the body, support, body size, PCA body. The end of a
    half-anchored rule is any other entity (ANY_NODE). `sizes` are those of `body_sizes`; `room` says which rules are
    wanted, `tally` is scratch, a result takes about `budget` bytes, and nothing comes after the `flag` is set.
    """
    begin, end = graph.code_pointer[code ^ 1], graph.code_pointer[(code ^ 1) + 1]
    capacity = max(budget // 48, 1)
    if code % 2 == 0:
        _add_pca(graph, code, 1, tally.pca)
    while begin < end and not flag[0]:
        begin, needed, rows, columns = _anchored_of(graph, code, begin, end, sizes, room.needs, capacity, tally, flag)
        yield columns[:, :rows]
        capacity = max(capacity, needed)
    if code % 2 == 0:
        _add_pca(graph, code, -1, tally.pca)


def prior_rows(graph: Graph, code: int, min_support: int) -> Longs:
    """Count q(X, c) :- true for every c, q being the step `code`: its body has no step and holds for every entity.

    Rows as of `anchored_rows`.
    """
    spans = graph.code_span[graph.code_pointer[code ^ 1] : graph.code_pointer[(code ^ 1) + 1]]
    support = graph.span_pointer[spans + 1] - graph.span_pointer[spans]
    spans, support = spans[support >= min_support], support[support >= min_support]
    subjects = graph.code_pointer[code + 1] - graph.code_pointer[code]
    rows = np.empty((6, len(spans)), np.int64)
    rows[0], rows[1], rows[2], rows[3] = graph.span_node[spans], NO_STEP, ANY_NODE, support
    rows[4], rows[5] = graph.num_entities, subjects if code % 2 == 0 else graph.num_entities
    return rows


def rules_of(kb: KnowledgeBase, graph: Graph, code: int, rows: Longs) -> RuleSet:
    """Make rules of `rows`: q(X, c) for an even `code`, q(c, Y) for an odd one.

    Both have the same spans, seen from the other argument.
    """
    constant, step, end, support, body_size, pca_body = rows
    low, high = graph.edges(constant, code ^ 1)
    return RuleSet.of_lines(
        kb,
        step[:, None],
        head=code >> 1,
        head_entity=constant,
        fixed=SECOND if code % 2 == 0 else FIRST,
        start=X_NODE if code % 2 == 0 else Y_NODE,
        end=end,
        distinct=(step != NO_STEP) & (end == ANY_NODE),
        support=support,
        body_size=body_size,
        head_size=high - low,
        pca_body=pca_body,
    )


def priors(kb: KnowledgeBase, target: int, min_support: int) -> list[RuleSet]:
    """Return p(X, c) :- true and p(c, Y) :- true of a binary `target`."""
    graph, codes = Graph.of(kb), (2 * target, 2 * target + 1)
    return [rules_of(kb, graph, code, prior_rows(graph, code, min_support)) for code in codes]


def constant_rules(task: Task, tensors: TensorCounter | None) -> tuple[list[RuleSet], list[str]]:
    """Return anchored, half-anchored rules and priors, direction by direction of each target, and notes.

    On a device with `tensors`. A search that is stopped has its priors all the same: they take no time, and every query
    has an answer by them.
    """
    kb, graph, options = task.kb, task.graph, task.options
    codes = [int(code) for t in task.targets for code in (2 * t, 2 * t + 1)]
    num_priors = int(np.count_nonzero(np.diff(graph.span_pointer) >= options.min_support))
    most = most_rules(options.memory, len(graph.code) // 2, num_priors)
    room = Room(Needs(options.min_support, options.min_confidence, 0), most)
    if tensors is not None:
        for done, (code, rows) in enumerate(tensors.anchored(codes), start=1):
            if done > 1 and options.is_late:
                break
            room.add(code, rows)
            task.progress("constants", done, len(codes))
    else:
        for code, least, kept in _counted(task, codes, room):
            room.add(code, kept)
            room.raise_to(least)

    def rules(code: int) -> RuleSet:
        rows = np.concatenate((room.take(code), prior_rows(graph, code, options.min_support)), axis=1)
        return RuleSet.join([rules_of(kb, graph, code, rows)])  # equal bodies are merged while they are few

    return [rules(code) for code in codes], room.notes


def _counted(task: Task, codes: list[int], room: Room) -> Iterator[tuple[int, int, np.ndarray]]:
    """(code, least grade, rows) of each code, as many codes at once as there may be room for in memory.

    What the first of them leave no room for the next ones need not find.
    """
    graph, options, sizes = task.graph, task.options, body_sizes(task.graph)
    pool = workers(lambda: Tally.of(len(sizes)), options.threads, options.memory)
    budget = max(options.memory // (CHUNKS * pool.threads), 2**20)
    work = np.cumsum([_edges_of_heads(graph, code, options.min_support) for code in codes])
    batch = (work / max(EDGES_PER_RULE * room.most, 1)).astype(np.int64)

    def count(tally: Tally, task: tuple[int, Needs]) -> tuple[int, int, np.ndarray]:
        code, own = task[0], Room(task[1], room_for)
        for rows in anchored_rows(graph, code, sizes, own, tally, budget, options.flag):
            own.add(code, rows)
        return code, own.needs.grade, own.take(code)

    room_for, before = room.most, 0
    for number in np.unique(batch):
        some = [code for code, place in zip(codes, batch) if place == number]
        report = partial(_report, task.progress, before, len(codes))
        yield from pool.map(count, [(code, room.needs) for code in some], "constants", report, options.stop)
        before += len(some)


def _report(progress: Progress, before: int, total: int, stage: str, done: int, of: int, note: str = "") -> None:
    progress(stage, before + done, total)


@compiled
def _edges_of_heads(graph: Graph, code: int, min_support: int) -> int:
    """The edges that are walked for the heads of a code."""
    edges = 0
    for place in range(graph.code_pointer[code ^ 1], graph.code_pointer[(code ^ 1) + 1]):
        low, high = graph.span_pointer[graph.code_span[place]], graph.span_pointer[graph.code_span[place] + 1]
        largest = 0
        for m in range(low, high if high - low >= min_support else low):
            degree = graph.pointer[graph.neighbour[m] + 1] - graph.pointer[graph.neighbour[m]]
            edges, largest = edges + degree, max(largest, degree)
        edges -= largest
    return edges


class Room:
    """The rules with constants that there is room for: those of the largest support, of equal ones the most confident.

    Rules come in any order, and which of them are kept depends on all of them together: a rule that goes is worth less
    than each of so many others that it would go at any later time too.
    """

    def __init__(self, needs: Needs, most: int) -> None:
        """`needs` says what every rule needs; `most` are kept."""
        self.needs, self.most = needs, most
        self._parts: dict[int, list[np.ndarray]] = {}
        self._graded = np.zeros(GRADES, np.int64)

    def add(self, code: int, rows: np.ndarray) -> None:
        """Keep the rules `rows` (see `anchored_rows`) of the step `code`, or the best of them."""
        grade = _grades(rows)
        self._graded += np.bincount(grade, minlength=GRADES)
        self._parts.setdefault(code, []).append(rows[:, grade >= self.needs.grade].astype(np.int32))
        kept = np.cumsum(self._graded[::-1])[::-1]
        if kept[self.needs.grade] > self.most:
            self.raise_to(int(np.searchsorted(-kept, -self.most)))

    def raise_to(self, grade: int) -> None:
        """Keep no rule below this `grade`."""
        if grade > self.needs.grade:
            self.needs = self.needs._replace(grade=grade)
            for code, parts in self._parts.items():
                self._parts[code] = [part[:, _grades(part) >= grade] for part in parts]

    def take(self, code: int) -> np.ndarray:
        """Return what is kept of the step `code`, in the order it came, and forget it."""
        return np.concatenate([np.zeros((6, 0), np.int32), *self._parts.pop(code, [])], axis=1)

    @property
    def notes(self) -> list[str]:
        """What was left out, for the user."""
        if not self.needs.grade:
            return []
        support, kept = self.needs.grade // CONFIDENCES, int(self._graded[self.needs.grade :].sum())
        return [
            f"anchored rules: the {kept:,} with the largest support were kept, {support:,} or more; "
            "the memory has no room for others (see --memory)"
        ]


def _grades(rows: np.ndarray) -> Longs:
    """How much each of some rows (see `anchored_rows`) is worth, as a number below GRADES."""
    support = np.minimum(rows[3], GRADES // CONFIDENCES - 1).astype(np.int64)
    confidence = smoothed_confidence(rows[3], rows[4])
    return support * CONFIDENCES + np.minimum(confidence * CONFIDENCES, CONFIDENCES - 1).astype(np.int64)
