"""Filtered ranks of the answers of binary queries, in both directions, on several threads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from itertools import groupby
from typing import TypeVar

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import KINDS, Ranks, ScoreSpace, evidence, frequency_evidence, score_space
from ..kernel.compiled import SmallWork
from ..kernel.device import resolve_device
from ..kernel.exclusion import by_code
from ..kernel.graph import Graph
from ..kernel.pool import Pool, workers
from ..kernel.ruleset import RuleSet
from ..kernel.walk import expected_steps
from ..progress import Progress, Stop, Stopped, silent
from .blocks import places, score_block
from .places import QueryBlock
from .plan import (
    ITEM,
    MOST_WALKED,
    STEP,
    Plan,
    RowsByShape,
    Shapes,
    TargetRules,
    excluded_codes,
    kinds,
    plan,
)
from .programs import program_evidence
from .queries import AnswerIndex, QueryBatch, RankingTask, TargetGroup, TargetQueries, flat, queries_done
from .settling import SHORT_STEPS

Result = TypeVar("Result")
Planned = tuple[int, Plan, RuleSet]
"""The number of a group of queries, its plan, and its rules without a loop."""
PlannedFor = tuple[int, int, Ids | None]
"""A target, a direction, and the known entities of the queries to plan for; None: any."""

BLOCK = 32
"""Queries per task."""
BLOCK_BYTES = 2**22
"""Limit of the memory for the scores of a block of queries, whatever the number of entities."""
EVIDENCE_BLOCK = 2**19
"""Rules whose evidence is computed in one task."""
BYTES_PER_RULE = 32
"""Memory of a rule in the plans of both directions."""


class Ranker:
    """Scores the queries of binary targets with a RuleSet bound to the vocabulary of `kb`.

    If `device` is cuda, or auto and there is a GPU, the GPU ranks the queries that it supports; scores are the same.
    Methods raise Stopped if `stop` comes while they run.
    """

    def __init__(
        self,
        rules: RuleSet,
        kb: KnowledgeBase,
        threads: int = 0,
        memory: int = 2**30,
        device: str = "cpu",
        stop: Stop | None = None,
    ) -> None:
        self.rules, self.kb, self.memory, self.device, self.stop = rules, kb, memory, device, stop
        if device != "auto":
            resolve_device(device)  # a missing device is an error now, not later
        self.graph: Graph = Graph.of(kb)
        self._crosses = self.graph.crosses()
        self._shapes = Shapes.of(rules.bodies, self.graph)
        self._exclusions = by_code(rules.exclusions, kb)
        self._order = np.argsort(rules.head, kind="stable")
        self._pointer = offsets(rules.head[self._order], kb.num_predicates)
        self.top, self.strongest_only = rules.aggregation.places, rules.aggregation.strongest_only
        width = rules.bodies.lines.width
        kinds = len(KINDS) - 1 if rules.aggregation.weighing else 1
        self._small = SmallWork()
        flag = None if stop is None else stop.flag
        self.pool: Pool[ScoreSpace] = workers(
            lambda: score_space(kb.num_entities, self.top, width, kinds, flag, not self.graph.is_crisp), threads, memory
        )

    def rows_of(self, target: int) -> Longs:
        """Return the rows of the rule set whose head is the predicate id `target`."""
        return self._order[self._pointer[target] : self._pointer[target + 1]]

    def target_plan(self, target: int, direction: int) -> tuple[Plan, RuleSet]:
        """Return the plan of the line rules and exclusions of `target`, and its rules without a loop."""
        return self._plan(self._target_rules(target), target, direction)

    def numbered_plan(self, target: int, direction: int, number: Longs | None = None) -> tuple[Plan, Longs]:
        """Return the plan with the `number` of each rule in place of its evidence, and the rules without a loop.

        By default, rules are numbered from 1.
        """
        target_rules = self._target_rules(target)
        number = np.arange(1, len(target_rules.rules) + 1, dtype=np.int64) if number is None else number
        return self._plan(replace(target_rules, power=number), target, direction)[0], target_rules.parts.rest

    def kinds_of(self, target: int) -> Longs:
        """Return (2, rules): the kind (KINDS) of each rule of a target, by direction of query."""
        target_rules = self._target_rules(target)
        return np.stack([kinds(target_rules, direction) for direction in (0, 1)])

    def few(self) -> Ranker:
        """Return this ranker without the rules with constants that a GPU lays out by itself."""
        few, rules = copy(self), self.rules
        few.rules = rules.take((self.items[rules.body] < 0) | (rules.fixed == 0)) if len(rules) else rules
        few._order = np.argsort(few.rules.head, kind="stable")
        few._pointer = offsets(few.rules.head[few._order], self.kb.num_predicates)
        return few

    @cached_property
    def items(self) -> Longs:
        """The item of each body: the span of k(X, d); num_spans + code of k(X, Z) with distinct variables.

        Other bodies, and k(X, d) without a fact, have -1.
        """
        lines, line = self.rules.bodies.lines, np.maximum(self.rules.bodies.line, 0)
        if not lines.num_lines:
            return np.zeros(0, np.int64)
        is_step = (self._shapes.shape == STEP) & lines.distinct[line]
        of_code = self.graph.num_spans + lines.steps[line, 0].astype(np.int64)
        return np.where(is_step, of_code, np.where(self._shapes.shape == ITEM, self._shapes.item, -1))

    @property
    def columns(self) -> tuple[np.ndarray, ...]:
        """The columns that describe rules with constants: body, fixed, head entity, head."""
        return self.rules.body, self.rules.fixed, self.rules.head_entity, self.rules.head

    def powers(self) -> Longs:
        """Return the evidence of every rule."""
        found = np.empty(len(self.rules), np.int64)

        def some(_: ScoreSpace, part: slice) -> None:
            found[part] = evidence(self.rules.take(part).weights)

        self.pool.map_here(some, [slice(i, i + EVIDENCE_BLOCK) for i in range(0, len(found), EVIDENCE_BLOCK)])
        return found

    def rules_of(self, target: int) -> RuleSet:
        """Return the rules whose head is the predicate id `target`."""
        return self.rules.take(self.rows_of(target))

    def _target_rules(self, target: int) -> TargetRules:
        rules = self.rules_of(target)
        parts = RowsByShape.of(rules, self._shapes)
        if self._crosses:  # the loops do not check which graph a node belongs to
            none, rest = parts.prior[:0], np.setdiff1d(np.arange(len(rules)), parts.prior)
            parts = RowsByShape(none, none, none, parts.prior, rest)
        return TargetRules.of(rules, self._shapes, parts)

    def _plan(
        self, target_rules: TargetRules, target: int, direction: int, queried: Ids | None = None
    ) -> tuple[Plan, RuleSet]:
        frequency = None
        if self.rules.aggregation.by_frequency:
            code, graph = 2 * target + 1 - direction, self.graph
            spans = graph.code_span[graph.code_pointer[code] : graph.code_pointer[code + 1]]
            count = graph.span_pointer[spans + 1] - graph.span_pointer[spans]
            frequency = graph.span_node[spans], frequency_evidence(count)
        layout = plan(target_rules, self.graph, direction, frequency, queried)
        excluded = excluded_codes(self._exclusions.get(target, ()), direction, self.graph.num_codes)
        layout = layout._replace(code=2 * target + direction, excluded=excluded)
        return layout, target_rules.rules.take(target_rules.parts.rest)

    def evidence(self, target: int, direction: int, known: int, hidden_end: int = -1) -> Longs:
        """Return the evidence of every entity as an answer to the query at the entity `known`.

        `hidden_end` is the other end of the hidden fact, or -1.
        """
        query, end = np.array([known], np.int32), np.array([hidden_end], np.int32)
        layout, rest = self.target_plan(target, direction)
        extra = list(program_evidence(rest, self.kb, layout.code, query, end, self.memory))
        steps = expected_steps(self.graph, layout.chain_steps) + self.graph.num_entities
        steps += self._num_members(layout, known)
        with self._small.of(steps):
            return self._totals(self.pool.scratch(), layout, query, end, extra)[0]

    def each(
        self, queries: Sequence[TargetQueries], use: Callable[[int, int, Longs], Result], progress: Progress = silent
    ) -> list[list[Result]]:
        """Return the results of use(g, i, total) for each query i of queries[g], in order.

        total[b] is the evidence of candidate b; `use` may write to it. `progress` counts blocks of queries.
        """
        results: list[list[Result]] = [[] for _ in queries]
        rest = self._each_on_device(queries, use, results)
        step = self.block_size
        Block = tuple[int, Plan, slice, list[np.ndarray]]

        def run(space: ScoreSpace, block: Block) -> tuple[int, list[Result]]:
            g, layout, some, extra = block
            totals = self._totals(space, layout, queries[g].query[some], queries[g].hidden[some], extra)
            return g, [use(g, some.start + i, total) for i, total in enumerate(totals)]

        def blocks(g: int, layout: Plan, rest: RuleSet) -> Iterator[Block]:
            _, _, query, hidden = queries[g]
            extra = program_evidence(rest, self.kb, layout.code, query, hidden, self.memory)
            for low in range(0, len(query), step):
                some = slice(low, min(low + step, len(query)))
                yield g, layout, some, [next(extra) for _ in query[some]]

        for planned in self._planned([queries[g][:3] for g in rest]):
            work = [block for i, layout, general in planned for block in blocks(rest[i], layout, general)]
            scored = self.pool.map_here(run, work, "score", progress, self.stop)
            self.check_time()
            for g, found in scored:
                results[g].extend(found)
        return results

    def _each_on_device(
        self, queries: Sequence[TargetQueries], use: Callable[[int, int, Longs], Result], results: list[list[Result]]
    ) -> list[int]:
        """Add the results of the groups that a GPU supports to `results`; return the numbers of the other groups."""
        if not self._uses_device(np.repeat([q.target for q in queries], [len(q.query) for q in queries])):
            return list(range(len(queries)))
        from .device_ranking import DeviceRanker, QueryGroup

        plans, rest = self._for_device([q[:2] for q in queries], [bool((q.hidden < 0).all()) for q in queries])
        on_device, none = [queries[g] for g in plans], np.zeros(0, np.int64)
        layouts = [
            QueryGroup(plan, none, q.query.astype(np.int64), none, q.direction)
            for plan, q in zip(plans.values(), on_device)
        ]
        numbers = list(plans)
        for group, place, totals in DeviceRanker(self, resolve_device(self.device)).totals(layouts, self.memory):
            which = [numbers[g] for g in group]

            def run(_: ScoreSpace, i: int) -> Result:
                return use(which[i], int(place[i]), totals[i])  # noqa: B023 - it runs at once

            for g, found in zip(which, self.pool.map_here(run, range(len(which)))):
                results[g].append(found)
        return rest

    def check_time(self) -> None:
        """Raise Stopped after a `stop`, because results found since are incomplete."""
        if self.stop is not None and self.stop():
            raise Stopped

    def _num_members(self, layout: Plan, known: int) -> int:
        """Return the total number of members of the bodies of the back rules of an entity."""
        graph, place = self.graph, int(np.searchsorted(layout.back_entity, known))
        if place == len(layout.back_entity) or layout.back_entity[place] != known:
            return 0
        body = layout.back_body[slice(*layout.back_pointer[place : place + 2])].astype(np.int64)
        span, code = body[body < graph.num_spans], (body[body >= graph.num_spans] - graph.num_spans) >> 1
        return sum(int((p[i + 1] - p[i]).sum()) for p, i in ((graph.span_pointer, span), (graph.code_pointer, code)))

    @property
    def block_size(self) -> int:
        """The number of queries that are scored at once."""
        return max(1, min(BLOCK, BLOCK_BYTES // (8 * self.kb.num_entities)))

    def _totals(self, space: ScoreSpace, layout: Plan, query: Ids, hidden: Ids, extra: list[np.ndarray]) -> np.ndarray:
        """Return (queries, entities): the evidence of every candidate."""
        block = QueryBlock.open(query, hidden, *flat(extra))
        return score_block(self.graph, layout, block, self.top, self.strongest_only, space)

    def rank(self, facts: Facts, known: Facts, hide: bool = False, progress: Progress = silent) -> Ranks:
        """Rank both directions of every binary fact of `facts`; facts of the base and `known` facts do not compete.

        With `hide`, facts of the base are hidden from their own queries.
        """
        all_groups = groups = list(self.groups(facts))
        # A fact that is not in the base need not be hidden; then all queries at an entity have the same scores.
        own = facts.isin(self.kb.facts) if hide else np.zeros(len(facts), bool)
        counts = np.zeros((3, 2, len(facts)), np.int64)
        if self._uses_device(facts.predicate[~facts.is_unary]):
            (row, direction, above, tied), groups = self._on_device(groups, facts, known, own)
            counts[:, direction, row] = above, tied, np.ones_like(tied)
        done, total = 0, sum(len(rows) for *_, rows in groups)
        for batches in self.batches(groups, facts, known, own):
            tasks = [task for batch in batches for task in self.tasks(batch)]
            reached = done + np.cumsum([0] + [len(task.rows) for task in tasks])
            report = queries_done(progress, "rank", reached, total)
            found = self.pool.map(self._block, tasks, progress=report, stop=self.stop)
            self.check_time()
            for task, ranked in zip(tasks, found):
                counts[:, task.batch.direction, task.rows] = ranked
            done = int(reached[-1])
        results = [np.zeros((5, 0), np.int64)]
        for _, direction, rows in all_groups:  # the order is the same on every device, and so are means of the ranks
            columns = np.stack((rows, np.full(len(rows), direction)))
            results.append(np.concatenate((columns, counts[:, direction, rows])))
        return Ranks(*np.concatenate(results, axis=1))

    def _uses_device(self, queried: Ids) -> bool:
        """Return whether to use a GPU. If most queries need CPU walks, the CPU alone is faster.

        `queried` are the predicates of the queries.
        """
        if self.device == "cpu" or not self.top or not self.graph.is_crisp or self._crosses:
            return False
        rules = self.rules
        is_long = (self._shapes.length > SHORT_STEPS)[rules.body] if len(rules) else np.zeros(0, bool)
        walked = np.bincount(rules.head[is_long], minlength=self.kb.num_predicates)
        on_cpu = int(np.count_nonzero(walked[queried] > MOST_WALKED))
        return 2 * on_cpu <= len(queried) and resolve_device(self.device) == "cuda"

    def _on_device(
        self, groups: list[TargetGroup], facts: Facts, known: Facts, own: Mask
    ) -> tuple[np.ndarray, list[TargetGroup]]:
        """Return the ranks of the groups that the GPU supports, and the groups left for the CPU."""
        from .device_ranking import DeviceRanker, QueryGroup

        plans, rest = self._for_device([group[:2] for group in groups], [not own[rows].any() for *_, rows in groups])
        queries = []
        for number, layout in plans.items():
            _, direction, rows = groups[number]
            ends = (facts.subject[rows].astype(np.int64), facts.object[rows].astype(np.int64))
            queries.append(QueryGroup(layout, rows, ends[direction], ends[1 - direction], direction))
        ranked = DeviceRanker(self, resolve_device(self.device)).rank(queries, known, self.memory)
        return ranked, [groups[number] for number in rest]

    def _for_device(
        self, groups: Sequence[tuple[int, int]], is_open: Sequence[bool]
    ) -> tuple[dict[int, Plan], list[int]]:
        """Return the plans of the groups that a GPU supports, by number, and the numbers of the other groups.

        A GPU cannot hide facts: `is_open` marks the groups without hidden facts.
        """
        from .device_ranking import fits

        plans = {
            number: layout
            for number, (layout, general) in enumerate(self.few()._plans([(*group, None) for group in groups]))
            if is_open[number] and self.top and not len(general) and fits(layout, self.graph)
        }
        return plans, [number for number in range(len(groups)) if number not in plans]

    def groups(self, facts: Facts) -> Iterator[TargetGroup]:
        """Yield (target, direction, rows of the facts of this target), ordered by target."""
        binary = np.flatnonzero(~facts.is_unary)
        for target in np.unique(facts.predicate[binary]):
            rows = binary[facts.predicate[binary] == target]
            for direction in (0, 1):
                yield int(target), direction, rows

    def _plans(self, groups: Sequence[PlannedFor]) -> list[tuple[Plan, RuleSet]]:
        """Return the plan of each group; both directions of a target share their preparation."""

        def both(_: ScoreSpace, some: list[PlannedFor]) -> list[tuple[Plan, RuleSet]]:
            target_rules = self._target_rules(some[0][0])
            return [self._plan(target_rules, *group) for group in some]

        by_target = [list(some) for _, some in groupby(groups, lambda group: group[0])]
        found = self.pool.map_here(both, by_target, stop=self.stop)
        self.check_time()
        return [planned for of_target in found for planned in of_target]

    def _planned(self, groups: Sequence[PlannedFor]) -> Iterator[list[Planned]]:
        """Yield the groups with their plans in batches; the plans of a batch take about a quarter of the memory.

        Groups with rules without a loop come one at a time, since `programs` may need much memory.
        """
        size = np.array([len(self.rows_of(target)) * BYTES_PER_RULE / 2 for target, *_ in groups])
        number = (np.cumsum(size) // max(self.memory // 4, 1)).astype(np.int64)
        for _, some in groupby(range(len(groups)), lambda i: number[i]):
            chosen = list(some)
            planned = [(i, *plan) for i, plan in zip(chosen, self._plans([groups[i] for i in chosen]))]
            yield [item for item in planned if not len(item[2])]
            yield from ([item] for item in planned if len(item[2]))

    def batches(self, groups: list[TargetGroup], facts: Facts, known: Facts, own: Mask) -> Iterator[list[QueryBatch]]:
        """Yield the queries of all groups as lists of batches; `own` marks facts to hide from their own query."""

        def batch(_: ScoreSpace, planned: Planned) -> QueryBatch:
            i, layout, rest = planned
            return QueryBatch.of(*groups[i], layout, rest, facts, known, own, self.graph)

        ends = facts.subject, facts.object
        for some in self._planned([(target, direction, ends[direction][rows]) for target, direction, rows in groups]):
            yield self.pool.map_here(batch, some)

    def tasks(self, batch: QueryBatch) -> Iterator[RankingTask]:
        """Yield the queries of `batch` as tasks of up to BLOCK queries."""
        extra = program_evidence(batch.rest, self.kb, batch.plan.code, batch.query, batch.hidden, self.memory)
        for low in range(0, len(batch.query), BLOCK):
            high = min(low + BLOCK, len(batch.query))
            yield RankingTask(batch, low, high, [next(extra) for _ in range(low, high)])

    def _block(self, space: ScoreSpace, task: RankingTask) -> np.ndarray:
        plan, top, strongest_only = task.batch.plan, self.top, self.strongest_only
        return places(self.graph, plan, task.block, top, strongest_only, space)


__all__ = ["AnswerIndex", "Ranker", "TargetGroup"]
