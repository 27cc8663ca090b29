"""Filtered ranks on a GPU: evidence is an integer, so the ranks are the same as on a CPU.

All targets of a split are laid out together and ranked in batches of queries; `device_kernel.fire` collects the rules
that fire. Rules with constants, nearly all of a large pool, are sorted on the device; plans hold the others. The ends
of chains of one and two steps are found by sorting path keys on the device; other chains are walked by the compiled
loops. Everything else (programs, soft facts, hidden facts) is left to the CPU ranker.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Ids, Longs, run_starts
from ..data.facts import Facts
from ..kernel.aggregation import SHIFT, UNIT, ScoreSpace, compare, tie_bounds
from ..kernel.calculus import ranges, unique_pairs
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact
from ..kernel.ruleset import FIRST, SECOND
from ..kernel.walk import NO_LIMIT, WalkSpace, reach
from .plan import MOST_WALKED, Plan

if TYPE_CHECKING:
    from .ranking import Ranker

BYTES_PER_PATH = 96
BLOCK = 32


@dataclass(frozen=True, eq=False)
class QueryGroup:
    """The queries of one target in one `direction`: `rows` of facts, the known entity of each `query`, its `answer`.

    `plan` has the rules of the target, except those with constants (see `Ranker.few`).
    """

    plan: Plan
    rows: Longs
    query: Longs
    answer: Longs
    direction: int


def is_short(plan: Plan, graph: Graph) -> np.ndarray:
    """Return which chains are evaluated on the device: one or two steps, with distinct variables."""
    filters = graph.is_unary[plan.chain_steps >> 1] & (plan.chain_steps >= 0)
    return (plan.chain_length <= 2) & plan.chain_distinct & ~filters.any(axis=1)


def fits(plan: Plan, graph: Graph) -> bool:
    """Return whether a plan can be ranked here.

    Every half-anchored rule must have distinct variables, so that its body is an item.
    """
    if np.count_nonzero(~is_short(plan, graph)) > MOST_WALKED:
        return False
    half_body = plan.back_body[plan.back_body >= graph.num_spans] - graph.num_spans
    return bool(plan.half_distinct.all() and (half_body & 1 == 1).all())


class DeviceRanker:
    """Ranks on a GPU, the `device`, with the rules and facts of a `ranker`."""

    def __init__(self, ranker: Ranker, device: str) -> None:
        self.ranker, self.device = ranker, torch.device(device)
        graph = ranker.graph
        self.num_entities, self.num_codes, self.num_items = graph.num_entities, graph.num_codes, graph.num_spans
        self.pointer, self.code, self.neighbour = (self.put(a) for a in (graph.pointer, graph.code, graph.neighbour))
        node = torch.repeat_interleave(torch.arange(self.num_entities, device=self.device), self.pointer.diff())
        # The body k(X, Z1), an edge k to another entity, is an item too; these are numbered after the others.
        apart = self.neighbour != node
        half = torch.unique(self.code[apart] * self.num_entities + node[apart])
        half_item, half_node = half // self.num_entities + self.num_items, half % self.num_entities
        item = torch.cat((self.put(graph.back_span), half_item))
        owner = torch.cat((node, half_node))
        order = torch.argsort(owner, stable=True)
        self.items, self.items_pointer = item[order], self._offsets(owner[order], self.num_entities)
        by_item = torch.argsort(item, stable=True)
        self.item_member = owner[by_item].to(torch.int32)
        self.item_pointer = self._offsets(item[by_item], self.num_items + self.num_codes)

    def put(self, array: np.ndarray) -> Tensor:
        """Return the array as a tensor on the device."""
        return torch.as_tensor(np.ascontiguousarray(array, np.int64), device=self.device)

    def _offsets(self, sorted_keys: Tensor, num_keys: int) -> Tensor:
        return torch.searchsorted(sorted_keys, torch.arange(num_keys + 1, device=self.device))

    def rank(self, groups: list[QueryGroup], known: Facts, memory: int) -> np.ndarray:
        """Return columns (fact row, direction, above, tied) for the queries of all `groups`."""
        if not groups:
            return np.zeros((4, 0), np.int64)
        rules = _Rules(self, groups)
        columns = ([g.rows for g in groups], [g.query for g in groups], [g.answer for g in groups])
        rows, query, answer = (np.concatenate(column) for column in columns)
        group = np.repeat(np.arange(len(groups)), [len(g.query) for g in groups])
        order = np.lexsort((query, group))
        rows, query, answer, group = rows[order], query[order], answer[order], group[order]
        code = np.array([g.plan.code for g in groups])[group]
        first = run_starts(query, group)
        number, begin = np.cumsum(first) - 1, np.append(np.flatnonzero(first), len(query))  # distinct queries
        answers, batch = KnownAnswers(self, self.ranker.kb.facts + known), rules.batch(memory)
        found = []
        for low in range(0, len(begin) - 1, batch):
            self.ranker.check_time()
            high = min(low + batch, len(begin) - 1)
            once = begin[low:high]
            totals = rules.totals(query[once], group[once], self.ranker.strongest_only)
            for start in range(begin[low], begin[high], batch):
                part = slice(start, min(start + batch, begin[high]))
                found.append(answers.ranks(totals, number[part] - low, code[part], query[part], answer[part]))
        above, tied = np.concatenate(found, axis=1)
        return np.stack((rows, np.array([g.direction for g in groups])[group], above, tied))

    def totals(self, groups: list[QueryGroup], memory: int) -> Iterator[tuple[Longs, Longs, np.ndarray]]:
        """Yield (group, position in it, evidence of every entity) for all queries of `groups`.

        Each batch has as many queries as fit into `memory`.
        """
        if not groups:
            return
        rules, sizes = _Rules(self, groups), [len(g.query) for g in groups]
        group, place = np.repeat(np.arange(len(groups)), sizes), np.concatenate([np.arange(size) for size in sizes])
        query, batch = np.concatenate([g.query for g in groups]), rules.batch(memory)
        for low in range(0, len(query), batch):
            self.ranker.check_time()
            some = slice(low, low + batch)
            totals = rules.totals(query[some], group[some], self.ranker.strongest_only)
            yield group[some], place[some], totals.cpu().numpy()

    def two_steps(self, starts: Tensor, wanted: Tensor, memory: int) -> tuple[Tensor, Tensor]:
        """Return (start * num_codes^2 + body, end) of all distinct two-step paths from `starts`, sorted.

        Only paths with a body in `wanted` count; `memory` bounds the paths of a block.
        """
        degree = self.pointer.diff()
        edge_row, edge = ranges(self.pointer[starts], self.pointer[starts + 1])
        work = degree[self.neighbour[edge]].cumsum(0).cpu().numpy()
        none = torch.zeros(0, dtype=torch.int64, device=self.device)
        parts, low, limit = [(none, none)], 0, max(memory // BYTES_PER_PATH, 1)
        while low < len(work):
            high = max(int(np.searchsorted(work, (work[low - 1] if low else 0) + limit)), low + 1)
            first = edge[low:high]
            row, second = ranges(self.pointer[self.neighbour[first]], self.pointer[self.neighbour[first] + 1])
            start, middle = starts[edge_row[low:high]][row], self.neighbour[first][row]
            body, end = self.code[first][row] * self.num_codes + self.code[second], self.neighbour[second]
            keep = wanted[body] & (middle != start) & (end != start) & (end != middle)
            parts.append(unique_pairs(start[keep] * self.num_codes**2 + body[keep], end[keep], self.num_entities))
            low = high
        owners, ends = (torch.cat(column) for column in zip(*parts))
        owner, end = unique_pairs(owners, ends, self.num_entities)
        return owner, end.to(torch.int32)


def exclude(
    total: Tensor, known: Tensor, excluded: Tensor, owner: Tensor, pointer: Tensor, code: Tensor, neighbour: Tensor
) -> Tensor:
    """Set total[i, b] = 0 if an edge from known[i] to b has a code that excluded[owner[i]] marks; changes `total`.

    (`pointer`, `code`, `neighbour`) are the edges of every entity.
    """
    row, edge = ranges(pointer[known], pointer[known + 1])
    out = excluded[owner[row], code[edge]]
    total[row[out], neighbour[edge[out]]] = 0
    return total


class KnownAnswers:
    """Known answers of every target and direction, sorted by (code, entity), on the device of `ranker`."""

    def __init__(self, ranker: DeviceRanker, known: Facts) -> None:
        self.ranker = ranker
        facts = known[~known.is_unary]
        n = ranker.num_entities
        p, s, o = (a.astype(np.int64) for a in (facts.predicate, facts.subject, facts.object))
        pair = np.concatenate((2 * p * n + s, (2 * p + 1) * n + o))
        self.pair, self.answer = unique_pairs(ranker.put(pair), ranker.put(np.concatenate((o, s))), n)

    def ranks(self, totals: Tensor, which: Longs, code: Longs, query: Longs, answer: Longs) -> np.ndarray:
        """Return (above, tied) of answer[i] in totals[which[i]], without other known answers.

        `code` is the step code of its target, `query` the known entity.
        """
        r = self.ranker
        total = totals[r.put(which)]
        target = r.put(answer)
        own = total.gather(1, target[:, None])[:, 0]
        low, high = (r.put(bound) for bound in tie_bounds(own.cpu().numpy()))
        above, tied = (holds.sum(1) for holds in compare(total, low[:, None], high[:, None]))
        pair = r.put(code * r.num_entities + query)
        row, place = ranges(torch.searchsorted(self.pair, pair), torch.searchsorted(self.pair, pair, right=True))
        other = self.answer[place]
        keep = other != target[row]
        row, other = row[keep], other[keep]
        for count, holds in zip((above, tied), compare(total[row, other], low[row], high[row])):
            count.index_add_(0, row, -holds.to(torch.int64))
        return torch.stack((above, tied)).cpu().numpy()


class _Rules:
    """The plans of all groups on the device, one after the other."""

    def __init__(self, ranker: DeviceRanker, groups: list[QueryGroup]) -> None:
        self.ranker, self.groups = ranker, groups
        plans = [g.plan for g in groups]
        self._kinds(plans[0])
        n, put = ranker.num_entities, ranker.put
        self._constants()
        self.prior = put(np.stack([_priors(p, n) for p in plans])) if len(plans) * n < 2**28 else None
        self.back_prior = [_filled(p.back_prior_entity, p.back_prior, n) for p in plans]
        self.excluded = torch.as_tensor(np.stack([p.excluded for p in plans]), device=ranker.device)
        self._chains(plans)

    def _constants(self) -> None:
        """Sort rules with constants: by group and item if the constant is the answer, else by group and entity."""
        r, rules = self.ranker, self.ranker.ranker.rules
        body, fixed, entity, head = (torch.as_tensor(c, device=r.device) for c in r.ranker.columns)
        power = torch.as_tensor(r.ranker.powers(), device=r.device)
        item = r.put(r.ranker.items)[body] if len(rules) else r.put(rules.body)
        group = np.full((len(rules.predicates), 2), -1)
        for number, queries in enumerate(self.groups):
            group[queries.plan.code >> 1, queries.direction] = number
        group_of = r.put(group)
        ahead: list[tuple[Tensor, ...]] = []
        back: list[tuple[Tensor, ...]] = []
        for direction in (0, 1):
            group_of_rule = group_of[:, direction][head]
            known = fixed == (SECOND if direction else FIRST)
            counts = self.counts[torch.where(item < r.num_items, 2, 3) + 2 * known]
            used = ((group_of_rule >= 0) & (item >= 0) & (fixed > 0) & counts).nonzero().squeeze(1)
            is_back = known[used]
            for found, rows in ((ahead, used[~is_back]), (back, used[is_back])):
                found.append((group_of_rule[rows], item[rows], entity[rows], power[rows]))
        of_group, item, entity, power = (torch.cat(column) for column in zip(*ahead))
        self.item_key, order = torch.sort(of_group * (r.num_items + r.num_codes) + item)
        self.candidate, self.candidate_evidence = entity[order].to(torch.int32), power[order]
        of_group, item, entity, power = (torch.cat(column) for column in zip(*back))
        self.back_key, order = torch.sort(of_group * r.num_entities + entity)
        self.back_body, self.back_evidence = item[order], power[order]
        self.back_kind = self.kind[torch.where(self.back_body < r.num_items, 4, 5)]

    def _kinds(self, plan: Plan) -> None:
        """Assign rows of slots to the kinds that count; plans have no rules of other kinds."""
        self.top, self.prior_weight = max(self.ranker.ranker.top, 1), plan.prior_weight
        counts = plan.weight.max(axis=1) > 0
        self.weight = self.ranker.put(plan.weight[counts] if counts.any() else plan.weight[:1])
        self.is_weighed = bool((plan.weight != UNIT).any())
        row = np.maximum(np.cumsum(counts) - 1, 0)
        self.counts = torch.as_tensor(counts[np.minimum(plan.kind, len(row) - 1)], device=self.ranker.device)
        self.kind = self.ranker.put(row[np.minimum(plan.kind, len(row) - 1)]).to(torch.int32)
        # Slots; weighing one kind; totals, priors, and the buffers of ranking.
        self.longs_per_candidate = len(self.weight) * self.top + 2 * self.top * self.is_weighed + 4

    def batch(self, memory: int) -> int:
        """Return the number of queries per batch that fit into `memory` bytes."""
        return max(1, memory // (self.ranker.num_entities * 8 * self.longs_per_candidate))

    def _chains(self, plans: list[Plan]) -> None:
        """Find the ends of all distinct chains of one and two steps from every query; list other chains by group."""
        ranker, codes = self.ranker, self.ranker.num_codes
        self.short = [is_short(p, ranker.ranker.graph) for p in plans]
        wanted = torch.zeros(codes * codes, dtype=torch.bool, device=ranker.device)
        self.bodies, self.powers = [], []
        for p, short in zip(plans, self.short):
            steps, two = p.chain_steps[short], p.chain_length[short] == 2
            second = steps[:, 1] if steps.shape[1] > 1 else steps[:, 0]
            # One-step bodies are numbered after the two-step ones.
            body = np.where(two, steps[:, 0] * codes + second, codes * codes + steps[:, 0])
            wanted[ranker.put(body[two])] = True
            self.bodies.append(body)
            self.powers.append(p.chain_evidence[short])
        starts = ranker.put(np.unique(np.concatenate([g.query for g in self.groups])))
        key, end = ranker.two_steps(starts, wanted, ranker.ranker.memory)
        row, edge = ranges(ranker.pointer[starts], ranker.pointer[starts + 1])
        apart = ranker.neighbour[edge] != starts[row]
        span = codes * codes + codes
        one = starts[row[apart]] * span + codes * codes + ranker.code[edge[apart]]
        both = torch.cat((key // (codes * codes) * span + key % (codes * codes), one))
        ends = torch.cat((end, ranker.neighbour[edge[apart]].to(torch.int32)))
        order = torch.argsort(both, stable=True)
        self.chain_key, self.ends, self.span = both[order], ends[order], span

    def totals(self, query: Longs, group: Longs, strongest_only: bool) -> Tensor:
        """Return (queries, entities): the summed evidence of each candidate."""
        from .device_kernel import fire

        r = self.ranker
        known, owner = r.put(query), r.put(group)
        chains = self._chain_lists(query, group)
        item_row, place = ranges(r.items_pointer[known], r.items_pointer[known + 1])
        key = owner[item_row] * (r.num_items + r.num_codes) + r.items[place]
        begin, end = torch.searchsorted(self.item_key, key), torch.searchsorted(self.item_key, key, right=True)
        some = end > begin
        forward_kind = self.kind[torch.where(r.items[place] < r.num_items, 2, 3)]
        shape = (len(query), len(self.weight), r.num_entities, self.top)
        slots = torch.zeros(shape, dtype=torch.int64, device=r.device)
        at = owner * r.num_entities + known
        first, last = (torch.searchsorted(self.back_key, at, right=right) for right in (False, True))
        fire[(len(query),)](
            *chains,
            first, last, self.back_body, self.back_evidence, self.back_kind, r.item_pointer, r.item_member,
            r._offsets(item_row[some], len(query)), begin[some].contiguous(), end[some].contiguous(),
            forward_kind[some].contiguous(), self.candidate, self.candidate_evidence,
            slots, r.num_entities, TOP=self.top, KINDS=len(self.weight), BLOCK=BLOCK, num_warps=1,
        )  # fmt: skip
        prior = (
            self.prior[owner]
            if self.prior is not None
            else r.put(np.stack([_priors(self.groups[g].plan, r.num_entities) for g in group]))
        )
        base = r.put(np.array([self.back_prior[g][a] for g, a in zip(group, query)]))[:, None]
        if strongest_only:
            total = torch.maximum(torch.maximum(slots[:, 0, :, 0], prior), base)
        else:
            if self.prior_weight != UNIT:
                prior, base = (prior * self.prior_weight) >> SHIFT, (base * self.prior_weight) >> SHIFT
            total = prior + base
            for kind, weight in enumerate(self.weight):
                # The evidence of a single rule never overflows here, and the factor UNIT leaves it unchanged.
                total += ((slots[:, kind] * weight) >> SHIFT if self.is_weighed else slots[:, kind]).sum(dim=2)
        return exclude(total, known, self.excluded, owner, r.pointer, r.code, r.neighbour)

    def _chain_lists(self, query: Longs, group: Longs) -> tuple[Tensor, ...]:
        """Return (pointer by query, begin, end, evidence, kind) of chains, and the array they point into."""
        r, none = self.ranker, np.zeros(0, np.int64)
        body, power = (np.concatenate([none, *(column[g] for g in group)]) for column in (self.bodies, self.powers))
        owner = np.repeat(np.arange(len(query)), [len(self.bodies[g]) for g in group])
        key = r.put(query[owner] * self.span + body)
        begin, end = torch.searchsorted(self.chain_key, key), torch.searchsorted(self.chain_key, key, right=True)
        walked_owner, size, walked_power, is_one, walked_ends = self._walked(query, group)
        last = len(self.ends) + np.cumsum(size)
        of_query = r.put(np.concatenate((owner, walked_owner)))
        order = torch.argsort(of_query, stable=True)
        begin, end = (torch.cat((one, r.put(two)))[order] for one, two in ((begin, last - size), (end, last)))
        evidence = r.put(np.concatenate((power, walked_power)))[order]
        kind = self.kind[1 - r.put(np.concatenate((body >= r.num_codes**2, is_one)))[order]]
        ends = torch.cat((self.ends, r.put(walked_ends).to(torch.int32)))
        return r._offsets(of_query[order], len(query)), begin, end, evidence, kind, ends

    def _walked(self, query: Longs, group: Longs) -> tuple[np.ndarray, ...]:
        """Return (query position, number of ends, evidence, is one step) of chains walked by the loops, and ends."""
        cpu = self.ranker.ranker
        tasks = [
            (g, part)
            for g in np.unique(group)
            if not self.short[g].all()
            for part in np.array_split(np.flatnonzero(group == g), 16)
            if len(part)
        ]

        def run(space: ScoreSpace, task: tuple[int, Longs]) -> tuple[np.ndarray, ...]:
            g, at = task
            plan, rules = self.groups[g].plan, np.flatnonzero(~self.short[g])
            size, ends, used = np.zeros(len(at) * len(rules), np.int64), np.zeros(2**12, np.int64), -1
            while used < 0 or used > len(ends):
                ends = np.zeros(max(2 * used, len(ends)), np.int64)
                used = _collect(cpu.graph, space.walk, plan, rules, query[at], size, ends)
            of_rule = plan.chain_evidence[rules], plan.chain_length[rules] == 1
            return np.repeat(at, len(rules)), size, *(np.tile(column, len(at)) for column in of_rule), ends[:used]

        none = np.zeros(0, np.int64)
        return tuple(np.concatenate(column) for column in zip((none,) * 5, *cpu.pool.map_here(run, tasks)))


def _priors(plan: Plan, num_entities: int) -> Longs:
    return _filled(plan.prior_candidate, plan.prior, num_entities)


def _filled(entity: Ids, value: Longs, num_entities: int) -> Longs:
    """Return the value of each entity, 0 if it has none."""
    every = np.zeros(num_entities, np.int64)
    every[entity] = value
    return every


@compiled
def _collect(
    graph: Graph,
    walk: WalkSpace,
    plan: Plan,
    rules: Longs,
    query: Longs,
    size: Longs,
    ends: Longs,
) -> int:
    """Write the ends of each (query, rule) one after the other; return their number, which may exceed `ends`."""
    used, row = 0, 0
    for a in query:
        for rule in rules:
            found = reach(
                graph,
                walk,
                plan.chain_steps[rule],
                plan.chain_length[rule],
                a,
                plan.chain_distinct[rule],
                HiddenFact(plan.code, a, -1, -1, graph.is_unary),
                NO_LIMIT,
                -1,
            )
            if used + found <= len(ends):
                ends[used : used + found] = walk.ends[:found]
            used += found
            size[row] = found
            row += 1
    return used
