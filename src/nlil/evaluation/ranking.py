"""Filtered ranks of the answers of binary queries, in both directions, on several threads."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, offsets
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..engine.device import resolve_device
from ..engine.edges import EdgeIndex, edge_index
from ..engine.pool import Pool
from ..progress import Progress, silent
from ..rules import RuleSet
from ..rules.exclusion import by_code
from ..rules.ruleset import KINDS
from .evidence import score, tie_bounds
from .general import general_evidence
from .plan import Plan, Shapes, excluded_codes, plan, shapes, unary_mask
from .scoring import ScoreSpace, count_ranks, score_query, score_space

BLOCK = 32
"""Queries of one task."""


@dataclass(frozen=True, eq=False)
class Ranks:
    """`above` candidates score more than the answer, `tied` score the same (the answer included).

    Row i is the query of fact `fact[i]`, p(s, ?) where direction is 0 and p(?, o) where it is 1.
    """

    fact: Longs
    direction: Longs
    above: Longs
    tied: Longs

    @property
    def optimistic(self) -> Doubles:
        return (self.above + 1).astype(np.float64)

    @property
    def pessimistic(self) -> Doubles:
        return (self.above + self.tied).astype(np.float64)

    @property
    def realistic(self) -> Doubles:
        """The mean of both: the expected rank over all orders of the tied candidates."""
        return np.asarray((self.optimistic + self.pessimistic) / 2, np.float64)


class Ranker:
    """Scores the queries of binary targets with a RuleSet bound to the vocabulary of `kb`."""

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, threads: int = 0, memory: int = 2**30,
                 device: str = "cpu") -> None:
        self.rules, self.kb, self.memory, self.device = rules, kb, memory, resolve_device(device)
        self.edges: EdgeIndex = edge_index(kb)
        self.is_unary = unary_mask(kb)
        self._exclusions = by_code(rules.exclusions, kb)
        self._order = np.argsort(rules.head, kind="stable")
        self._pointer = offsets(rules.head[self._order], kb.num_predicates)
        top = rules.aggregation.top if rules.aggregation.kind == "noisy-or" else 1
        self.top, self.strongest_only = top, rules.aggregation.kind == "max"
        width = rules.steps.shape[1]
        kinds = len(KINDS) - 1 if rules.aggregation.weighing else 1
        self.pool: Pool[ScoreSpace] = Pool(lambda: score_space(kb.num_entities, top, width, kinds), threads)

    def rows_of(self, target: int) -> Longs:
        """Rows of the whole set whose head is the predicate id `target`."""
        return self._order[self._pointer[target] : self._pointer[target + 1]]

    def target_plan(self, target: int, direction: int) -> tuple[Plan, RuleSet]:
        """The plan of the line rules and exclusions, and the rules that only the general engine can evaluate."""
        mine = self.rules.take(self.rows_of(target))
        parts = shapes(mine, self.is_unary)
        if self.kb.facts.weight is not None:
            # Soft facts: a rule fires to a degree, which only the general engine computes. Priors always hold.
            others = np.setdiff1d(np.arange(len(mine)), parts.prior)
            none = others[:0]
            parts = Shapes(none, none, none, parts.prior, others)
        layout = plan(mine, self.kb, self.edges, parts, direction)
        excluded = excluded_codes(self._exclusions.get(target, ()), direction, self.edges.num_codes)
        return layout._replace(code=2 * target + direction, excluded=excluded), mine.take(parts.rest)

    def evidence(self, target: int, direction: int, known: int, hidden_end: int = -1) -> Longs:
        """The evidence of every entity as the answer of one query."""
        layout, rest = self.target_plan(target, direction)
        query, end = np.array([known], np.int32), np.array([hidden_end], np.int32)
        extra = next(general_evidence(rest, self.kb, layout.code, query, end, self.memory))
        space = self.pool.scratch()
        score_query(self.edges, layout, self.is_unary, known, hidden_end, self.top, self.strongest_only, extra, space)
        return space.total.copy()

    def rank(self, facts: Facts, known: Facts, hide: bool = False, progress: Progress = silent) -> Ranks:
        """Ranks for both directions of every binary fact; answers in `known` are filtered."""
        groups = list(self.groups(facts))
        results = [np.zeros((4, 0), np.int64)]
        if self.device == "cuda" and not self.rules.aggregation.weighing:  # kinds are kept apart on a CPU only
            on_device, groups = self._on_device(groups, facts, known, hide)
            results.append(on_device)
        for done, (target, direction, rows) in enumerate(groups):
            layout, rest = self.target_plan(target, direction)
            answers = Answers.of(known, target, direction, self.kb.num_entities)
            ends = (facts.subject[rows], facts.object[rows])
            query, answer = ends[direction], ends[1 - direction]
            hidden = answer if hide else np.full(len(rows), -1, np.int32)
            extra = general_evidence(rest, self.kb, layout.code, query, hidden, self.memory)
            work = [(rows[i : i + BLOCK], query[i : i + BLOCK], answer[i : i + BLOCK], hidden[i : i + BLOCK])
                    for i in range(0, len(rows), BLOCK)]
            tasks = [(*block, [next(extra) for _ in block[0]]) for block in work]

            def run(space: ScoreSpace, task: tuple, layout: Plan = layout, answers: Answers = answers) -> np.ndarray:
                return self._block(space, layout, answers, *task)

            ranked = self.pool.map(run, tasks)
            numbers = np.concatenate(ranked, axis=1)
            results.append(np.vstack((numbers[:1], np.full((1, len(rows)), direction), numbers[1:])))
            progress("rank", done + 1, len(groups))
        return Ranks(*np.concatenate(results, axis=1))

    def _on_device(self, groups: list[tuple[int, int, Longs]], facts: Facts, known: Facts,
                   hide: bool) -> tuple[np.ndarray, list[tuple[int, int, Longs]]]:
        """Ranks of the groups that the GPU can do, and the groups left for the CPU."""
        from .device_ranking import DeviceRanker, Group, fits

        rest, there = [], []
        plans = self.pool.map(lambda _, g: self.target_plan(g[0], g[1]), groups)
        inside = known_rows(facts, self.kb.facts, self.kb.num_entities) if hide else np.zeros(len(facts), bool)
        for (target, direction, rows), (layout, general) in zip(groups, plans):
            if len(general) or inside[rows].any() or not self.top or not fits(layout):
                rest.append((target, direction, rows))
                continue
            ends = (facts.subject[rows].astype(np.int64), facts.object[rows].astype(np.int64))
            there.append(Group(layout, rows, ends[direction], ends[1 - direction], direction))
        return DeviceRanker(self, self.device).rank(there, known, self.memory), rest

    def groups(self, facts: Facts) -> Iterator[tuple[int, int, Longs]]:
        binary = np.flatnonzero(~facts.is_unary)
        for target in np.unique(facts.predicate[binary]):
            rows = binary[facts.predicate[binary] == target]
            for direction in (0, 1):
                yield int(target), direction, rows

    def _block(self, space: ScoreSpace, layout: Plan, answers: Answers, rows: Longs, query: Ids, answer: Ids,
               hidden: Ids, extra: list[np.ndarray]) -> np.ndarray:
        result = np.empty((3, len(rows)), np.int64)
        for i in range(len(rows)):
            score_query(self.edges, layout, self.is_unary, query[i], hidden[i], self.top, self.strongest_only,
                        extra[i], space)
            low, high = tie_bounds(space.total[answer[i]])
            above, tied = count_ranks(space.total, answer[i], answers.to(int(query[i])), low, high)
            result[:, i] = rows[i], above, tied
        return result


def known_rows(facts: Facts, base: Facts, num_entities: int) -> np.ndarray:
    """Which facts are in `base`."""

    def key(f: Facts) -> Longs:
        return (f.predicate.astype(np.int64) * num_entities + f.subject) * (num_entities + 1) + f.object + 1

    return np.isin(key(facts), key(base))


@dataclass(frozen=True, eq=False)
class Answers:
    """Known answers of one target in one direction, by the entity that the query knows."""

    pointer: Longs
    answer: Ids

    @classmethod
    def of(cls, facts: Facts, target: int, direction: int, num_entities: int) -> Answers:
        mine = facts.of(target)
        ends = (mine.subject, mine.object)
        known, answer = ends[direction], ends[1 - direction]
        pairs = np.unique(known.astype(np.int64) * num_entities + answer)
        return cls(offsets(pairs // num_entities, num_entities), (pairs % num_entities).astype(np.int32))

    def to(self, entity: int) -> Ids:
        return self.answer[self.pointer[entity] : self.pointer[entity + 1]]


__all__ = ["Answers", "Ranker", "Ranks", "score"]
