"""Rules with a constant in the head for all targets, as one RuleSet: counted by loops or on a device, then joined.

`anchored.py` defines and counts these rules; `top_rules.py` decides which are kept.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
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
from .options import Arrays, CountingTask
from .top_rules import BODY, BODY_SIZE, HEAD, PCA_BODY, ROW, SUPPORT, Thresholds, TopRules

if TYPE_CHECKING:
    from .tensors import TensorCounter

Counts = tuple[int, int, np.ndarray]
"""A step code, the least grade of a rule that was kept, and the rows of these rules (see `top_rules.ROW`)."""
CHUNKS = 32
"""One compiled call returns at most the memory budget, divided by this and by the number of threads."""
EDGES_PER_RULE = 4
"""Approximate number of edges walked per anchored rule found; 5 on a generated graph of 0.3 million facts."""
PART_EDGES = 2**23
"""Edges per task: the largest predicate must not keep one thread busy while others wait."""
AT_ONCE = 4
"""Least number of tasks per thread between two updates of the thresholds."""


def constant_rules(task: CountingTask, tensors: TensorCounter | None) -> tuple[RuleSet, list[str]]:
    """Return anchored rules, half-anchored rules and priors by target and direction, and notes.

    `tensors` counts on a device. Priors are returned even if the search was stopped: they take no time, and give every
    query an answer.
    """
    graph, options = task.graph, task.options
    codes = [int(code) for t in task.targets for code in (2 * t, 2 * t + 1)]
    num_priors = int(np.count_nonzero(np.diff(graph.span_pointer) >= options.min_support))
    most = most_rules(options.memory, len(graph.code) // 2, num_priors, options.seconds_left)
    best = TopRules(Thresholds(options.min_support, options.min_confidence, 0), most, _numbers(graph))
    if tensors is not None:
        for done, (code, rows) in enumerate(tensors.anchored(codes), start=1):
            if done > 1 and options.is_late:
                break
            best.add(code, rows)
            task.progress("constants", done, len(codes))
    elif not options.is_late:
        for code, least, rows in _counted(task, codes, best):
            best.add(code, rows)
            best.raise_to(least)
    parts = [part for code in codes for part in (*best.take(code), prior_rows(graph, code, options.min_support))]
    return rules_of_rows(task.kb, graph, parts), best.notes


def priors(kb: KnowledgeBase, targets: Sequence[int], min_support: int) -> RuleSet:
    """Return p(X, c) :- true and p(c, Y) :- true of binary `targets` that have `min_support`."""
    graph = Graph.of(kb)
    codes = [code for target in targets for code in (2 * target, 2 * target + 1)]
    return rules_of_rows(kb, graph, [prior_rows(graph, code, min_support) for code in codes])


# counting on many threads -------------------------------------------------------------------------------


def _counted(task: CountingTask, codes: list[int], best: TopRules) -> Iterator[Counts]:
    """Yield (code, least grade, rows) of batches of heads, each about as large as memory allows.

    The rules of one batch raise the thresholds of `best` for the next.
    """
    graph, options, sizes = task.graph, task.options, body_sizes(task.graph)
    pool = workers(lambda: HeadCounter(graph, sizes), options.threads, options.memory)
    budget = max(options.memory // (CHUNKS * pool.threads), 2**20)
    parts = [part for code in codes for part in Heads.of(graph, code).cut(graph, options.min_support, PART_EDGES)]
    work = np.cumsum([edges for _, edges in parts])
    most, dtype = best.most, _numbers(graph)
    batch = (work / max(EDGES_PER_RULE * most, AT_ONCE * PART_EDGES * pool.threads)).astype(np.int64)

    def count(counter: HeadCounter, part: tuple[Heads, Thresholds]) -> Counts:
        heads, own = part[0], TopRules(part[1], most, dtype)
        for rows in counter.rows(heads, own, budget, options.flag):
            own.add(heads.code, rows)
        found = np.concatenate([np.zeros((ROW, 0), np.int32), *own.take(heads.code)], axis=1)
        return heads.code, own.thresholds.grade, found

    before = 0
    for number in np.unique(batch):
        tasks = [(heads, best.thresholds) for (heads, _), own in zip(parts, batch) if own == number]
        report = partial(_report, task.progress, before, len(parts))
        name = f"constants {number} with {pool.threads} threads"
        counted = partial(pool.map, count, tasks, "constants", report, options.stop)
        yield from _from_arrays(options.stages(name, partial(_as_arrays, counted)))
        before += len(tasks)


def _as_arrays(count: Callable[[], Sequence[Counts]]) -> Arrays:
    """Return what `count` counts of some heads as arrays by name."""
    found = count()
    rows = {f"rows {place:06}": rows for place, (_, _, rows) in enumerate(found)}
    return {"heads": np.array([pair for *pair, _ in found], np.int64).reshape(-1, 2), **rows}


def _from_arrays(arrays: Arrays) -> Iterator[Counts]:
    for place, (code, grade) in enumerate(arrays["heads"].tolist()):
        yield code, grade, arrays[f"rows {place:06}"]


def _report(progress: Progress, before: int, total: int, stage: str, done: int, of: int, note: str = "") -> None:
    progress(stage, before + done, total)


# from rows to rules -------------------------------------------------------------------------------------


def _numbers(graph: Graph) -> type:
    """Return the narrowest type for the numbers of spans and bodies."""
    return span_numbers(graph.num_spans + graph.num_codes + 1)


def rules_of_rows(kb: KnowledgeBase, graph: Graph, parts: Sequence[np.ndarray]) -> RuleSet:
    """Make rules of the rows of all `parts` (see `top_rules.ROW`), which were counted on `graph`.

    An even step q gives q(X, c), an odd one q(c, Y): both have the same spans, seen from the other argument. Equal
    bodies have the same number, so no sorting is needed: there may be tens of millions of rules.
    """

    def column(place: int, dtype: type) -> np.ndarray:
        return np.concatenate([np.zeros(0, dtype), *(part[place].astype(dtype, copy=False) for part in parts)])

    head, body = (column(place, _numbers(graph)) for place in (HEAD, BODY))
    is_second = (graph.span_code & 1 == 1)[head]  # the span of q(X, c) runs from c along q ^ 1
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
    """Return (2, bodies): which bodies start at Y, and which at X; `true` has no start and is listed at X."""
    used = np.zeros((2, graph.num_spans + graph.num_codes + 1), bool)
    used[0, body[~is_second]] = True
    used[1, body[is_second]] = True
    used[:, -1] = False, used[:, -1].any()
    return used


def _lines(kb: KnowledgeBase, graph: Graph, used: Mask) -> Lines:
    """Return the lines of the `used` bodies, in order."""
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
