"""firing: the rules of a target that hold for one fact, and the evidence of each. The fact itself is hidden.

It agrees with `Ranker.evidence` and `MemberScorer`, which score all candidates at once; here one candidate is
looked at and the rules are kept apart. Rules are looked at by column: a target of a large base has tens of
thousands of them, of which a few fire.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..evaluation.members import walkable
from ..evaluation.plan import Parts, Shapes, reversed_steps
from ..kernel.aggregation import KINDS, Aggregation, Shares, evidence, share_out
from ..kernel.bodies import unary_mask
from ..kernel.compiled import compiled
from ..kernel.evaluator import Evaluator
from ..kernel.exclusion import Exclusion, by_code
from ..kernel.graph import Graph
from ..kernel.ruleset import FIRST, NO_ENTITY, SECOND, RuleSet
from ..kernel.walk import NO_LIMIT, WalkSpace, reach, walk_space

Pair = tuple[int, int]


@dataclass(frozen=True, eq=False)
class Fired:
    """Rules that hold for a fact. `rows` are rows of the whole set, ascending; `value` is 1 where facts are crisp.

    `asked` are the rows whose head fits the fact, whether they hold or not. `exclusion` rules the fact out.
    """

    rows: Longs
    evidence: Longs
    value: Doubles
    is_prior: Mask
    asked: Longs
    exclusion: Exclusion | None = None
    kind: Longs | None = None  # of KINDS, seen from the query; None for unary heads

    def shares(self, aggregation: Aggregation) -> Shares:
        """The score that evaluation gives, and the rules that count for it."""
        excluded = self.exclusion is not None
        return share_out(aggregation, self.rows, self.evidence, self.is_prior, self.kind, excluded)


@dataclass(frozen=True, eq=False)
class _Asked:
    """A question, and the value that it gave each rule of its target."""

    question: tuple[object, ...]
    value: Doubles


def _naming(rules: RuleSet, predicates: Set[int]) -> Mask:
    """The rules whose body names one of these predicates."""
    named = rules.bodies.any_line(rules.bodies.lines.names(predicates))
    return named[rules.body] if len(rules) else np.zeros(0, bool)


@compiled
def _walk_lines(
    graph,
    walk,
    steps,
    length,
    end,
    is_constant,
    distinct,
    is_unary,
    start,
    hidden_code,
    hidden_end,
    hidden_group,
    fires,
):
    """fires[i]: the line steps[i] from `start` arrives at end[i] (anywhere where that is negative), which is a constant
    or the other variable of the line."""
    for i in range(len(steps)):
        limit = 1 if end[i] < 0 else NO_LIMIT
        constant = end[i] if is_constant else -1
        found = reach(
            graph,
            walk,
            steps[i],
            length[i],
            is_unary,
            start,
            distinct[i],
            hidden_code,
            hidden_end,
            hidden_group,
            limit,
            constant,
        )
        fires[i] = found > 0 if end[i] < 0 or is_constant else walk.seen[end[i]] == walk.clock[0]


class Firing:
    """Asks which rules fire, over one base; keep it for many facts. `rules` are bound to the ids of `kb`."""

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, memory: int = 2**30) -> None:
        self.rules, self.kb, self.memory = rules, kb, memory
        self.graph = Graph.of(kb.crisp)
        self.is_unary = unary_mask(kb.predicates)
        self.shapes = Shapes.of(rules.bodies, self.graph, self.is_unary)
        self.is_soft = kb.facts.weight is not None
        self._exclusions = by_code(rules.exclusions, kb)
        self._target, self._rows, self._mine = -1, np.zeros(0, np.int64), rules
        self._last: _Asked | None = None
        self._before: tuple[_Asked, Set[int]] | None = None

    def over(self, kb: KnowledgeBase, changed: Set[int]) -> Firing:
        """The same rules over a base in which facts of the predicates `changed` differ, and no others.

        What was looked up among the rules is kept, and so is what the last question said of rules whose body does not
        name these predicates.
        """
        other = Firing(self.rules, kb, self.memory)
        other._target, other._rows, other._mine = self._target, self._rows, self._mine
        other._before = None if self._last is None else (self._last, changed)
        return other

    def _begun(self, question: tuple[object, ...], mine: RuleSet) -> tuple[Doubles, Mask]:
        """The value of each rule as far as it is known, and which rules are still to be asked."""
        if self._before is None or self._before[0].question != question:
            return np.zeros(len(mine)), np.ones(len(mine), bool)
        before, changed = self._before
        return before.value.copy(), _naming(mine, changed)

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.kb, memory=self.memory)

    @cached_property
    def walk(self) -> WalkSpace:
        return walk_space(self.kb.num_entities, self.rules.bodies.lines.width)

    def of_target(self, target: int) -> tuple[Longs, RuleSet]:
        """Rows of the whole set whose head is the predicate id `target`, and those rules as a set of their own."""
        if target != self._target:
            rows = np.flatnonzero(self.rules.head == target)
            self._target, self._rows, self._mine = target, rows, self.rules.take(rows)
        return self._rows, self._mine

    # binary heads -----------------------------------------------------------------------------------

    def pair(self, target: int, x: int, y: int, hidden: Pair | None = None, direction: int = 0) -> Fired:
        """Rules that hold for target(x, y) while the fact target(hidden) is invisible: the fact itself, or one
        that shares an end with it (a rival answer is judged without the answer that the data has).

        The same rules hold for target(x, ?) (direction 0) and target(?, y) (1); their kinds differ.
        """
        rows, mine = self.of_target(target)
        fits = self._fits(mine, x, y)
        parts = Parts.of(mine, self.shapes)
        is_prior = np.zeros(len(mine), bool)
        is_prior[parts.prior] = True
        question = (target, x, y, hidden)
        value, is_open = self._begun(question, mine)
        is_open &= fits
        value[is_prior & fits] = 1.0
        rest = np.flatnonzero(~is_prior) if self.is_soft else parts.rest
        if not self.is_soft:
            chain = parts.chain[is_open[parts.chain]]
            value[chain] = self._chains(mine, chain, target, x, y, hidden)
            bodies = np.concatenate((parts.anchored, parts.half))
            bodies = bodies[is_open[bodies]]
            for node, some in ((y, bodies[mine.fixed[bodies] == FIRST]), (x, bodies[mine.fixed[bodies] != FIRST])):
                value[some] = self._one_move(mine, some, node, *self._edges_of(node, target, hidden))
        rest = rest[is_open[rest]]
        if len(rest):
            own = hidden == (x, y)
            evaluator = self.evaluator if own or hidden is None else self._without(target, hidden)
            for row in rest.tolist():
                value[row] = evaluator.values(mine.rule(row), np.array([x]), np.array([y]), own)[0]
        self._last = _Asked(question, value)
        fired = self._fired(rows, mine, value, is_prior, fits, self._exclusion(target, x, y, hidden))
        return replace(fired, kind=self._kinds(mine, parts, direction)[value > 0])

    def _kinds(self, mine: RuleSet, parts: Parts, direction: int) -> Longs:
        """Of each rule, as `scoring` tells them apart for a query that knows x (direction 0) or y (1)."""
        known = SECOND if direction else FIRST
        kind = np.full(len(mine), KINDS.index("other"))
        kind[parts.prior] = KINDS.index("prior")
        if not self.is_soft:
            kind[parts.chain] = np.where(self.shapes.length[mine.body[parts.chain]] == 1, 0, 1)
            for some, any_body in ((parts.anchored, 0), (parts.half, 1)):
                kind[some] = any_body + np.where(
                    mine.fixed[some] == known, KINDS.index("query constant"), KINDS.index("answer constant")
                )
        return kind

    def _exclusion(self, target: int, x: int, y: int, hidden: Pair | None) -> Exclusion | None:
        """The first exclusion of the target whose step leads from x to y."""
        mine = self._exclusions.get(target)
        if not mine:
            return None
        code, there = self._edges_of(x, target, hidden)
        between = set(code[there == y].tolist())
        return next((exclusion for step, exclusion in mine.items() if step in between), None)

    def _fits(self, mine: RuleSet, x: int, y: int) -> Mask:
        """Whether (x, y) is a tuple of each head: its constant, and one graph for both sides."""
        if self.kb.graph_of is not None and self.kb.graph_of[x] != self.kb.graph_of[y]:
            return np.zeros(len(mine), bool)
        return mine.head_entity == np.array([NO_ENTITY, x, y])[mine.fixed]

    def _one_move(self, mine: RuleSet, some: Longs, node: int, code: Ids, there: Ids) -> Mask:
        """k(node, d), or k(node, Z) for any Z, over the visible graph (code, there) of the node."""
        lines = mine.bodies.lines.take(mine.line[some])
        wanted, end = lines.steps[:, 0].astype(np.int64), lines.end
        size = self.kb.num_entities
        anchored = np.isin(wanted * size + end, code.astype(np.int64) * size + there)
        apart = np.isin(wanted, code[there != node])
        return np.where(end >= 0, anchored, np.where(lines.distinct, apart, np.isin(wanted, code)))

    def _chains(self, mine: RuleSet, chain: Longs, target: int, x: int, y: int, hidden: Pair | None) -> Mask:
        lines = mine.bodies.lines.take(mine.line[chain])
        steps, length = lines.steps.astype(np.int64), lines.lengths.astype(np.int64)
        start, end, code, hidden_end = x, y, 2 * target, -1 if hidden is None else hidden[1]
        if hidden is not None and hidden[0] != x:
            # `reach` hides an edge of its start: begin at the end that the fact shares with the hidden one.
            steps = reversed_steps(steps, length, self.is_unary)
            start, end, code, hidden_end = y, x, 2 * target + 1, hidden[0]
        # At a hub most chains are ruled out by their first or last step.
        last = steps[np.arange(len(chain)), length - 1]
        some = np.flatnonzero(self._leads_from(start, steps[:, 0]) & self._leads_from(end, last ^ 1))
        holds = np.zeros(len(some), bool)
        group = np.zeros(len(self.is_unary), bool)
        _walk_lines(
            self.graph,
            self.walk,
            steps[some],
            length[some],
            np.full(len(some), end),
            False,
            lines.distinct[some],
            self.is_unary,
            start,
            code,
            hidden_end,
            group,
            holds,
        )
        fires = np.zeros(len(chain), bool)
        fires[some] = holds
        return fires

    def _leads_from(self, node: int, codes: Longs) -> Mask:
        """Whether the node has an edge of each code; a filter is not looked at."""
        there = np.zeros(2 * len(self.is_unary), bool)
        there[self.graph.code[slice(*self.graph.pointer[node : node + 2])]] = True
        return there[codes] | self.is_unary[codes >> 1]

    def _edges_of(self, node: int, target: int, hidden: Pair | None) -> tuple[Ids, Ids]:
        """(codes, neighbours) of the node, the hidden fact left out in both directions."""
        span = slice(*self.graph.pointer[node : node + 2])
        code, there = self.graph.code[span], self.graph.neighbour[span]
        if hidden is None:
            return code, there
        forward = (code == 2 * target) & (there == hidden[1]) & (node == hidden[0])
        backward = (code == 2 * target + 1) & (there == hidden[0]) & (node == hidden[1])
        seen = ~(forward | backward)
        return code[seen], there[seen]

    def _without(self, target: int, hidden: Pair) -> Evaluator:
        facts = self.kb.facts
        own = (facts.predicate == target) & (facts.subject == hidden[0]) & (facts.object == hidden[1])
        return Evaluator(self.kb.with_facts(facts[~own]), memory=self.memory)

    # unary heads ------------------------------------------------------------------------------------

    def member(self, target: int, x: int, hide: bool = True) -> Fired:
        """Rules that hold for target(x) while target(x) is invisible, and for a class all classes of x."""
        rows, mine = self.of_target(target)
        is_prior = mine.is_prior
        question = (target, x, hide)
        value, is_open = self._begun(question, mine)
        value[is_prior] = 1.0
        can_walk = np.append(walkable(mine.bodies.lines), False)
        walked = np.flatnonzero(can_walk[mine.line] & is_open & (not self.is_soft))
        lines = mine.bodies.lines.take(mine.line[walked])
        fires = np.zeros(len(walked), bool)
        group = np.zeros(len(self.is_unary), bool)
        if hide:
            group[list(self.kb.classes if target in self.kb.classes else {target})] = True
        _walk_lines(
            self.graph,
            self.walk,
            lines.steps.astype(np.int64),
            lines.lengths.astype(np.int64),
            lines.end.astype(np.int64),
            True,
            lines.distinct,
            self.is_unary,
            x,
            -1,
            -1,
            group,
            fires,
        )
        value[walked] = fires
        rest = is_open & ~is_prior
        rest[walked] = False
        for row in np.flatnonzero(rest).tolist():
            value[row] = self.evaluator.values(mine.rule(row), np.array([x]), None, hide)[0]
        self._last = _Asked(question, value)
        return self._fired(rows, mine, value, is_prior, np.ones(len(mine), bool))

    def _fired(
        self, rows: Longs, mine: RuleSet, value: Doubles, is_prior: Mask, fits: Mask, exclusion: Exclusion | None = None
    ) -> Fired:
        holds = np.flatnonzero(value > 0)
        power = evidence(value[holds] * mine.weights[holds])
        return Fired(rows[holds], power, value[holds], is_prior[holds], rows[fits], exclusion)


def firing_rules(
    rules: RuleSet, kb: KnowledgeBase, target: int, x: int, y: int | None = None, hide: bool = True, memory: int = 2**30
) -> Fired:
    """The rules of a set bound to `kb` that hold for target(x, y), or target(x); `hide` hides the fact itself."""
    firing = Firing(rules, kb, memory)
    return firing.member(target, x, hide) if y is None else firing.pair(target, x, y, (x, y) if hide else None)
