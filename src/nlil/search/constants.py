"""Rules with a constant in the head for all targets, as one RuleSet: counted by loops or on a device, then joined.

`anchored.py` says what these rules are and counts them, `room.py` which are kept.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from ..data.arrays import Mask
from ..data.kb import KnowledgeBase
from ..kernel.bodies import ANY_NODE, NO_STEP, X_NODE, Y_NODE, Bodies, Lines, step_dtype
from ..kernel.graph import Graph, span_numbers
from ..kernel.pool import workers
from ..kernel.ruleset import FIRST, SECOND, RuleSet, count_dtype
from ..progress import Progress
from .anchored import HeadCounter, Heads, body_sizes, prior_rows
from .cost import most_rules
from .options import Task
from .room import BODY, BODY_SIZE, HEAD, PCA_BODY, ROW, SUPPORT, Needs, Room

if TYPE_CHECKING:
    from .tensors import TensorCounter

CHUNKS = 32
"""The budget of all threads together is this many times what comes back from one compiled call."""
EDGES_PER_RULE = 4
"""Edges that are walked for each anchored rule found, about; 5 on a generated graph of 0.3 million facts."""
PART_EDGES = 2**23
"""Edges of the heads of one task: the largest predicate must not keep one thread busy while others wait."""
AT_ONCE = 4
"""Tasks for each thread at least, before the next ones are told what there is no room for."""


def constant_rules(task: Task, tensors: TensorCounter | None) -> tuple[RuleSet, list[str]]:
    """Return anchored, half-anchored rules and priors, direction by direction of each target, and notes.

    On a device with `tensors`. A search that is stopped has its priors all the same: they take no time, and every query
    has an answer by them.
    """
    graph, options = task.graph, task.options
    codes = [int(code) for t in task.targets for code in (2 * t, 2 * t + 1)]
    num_priors = int(np.count_nonzero(np.diff(graph.span_pointer) >= options.min_support))
    most = most_rules(options.memory, len(graph.code) // 2, num_priors, options.seconds_left)
    room = Room(Needs(options.min_support, options.min_confidence, 0), most, _numbers(graph))
    if tensors is not None:
        for done, (code, rows) in enumerate(tensors.anchored(codes), start=1):
            if done > 1 and options.is_late:
                break
            room.add(code, rows)
            task.progress("constants", done, len(codes))
    elif not options.is_late:
        for code, least, kept in _counted(task, codes, room):
            room.add(code, kept)
            room.raise_to(least)
    parts = [part for code in codes for part in (*room.take(code), prior_rows(graph, code, options.min_support))]
    return rules_of_rows(task.kb, graph, parts), room.notes


def priors(kb: KnowledgeBase, targets: Sequence[int], min_support: int) -> RuleSet:
    """Return p(X, c) :- true and p(c, Y) :- true of binary `targets`, where they hold `min_support` times."""
    graph = Graph.of(kb)
    codes = [code for target in targets for code in (2 * target, 2 * target + 1)]
    return rules_of_rows(kb, graph, [prior_rows(graph, code, min_support) for code in codes])


# counting on many threads -------------------------------------------------------------------------------


def _counted(task: Task, codes: list[int], room: Room) -> Iterator[tuple[int, int, np.ndarray]]:
    """(code, least grade, rows) of some heads at a time, as many at once as there may be room for in memory.

    What the first of them leave no room for the next ones need not find.
    """
    graph, options, sizes = task.graph, task.options, body_sizes(task.graph)
    pool = workers(lambda: HeadCounter(graph, sizes), options.threads, options.memory)
    budget = max(options.memory // (CHUNKS * pool.threads), 2**20)
    parts = [part for code in codes for part in Heads.of(graph, code).cut(graph, options.min_support, PART_EDGES)]
    work = np.cumsum([edges for _, edges in parts])
    most, dtype = room.most, _numbers(graph)
    batch = (work / max(EDGES_PER_RULE * most, AT_ONCE * PART_EDGES * pool.threads)).astype(np.int64)

    def count(counter: HeadCounter, some: tuple[Heads, Needs]) -> tuple[int, int, np.ndarray]:
        heads, own = some[0], Room(some[1], most, dtype)
        for rows in counter.rows(heads, own, budget, options.flag):
            own.add(heads.code, rows)
        found = np.concatenate([np.zeros((ROW, 0), np.int32), *own.take(heads.code)], axis=1)
        return heads.code, own.needs.grade, found

    before = 0
    for number in np.unique(batch):
        some = [heads for (heads, _), place in zip(parts, batch) if place == number]
        report = partial(_report, task.progress, before, len(parts))
        yield from pool.map(count, [(heads, room.needs) for heads in some], "constants", report, options.stop)
        before += len(some)


def _report(progress: Progress, before: int, total: int, stage: str, done: int, of: int, note: str = "") -> None:
    progress(stage, before + done, total)


# from rows to rules -------------------------------------------------------------------------------------


def _numbers(graph: Graph) -> type:
    """The narrowest type for spans and bodies."""
    return span_numbers(graph.num_spans + graph.num_codes + 1)


def rules_of_rows(kb: KnowledgeBase, graph: Graph, parts: Sequence[np.ndarray]) -> RuleSet:
    """Make rules of the rows of all `parts` (see `room.ROW`), which are counted on `graph`.

    They are q(X, c) for an even step q, q(c, Y) for an odd one: both have the same spans, seen from the other argument.
    Bodies are numbered already, so equal ones need no sorting to be found: there may be tens of millions of rules.
    """

    def column(place: int, dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *(part[place].astype(dtype, copy=False) for part in parts)])

    head, body = (column(place, _numbers(graph)) for place in (HEAD, BODY))
    is_second = (graph.span_code & 1 == 1)[head]  # the span of q(X, c) is that of c along q ^ 1
    used = _used(graph, is_second, body)
    number = (np.cumsum(used) - 1).astype(np.int32).reshape(used.shape)
    bodies = number[0, body]
    bodies[is_second] = number[1, body[is_second]]
    bodies[body == graph.num_spans + graph.num_codes] = number[1, -1]
    counts = count_dtype(max((int(part[SUPPORT:].max(initial=0)) for part in parts), default=0))
    return replace(
        RuleSet.empty(kb),
        bodies=Bodies.of_lines(_lines(kb, graph, used)),
        head=(graph.span_code >> 1)[head],
        head_entity=graph.span_node[head],
        fixed=np.where(is_second, np.int8(SECOND), np.int8(FIRST)),
        body=bodies,
        support=column(SUPPORT, counts),
        body_size=column(BODY_SIZE, counts),
        head_size=np.diff(graph.span_pointer).astype(counts)[head],
        pca_body=column(PCA_BODY, counts),
    )


def _used(graph: Graph, is_second: Mask, body: np.ndarray) -> Mask:
    """(2, bodies): which bodies start at Y, and which at X; `true` starts nowhere, and counts as one at X."""
    used = np.zeros((2, graph.num_spans + graph.num_codes + 1), bool)
    used[0, body[~is_second]] = True
    used[1, body[is_second]] = True
    used[:, -1] = False, used[:, -1].any()
    return used


def _lines(kb: KnowledgeBase, graph: Graph, used: Mask) -> Lines:
    """The lines of the bodies that are `used`, in their order."""
    from_x, body = np.nonzero(used)
    span, code = np.minimum(body, max(graph.num_spans - 1, 0)), body - graph.num_spans
    is_span, is_true = code < 0, code == graph.num_codes
    steps = np.select([is_span, is_true], [graph.span_code[span] ^ 1, NO_STEP], code) if len(body) else code
    return Lines.of(
        steps.astype(step_dtype(kb.num_codes))[:, None],
        np.where(from_x, X_NODE, Y_NODE),
        np.where(is_span, graph.span_node[span], ANY_NODE) if len(body) else ANY_NODE,
        ~is_span,
    )
