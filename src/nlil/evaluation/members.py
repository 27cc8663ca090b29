"""The evidence of unary targets (object classes, or any P(x)) for given entities.

Rules of many targets share bodies, and bodies share lines, so each distinct line is evaluated once per entity; a body
is a program over these values. Each target keeps the `top` strongest rules that hold, and the prior.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask, offsets
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import SCALE, degree_evidence, evidence, place_weights, score, sink, weigh
from ..kernel.bodies import ANY_NODE, X_NODE, Bodies, Lines
from ..kernel.compiled import compiled
from ..kernel.graph import Graph
from ..kernel.hidden import HiddenFact, hidden_mask, num_seen
from ..kernel.line_answers import UNARY, LineAnswers
from ..kernel.pool import Pool, workers
from ..kernel.ruleset import RuleSet
from ..kernel.spread import spread
from ..kernel.walk import Walked, WalkSpace, reach, walk_space
from ..progress import Progress, silent

BLOCK = 512
"""Limit of the entities per task."""
BLOCK_BYTES = 2**23
"""Limit of the bytes per task for the values of all lines."""


def walkable(lines: Lines) -> Mask:
    """Return which of `lines` `reach` can walk from X: to any entity, or to a constant."""
    return (lines.start == X_NODE) & (lines.lengths > 0) & ((lines.end == ANY_NODE) | (lines.end >= 0))


def unanchored_sets(lines: Lines, graph: Graph) -> Mask:
    """Return which of `lines` are u(Z): the graph of the entity has a u; `graph` knows the predicates."""
    is_set = (lines.start == ANY_NODE) & (lines.end == ANY_NODE) & (lines.lengths == 1)
    return is_set & graph.is_unary[lines.steps[:, 0] >> 1]


@compiled
def _first_lines(graph: Graph, first_pointer: Longs, x: int, chosen: Longs) -> int:
    """Write the lines whose first step x has into `chosen`; return their number.

    The lines with first step k are first_pointer[k] .. first_pointer[k + 1].
    """
    size = 0
    for k in range(graph.node_span[x], graph.node_span[x + 1]):
        code = graph.span_code[k]
        for s in range(first_pointer[code], first_pointer[code + 1]):
            chosen[size] = s
            size += 1
    for k in range(graph.unary_pointer[x], graph.unary_pointer[x + 1]):
        code = 2 * graph.unary_predicate[k]
        for s in range(first_pointer[code], first_pointer[code + 1]):
            chosen[size] = s
            size += 1
    return size


@compiled
def _mark(
    graph: Graph, lines: Walked, first_pointer: Longs, column: Longs, entities: Ids, hidden_group: Mask,
    walk: WalkSpace, held: Mask,
) -> None:  # fmt: skip
    """Set held[i, column[s]] if line s holds for entities[i]."""
    chosen = np.empty(len(column), np.int64)
    for i in range(len(entities)):
        x = entities[i]
        for k in range(_first_lines(graph, first_pointer, x, chosen)):
            s = chosen[k]
            found = reach(
                graph, walk, lines.steps[s], lines.lengths[s], x, lines.distinct[s],
                HiddenFact(-1, x, -1, x, hidden_group), 1,
                lines.end[s],
            )  # fmt: skip
            held[i, column[s]] = found > 0


@compiled
def _mark_degrees(
    graph: Graph, lines: Walked, first_pointer: Longs, column: Longs, entities: Ids, hidden_group: Mask,
    walk: WalkSpace, held: np.ndarray,
) -> None:  # fmt: skip
    """Do the same as `_mark` for soft facts: store the degree to which line s holds."""
    chosen = np.empty(len(column), np.int64)
    for i in range(len(entities)):
        x = entities[i]
        for k in range(_first_lines(graph, first_pointer, x, chosen)):
            s = chosen[k]
            found = spread(
                graph, walk, lines.steps[s], lines.lengths[s], x, lines.distinct[s],
                HiddenFact(-1, x, -1, x, hidden_group), max(lines.end[s], -1), False, -1,
            )  # fmt: skip
            total = 0.0
            for j in range(found):
                total += walk.value[walk.ends[j]]
            held[i, column[s]] = min(total, 1.0)


@compiled
def _aggregate(
    value: np.ndarray, rule_pointer: Longs, rule_target: Ids, weight: Doubles, power: Longs, top: int,
    place_weight: Longs, total: np.ndarray,
) -> None:  # fmt: skip
    """Set total[i, t] to the summed evidence of the strongest rules of target t whose body holds for entity i.

    The rules of body b are rule_pointer[b] .. rule_pointer[b + 1], with these weights; power[r] is the evidence of rule
    r if its body is true. A body that holds to degree v counts with v times the weight of its rule. The k-th strongest
    rule counts place_weight[k] / UNIT.
    """
    strongest = np.zeros((total.shape[1], max(top, 1)), np.int64)
    for i in range(len(value)):
        strongest[:] = 0
        for b in range(value.shape[1]):
            v = value[i, b]
            if v > 0:
                for r in range(rule_pointer[b], rule_pointer[b + 1]):
                    sink(strongest[rule_target[r]], power[r] if v >= 1 else degree_evidence(v * weight[r]), top)
        for t in range(total.shape[1]):
            for k in range(strongest.shape[1]):
                total[i, t] += weigh(strongest[t, k], place_weight[k])


class MemberScorer:
    """Scores P(x) for the unary `targets` (predicate ids) with a RuleSet bound to `kb`."""

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, targets: Ids, threads: int = 0, memory: int = 2**30) -> None:
        self.kb, self.targets, self.memory = kb, np.asarray(targets, np.int32), memory
        self.aggregation, self.is_soft = rules.aggregation, kb.facts.weight is not None
        self.graph: Graph = Graph.of(kb)
        position = np.full(len(rules.predicates), -1, np.int32)
        position[self.targets] = np.arange(len(self.targets), dtype=np.int32)
        rules = rules.take(position[rules.head] >= 0)
        self.num_rules = len(rules)
        self.prior = np.zeros(len(self.targets), np.int64)
        is_prior = rules.is_prior
        np.add.at(self.prior, position[rules.head[is_prior]], evidence(rules.weights[is_prior]))
        rules = rules.take(~is_prior).compact()
        order = np.argsort(rules.body, kind="stable")
        self.row = np.flatnonzero(~is_prior)[order]
        self.bodies: Bodies = rules.bodies
        self.rule_pointer = offsets(rules.body[order], len(rules.bodies))
        self.rule_target, self.weights = position[rules.head[order]], rules.weights[order]
        lines = rules.bodies.lines
        walked = walkable(lines) & (not self.graph.crosses())
        in_graph = unanchored_sets(lines, self.graph)
        self.sets = np.flatnonzero(in_graph)
        is_true = (lines.lengths == 0) & (lines.start == ANY_NODE)
        self.others = np.flatnonzero(~(walked | in_graph | is_true))
        chosen = np.flatnonzero(walked)
        first = lines.steps[chosen, 0]
        self.column = chosen[np.argsort(first, kind="stable")]  # by their first step
        self.first_pointer = offsets(np.sort(first), self.graph.num_codes)
        self.walked = Walked.of(lines.take(self.column), self.graph.is_unary)
        self.pool: Pool[WalkSpace] = workers(lambda: walk_space(kb.num_entities, lines.width), threads, memory)

    def evidence(self, entities: Ids, progress: Progress = silent) -> Longs:
        """Return (entities, targets): the evidence of each target for each of `entities`, their own facts hidden."""
        entities = np.asarray(entities, np.int32)
        strongest_only, top = self.aggregation.strongest_only, self.aggregation.places
        bytes_per_entity = max(self.bodies.lines.num_lines + len(self.bodies), 1) * (16 if self.is_soft else 1)
        block = max(1, min(BLOCK, BLOCK_BYTES // bytes_per_entity))
        if len(self.others):  # evaluated one by one, for many entities at once
            block = max(block, min(len(entities), self.memory // (16 * bytes_per_entity)))
        power, by_place = evidence(self.weights), place_weights(self.aggregation)

        def run(walk: WalkSpace, begin: int) -> Longs:
            some = entities[begin : begin + block]
            total = np.zeros((len(some), len(self.targets)), np.int64)
            value = np.ascontiguousarray(self.bodies.values(self._line_values(some, walk), not self.is_soft))
            _aggregate(value, self.rule_pointer, self.rule_target, self.weights, power, top, by_place, total)
            return total

        parts = self.pool.map(run, range(0, len(entities), block), "score", progress)
        total = np.concatenate([np.zeros((0, len(self.targets)), np.int64), *parts])
        return np.maximum(total, self.prior) if strongest_only else total + self.prior

    def _line_values(self, entities: Ids, walk: WalkSpace) -> np.ndarray:
        """Return (entities, lines): truth values, or degrees of truth if facts are soft."""
        lines, hidden = self.bodies.lines, hidden_mask(self.kb, self.targets.tolist())
        held: np.ndarray = np.zeros((len(entities), lines.num_lines), np.float64 if self.is_soft else np.bool_)
        held[:, (lines.lengths == 0) & (lines.start == ANY_NODE)] = 1
        mark = _mark_degrees if self.is_soft else _mark
        mark(self.graph, self.walked, self.first_pointer, self.column, entities, hidden, walk, held)
        for line in self.sets.tolist():
            held[:, line] = self._in_graph(entities, int(lines.steps[line, 0]) >> 1, hidden)
        if len(self.others):
            nothing = np.full(len(entities), -1, np.int32)
            budget = self.memory // 16
            answers = LineAnswers(self.graph, self.bodies, UNARY, entities, nothing, hidden, walk, budget)
            for line in self.others.tolist():
                held[:, line] = answers.line(line)[:, 0]
        return held

    def _in_graph(self, entities: Ids, predicate: int, hidden_group: np.ndarray) -> np.ndarray:
        """Return to which degree the graph of each entity has a member of the predicate, hidden facts excluded."""
        kb, span = self.kb, slice(*self.graph.member_pointer[predicate : predicate + 2])
        weight = self.graph.member_weight[span].astype(np.float64) if self.is_soft else np.ones(span.stop - span.start)
        members, weight = self.graph.member[span][weight > 0], weight[weight > 0]
        graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of
        sums = (np.bincount(graph[members], weights, kb.num_graphs)[graph[entities]] for weights in (None, weight))
        count, total = sums
        if hidden_group[predicate] and len(members):
            place = np.minimum(np.searchsorted(members, entities), len(members) - 1)
            is_own = members[place] == entities
            count, total = num_seen(count, is_own), num_seen(total, np.where(is_own, weight[place], 0.0))
        return np.where(count > 0, np.minimum(total, 1.0), 0.0)

    def rule_values(self, entities: Ids) -> Doubles:
        """Return (`entities`, rules): the degree to which the body of each rule holds, in the given order of rules."""
        bodies = self.bodies.values(self._line_values(entities, self.pool.scratch()), not self.is_soft)
        values = np.ones((len(entities), self.num_rules))
        values[:, self.row] = np.repeat(bodies, np.diff(self.rule_pointer), axis=1)
        return values


def class_chances(evidence: Longs, unit: float) -> Doubles:
    """Return the probabilities of classes: the softmax of `evidence` / `unit`, or the scores if `unit` is 0.

    `evidence` is (objects, classes); `unit` is that of the aggregation, 0 unless weights were fitted jointly.
    """
    if not unit:
        return score(evidence)
    odds = np.exp((evidence - evidence.max(axis=-1, keepdims=True)) / SCALE / unit)
    return np.asarray(odds / odds.sum(axis=-1, keepdims=True))
