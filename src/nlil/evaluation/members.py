"""The evidence of unary targets (object classes, or any P(x)) for given entities.

Rules of many targets share their bodies, so each different body is walked once per entity, and only the
bodies whose first step the entity has are tried. Each target keeps its `top` strongest rules and the prior.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.kb import KnowledgeBase
from ..kernel.coding import NO_STEP
from ..kernel.graph import Graph
from ..kernel.kernels import compiled
from ..kernel.pool import Pool
from ..kernel.ruleset import RuleSet
from ..kernel.walk import NO_LIMIT, WalkSpace, reach, walk_space
from ..progress import Progress, silent
from .evidence import evidence
from .literals import Literals, is_simple
from .plan import unary_mask
from .scoring import sink

BLOCK = 512
"""Entities of one task."""


class BodyPlan(NamedTuple):
    """Different bodies by their first step; the rules of body i are rule_pointer[i] .. rule_pointer[i + 1]."""

    first_pointer: Longs
    steps: np.ndarray
    length: Ids
    end: Ids
    distinct: np.ndarray
    rule_pointer: Longs
    rule_target: Ids
    rule_evidence: Longs
    prior: Longs


def body_plan(rules: RuleSet, targets: Ids, num_codes: int) -> BodyPlan:
    """Lay out the line rules whose head is one of `targets` (predicate ids, coded by position)."""
    position = np.full(len(rules.predicates), -1, np.int32)
    position[targets] = np.arange(len(targets), dtype=np.int32)
    lines = np.flatnonzero(position[rules.head[: rules.num_lines]] >= 0)
    power = evidence(rules.weights)
    length = (rules.steps != NO_STEP).sum(axis=1)
    prior = np.zeros(len(targets), np.int64)
    empty = lines[length[lines] == 0]
    np.add.at(prior, position[rules.head[empty]], power[empty])
    lines = lines[length[lines] > 0]
    table = np.column_stack((rules.steps[lines], rules.end[lines], rules.distinct[lines])).astype(np.int64)
    bodies, body_of = np.unique(table, axis=0, return_inverse=True)
    body_of = body_of.reshape(-1)
    order = np.lexsort((lines, body_of))
    lines, body_of = lines[order], body_of[order]
    steps = bodies[:, :-2]
    return BodyPlan(
        offsets(steps[:, 0], num_codes),
        steps,
        (steps != NO_STEP).sum(axis=1).astype(np.int32),
        bodies[:, -2].astype(np.int32),
        bodies[:, -1].astype(bool),
        offsets(body_of, len(bodies)),
        position[rules.head[lines]],
        power[lines],
        prior,
    )


def walkable(rules: RuleSet) -> Mask:
    """The line rules that `reach` can walk: it keeps a constant end apart from the variables, `distinct` does not."""
    return ~(rules.distinct & (rules.end >= 0))


@compiled
def _fires(graph, plan, body, is_unary, x, hidden_group, walk):
    end = plan.end[body]
    limit = 1 if end < 0 else NO_LIMIT
    found = reach(
        graph, walk, plan.steps[body], plan.length[body], is_unary, x, plan.distinct[body], -1, -1, hidden_group, limit
    )
    if end < 0:
        return found > 0
    for i in range(found):
        if walk.ends[i] == end:
            return True
    return False


@compiled
def _fire_bodies(graph, plan, is_unary, x, code, hidden_group, top, strongest, walk):
    for body in range(plan.first_pointer[code], plan.first_pointer[code + 1]):
        if not _fires(graph, plan, body, is_unary, x, hidden_group, walk):
            continue
        for r in range(plan.rule_pointer[body], plan.rule_pointer[body + 1]):
            sink(strongest[plan.rule_target[r]], plan.rule_evidence[r], top)


@compiled
def _score_entities(graph, plan, is_unary, entities, hidden_group, top, walk, extra, extra_pointer, total):
    """total[i, t] = summed evidence of the kept rules of target t for entities[i], without priors."""
    num_targets = total.shape[1]
    strongest = np.zeros((num_targets, max(top, 1)), np.int64)
    for i in range(len(entities)):
        x = entities[i]
        strongest[:] = 0
        for k in range(graph.node_code_pointer[x], graph.node_code_pointer[x + 1]):
            _fire_bodies(graph, plan, is_unary, x, graph.node_code[k], hidden_group, top, strongest, walk)
        for k in range(graph.unary_pointer[x], graph.unary_pointer[x + 1]):
            code = 2 * graph.unary_predicate[k]
            _fire_bodies(graph, plan, is_unary, x, code, hidden_group, top, strongest, walk)
        for row in range(extra_pointer[i], extra_pointer[i + 1]):
            sink(strongest[extra[row, 1]], extra[row, 2], top)
        for t in range(num_targets):
            for k in range(strongest.shape[1]):
                total[i, t] += strongest[t, k]


class MemberScorer:
    """Scores P(x) for the unary `targets` (predicate ids) with a RuleSet bound to `kb`."""

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, targets: Ids, threads: int = 0, memory: int = 2**30) -> None:
        self.rules, self.kb, self.targets = rules, kb, np.asarray(targets, np.int32)
        self.graph: Graph = Graph.of(kb.crisp)
        self.is_unary = unary_mask(kb)
        is_prior = ~(rules.steps != NO_STEP).any(axis=1)
        lines = is_prior if kb.facts.weight is not None else is_prior | walkable(rules)
        self.plan = body_plan(rules if lines.all() else rules.take(lines), self.targets, self.graph.num_codes)
        general = np.isin(rules.head, self.targets)
        general[: rules.num_lines] &= ~lines
        self.general = np.flatnonzero(general)
        from ..kernel.evaluator import Evaluator  # imports torch

        self.evaluator = Evaluator(kb, memory=memory)
        self.strongest_only = rules.aggregation.kind == "max"
        self.top = 1 if self.strongest_only else rules.aggregation.top
        crisp = kb.facts.weight is None
        self.simple = np.array([r for r in self.general if crisp and is_simple(rules.rule(int(r)))], np.int64)
        self.general = np.setdiff1d(self.general, self.simple, assume_unique=True)
        self.literals = Literals([rules.rule(int(r)) for r in self.simple], kb, self.graph, self.is_unary)
        width = max(rules.steps.shape[1], self.literals.width)
        self.pool: Pool[WalkSpace] = Pool(lambda: walk_space(kb.num_entities, max(width, 1)), threads)

    def hidden_group(self) -> np.ndarray:
        """What a query hides at x: all classes if the targets are classes, else the targets themselves."""
        group = np.zeros(self.kb.num_predicates + 1, bool)
        group[self.targets] = True
        if set(self.targets.tolist()) & self.kb.classes:
            group[list(self.kb.classes)] = True
        return group

    def evidence(self, entities: Ids, progress: Progress = silent) -> Longs:
        """(entities, targets): the evidence of each target for each entity, the entity's own facts hidden."""
        hidden = self.hidden_group()
        entities = np.asarray(entities, np.int32)
        general = np.zeros((len(entities), len(self.targets)), np.int64)
        extra = np.concatenate((self._general(entities), self._simple(entities, hidden, general)))
        extra = extra[np.argsort(extra[:, 0], kind="stable")]
        pointer = offsets(extra[:, 0], len(entities))

        def run(walk: WalkSpace, begin: int) -> Longs:
            some = entities[begin : begin + BLOCK]
            total = np.zeros((len(some), len(self.targets)), np.int64)
            _score_entities(
                self.graph,
                self.plan,
                self.is_unary,
                some,
                hidden,
                self.top,
                walk,
                extra,
                pointer[begin : begin + len(some) + 1],
                total,
            )
            return total

        parts = self.pool.map(run, range(0, len(entities), BLOCK), "score", progress)
        total = np.concatenate([np.zeros((0, len(self.targets)), np.int64), *parts]) + general
        return np.maximum(total, self.plan.prior) if self.strongest_only else total + self.plan.prior

    def _simple(self, entities: Ids, hidden: np.ndarray, total: Longs) -> Longs:
        """Firings of the simple rules; where all rules count they are added to `total` at once."""
        rows = [np.zeros((0, 3), np.int64)]
        if not len(self.simple):
            return rows[0]
        position = np.full(len(self.rules.predicates), -1)
        position[self.targets] = np.arange(len(self.targets))
        target = position[self.rules.head[self.simple]]
        power = evidence(self.rules.weights[self.simple])
        for place, holds in self.literals.blocks(entities, hidden, self.pool):
            for i, held in enumerate(holds):
                if not self.top:
                    total[place, target[i]] += held * power[i]
                    continue
                fired = np.flatnonzero(held) + place.start
                rows.append(np.stack((fired, np.full(len(fired), target[i]), np.full(len(fired), power[i])), axis=1))
        return np.concatenate(rows)

    def _general(self, entities: Ids) -> Longs:
        """Firings (entity position, target position, evidence) of the other rules that are no lines."""
        rows = [np.zeros((0, 3), np.int64)]
        position = {int(t): i for i, t in enumerate(self.targets)}
        for row in self.general:
            values = self.evaluator.values(self.rules.rule(int(row)), entities.astype(np.int64), None, hide=True)
            fired = np.flatnonzero(values > 0)
            power = evidence(values[fired] * self.rules.weights[row])
            target = np.full(len(fired), position[int(self.rules.head[row])])
            rows.append(np.stack((fired, target, power), axis=1))
        return np.concatenate(rows)
