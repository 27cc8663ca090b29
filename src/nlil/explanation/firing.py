"""firing: the rules of a target that hold for one fact, and their evidence. The fact itself is hidden.

The results agree with `Ranker.evidence` and `MemberScorer`, which score all candidates at once; here one candidate is
scored and the rules are kept apart. Each line of the target's rules is evaluated once, and a body is a program over
these results: a target of a large base has tens of thousands of rules, of which a few fire.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence, Set
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..evaluation.plan import RowsByShape, Shapes, TargetRules, kinds
from ..kernel.aggregation import Aggregation, Shares, evidence, share_out
from ..kernel.bodies import ANY_NODE, X_NODE, Y_NODE, Lines
from ..kernel.compiled import SmallWork, compiled
from ..kernel.exclusion import Exclusion, by_code
from ..kernel.graph import Graph
from ..kernel.hidden import Hidden, HiddenFact, hides_edge
from ..kernel.line_answers import LineAnswers
from ..kernel.ruleset import NO_ENTITY, RuleSet
from ..kernel.walk import NO_LIMIT, WalkSpace, expected_steps, reach, walk_space
from ..kernel.witnesses import LineQuery
from .changes import changed

Pair = tuple[int, int]
RuleValues = tuple[tuple[object, ...], Doubles]
"""A query, and the value of each rule of its target for it."""


@dataclass(frozen=True, eq=False)
class Fired:
    """The rules that hold for a fact.

    rows       their rows in the whole set, ascending
    evidence   the evidence of each rule
    value      the degree to which each body holds: 1 for crisp facts
    is_prior   whether the body is `true`
    fitting    the rows whose head matches the fact, whether they hold or not
    exclusion  the exclusion that rules the fact out, or None
    kind       the kind of each rule (KINDS) for this query; None if kinds have no weights
    """

    rows: Longs
    evidence: Longs
    value: Doubles
    is_prior: Mask
    fitting: Longs
    exclusion: Exclusion | None = None
    kind: Longs | None = None

    def take(self, places: Longs) -> Fired:
        """Return the result as if only the rules at these places fired."""
        columns = (self.rows[places], self.evidence[places], self.value[places], self.is_prior[places])
        return Fired(*columns, self.fitting, self.exclusion, None if self.kind is None else self.kind[places])

    def shares(self, aggregation: Aggregation) -> Shares:
        """Return the score under `aggregation`, and the rules that count for it."""
        excluded = self.exclusion is not None
        return share_out(aggregation, self.rows, self.evidence, self.is_prior, self.kind, excluded)


@compiled
def _walk_lines(
    graph: Graph, walk: WalkSpace, lines: Lines, lengths: Longs, end: int, hidden: HiddenFact, fires: Mask
) -> None:
    """Set fires[i] if line i from hidden.start reaches its constant, or `end` for a variable end, or anything."""
    for i in range(len(fires)):
        anchor = lines.end[i]
        limit = 1 if anchor == ANY_NODE else NO_LIMIT
        found = reach(
            graph,
            walk,
            lines.steps[i],
            lengths[i],
            hidden.start,
            lines.distinct[i],
            hidden,
            limit,
            max(anchor, -1),
        )
        fires[i] = walk.seen[end] == walk.clock[0] if anchor == Y_NODE else found > 0


class Firing:
    """Finds the rules that fire, over one base; reuse it for many facts.

    Args:
        rules: the rules, in the ids of `kb`.
        kb: the facts that bodies are evaluated on.
        memory: bytes that one evaluation may take.
        together: entities that will be queried one after the other; a body is evaluated for all of them at once.
    """

    def __init__(
        self, rules: RuleSet, kb: KnowledgeBase, memory: int = 2**30, together: Sequence[int] | Longs = ()
    ) -> None:
        self.rules, self.kb, self.memory = rules, kb, memory
        self.graph = Graph.of(kb.crisp)
        self.is_soft = kb.facts.weight is not None
        self._together = np.unique(np.asarray(together, np.int32))
        self._exclusions = by_code(rules.exclusions, kb)
        self._small = SmallWork()
        self._kinds: dict[int, Longs] = {}
        self._target, self._rows, self._target_rules = -1, np.zeros(0, np.int64), rules
        self._scorer: tuple[RuleSet, MemberScorer] | None = None
        self._scored: tuple[Ids, Doubles]
        self._last: RuleValues | None = None
        self._before: tuple[RuleValues, Set[int]] | None = None

    def over(self, kb: KnowledgeBase, changed: Set[int]) -> Firing:
        """Return a Firing over a base that differs only in facts of the predicates `changed`.

        Lookups among the rules are reused, and so are the results of the last query for rules whose body does not use
        these predicates.
        """
        other = Firing(self.rules, kb, self.memory)
        other._small = self._small
        other._target, other._rows, other._target_rules, other._kinds = (
            self._target,
            self._rows,
            self._target_rules,
            self._kinds,
        )
        other._before = None if self._last is None else (self._last, changed)
        return other

    def of_target(self, target: int) -> tuple[Longs, RuleSet]:
        """Return the rows whose head is the predicate id `target`, and these rules as a set."""
        if target != self._target:
            rows = np.flatnonzero(self.rules.head == target)
            self._target, self._rows, self._target_rules = target, rows, self.rules.take(rows).compact()
            self._kinds = {}
        return self._rows, self._target_rules

    def pair(self, target: int, x: int, y: int, hidden: Pair | None = None, direction: int = 0) -> Fired:
        """Return the rules that hold for target(x, y) while the fact target(hidden) is hidden.

        Args:
            target: a binary predicate.
            x: the subject.
            y: the object.
            hidden: the fact itself or another one; a rival answer is scored without the answer that the data has.
            direction: target(x, ?) is 0, target(?, y) is 1. The same rules hold, but their kinds differ.
        """
        if hidden is not None and hidden != (x, y):
            rest = changed(self.kb, without=[self.kb.fact(target, *hidden)])
            return self.over(rest, {target}).pair(target, x, y, None, direction)
        rows, rules = self.of_target(target)
        fits = rules.head_entity == np.array([NO_ENTITY, x, y])[rules.fixed]
        if self.kb.graph_of is not None:
            fits &= self.kb.graph_of[x] == self.kb.graph_of[y]
        hide = hidden is not None
        value = self._values((target, x, y, hide), fits, lambda some: self._pair_values(some, target, x, y, hide))
        kind = self._kinds_for(direction)[value > 0] if rules.aggregation.weighing else None
        return self._fired(value, rows[fits], self._exclusion(target, x, y, hide), kind)

    def _kinds_for(self, direction: int) -> Longs:
        """Return the kind of each rule of the target."""
        if direction not in self._kinds:
            shapes = Shapes.of(self._target_rules.bodies, self.graph)
            rules = TargetRules.of(self._target_rules, shapes, RowsByShape.of(self._target_rules, shapes))
            self._kinds[direction] = kinds(rules, direction)
        return self._kinds[direction]

    def member(self, target: int, x: int) -> Fired:
        """Return the rules that hold for target(x) while target(x), and for a class all classes of x, are hidden."""
        rows, rules = self.of_target(target)
        fits = np.ones(len(rules), bool)
        return self._fired(self._values((target, x), fits, lambda some: self._member_values(some, target, x)), rows)

    def _values(self, query: tuple[object, ...], fits: Mask, evaluate: Callable[[RuleSet], Doubles]) -> Doubles:
        """Return the value of each rule of the target; evaluates only matching rules without a cached value."""
        value, is_open, rules = np.zeros(len(fits)), fits, self._target_rules
        if self._before is not None and self._before[0][0] == query and len(rules):
            (_, before), changed = self._before
            value, bodies = before.copy(), rules.bodies
            is_open = fits & bodies.any_line(bodies.lines.names(changed))[rules.body]
        value[is_open] = evaluate(rules if is_open.all() else rules.take(is_open).compact())
        self._last = query, value
        return value

    def _fired(
        self, value: Doubles, fitting: Longs, exclusion: Exclusion | None = None, kind: Longs | None = None
    ) -> Fired:
        rows, rules, holds = self._rows, self._target_rules, np.flatnonzero(value > 0)
        power = evidence(value[holds] * rules.weights[holds])
        return Fired(rows[holds], power, value[holds], rules.is_prior[holds], fitting, exclusion, kind)

    def _exclusion(self, target: int, x: int, y: int, hide: bool) -> Exclusion | None:
        """Return the first exclusion of the target whose step leads from x to y."""
        for code, exclusion in self._exclusions.get(target, {}).items():
            holds = y in self.graph.neighbour[slice(*self.graph.edges(x, code))]
            if holds and not (hide and hides_edge(2 * target, x, y, code, x, y)):
                return exclusion
        return None

    # unary heads ------------------------------------------------------------------------------------

    def _member_values(self, rules: RuleSet, target: int, x: int) -> Doubles:
        """Return the value of each rule for x, computed by the scorer of `evaluation`."""
        if self._scorer is None or self._scorer[0] is not rules:
            self._scorer = rules, MemberScorer(rules, self.kb, np.array([target]), 1, self.memory)
            self._scored = np.zeros(0, np.int32), np.zeros((0, len(rules)))
        if x not in self._scored[0]:
            entities = self._together if x in self._together else np.array([x], np.int32)
            scorer = self._scorer[1]
            with self._small.of(len(entities) * len(scorer.walked.steps)):  # most lines hold or fail at once
                self._scored = entities, scorer.rule_values(entities)
        entities, values = self._scored
        return values[np.searchsorted(entities, x)]

    # binary heads -----------------------------------------------------------------------------------

    def _pair_values(self, rules: RuleSet, target: int, x: int, y: int, hide: bool) -> Doubles:
        """Return the value of each rule for (x, y)."""
        lines = rules.bodies.lines
        is_true = (lines.lengths == 0) & (lines.start == ANY_NODE)
        value, left = is_true.astype(np.float64), ~is_true
        if not self.is_soft:
            moves = lines.moves(self.graph.is_unary)
            for anchor, start, end, code in ((X_NODE, x, y, 2 * target), (Y_NODE, y, x, 2 * target + 1)):
                ends = (lines.end == ANY_NODE) | (lines.end >= 0) | ((lines.end == Y_NODE) & (anchor == X_NODE))
                walked = (lines.start == anchor) & moves & ends
                hidden = HiddenFact(code, start, end if hide else -1, -1, self.graph.is_unary)
                value[walked] = self._walked(lines.take(walked), hidden, end)
                left &= ~walked
        soft = self._soft_answers(rules, target, x, y if hide else -1) if self.is_soft else None
        for line in np.flatnonzero(left).tolist():
            if soft is None:
                value[line] = self._holds(lines, line, x, y, Hidden(target, frozenset()) if hide else None)
            else:
                value[line] = np.broadcast_to(soft.line(line), (1, self.kb.num_entities))[0, y]
        return rules.bodies.values(value[None], not self.is_soft)[0, rules.body] if len(rules) else np.zeros(0)

    def _soft_answers(self, rules: RuleSet, target: int, x: int, hidden: int) -> LineAnswers:
        query, end = np.array([x], np.int32), np.array([hidden], np.int32)
        graph = Graph.of(self.kb)
        group = np.zeros_like(graph.is_unary)
        return LineAnswers(graph, rules.bodies, 2 * target, query, end, group, self._walk, self.memory)

    def _holds(self, lines: Lines, line: int, x: int, y: int, hidden: Hidden | None) -> float:
        """Return whether a line holds that the compiled walk does not support."""
        laid_out = lines.line(line, self.graph.is_unary)
        # First without `distinct`, which is cheap at a hub; what fails without it fails with it.
        queries = (LineQuery(self.kb, laid_out, d, x, y, hidden) for d in {False, bool(lines.distinct[line])})
        return float(all(next(query.witnesses(), None) is not None for query in queries))

    @cached_property
    def _walk(self) -> WalkSpace:
        return walk_space(self.kb.num_entities, self.rules.bodies.lines.width)

    def _walked(self, lines: Lines, hidden: HiddenFact, end: int) -> Mask:
        """Return whether each line from the entity of the query holds; `end` is the entity of the other variable."""
        start = hidden.start
        steps, lengths = lines.steps.astype(np.int64), lines.lengths.astype(np.int64)
        last = steps[np.arange(len(steps)), lengths - 1]
        span, size = slice(*self.graph.pointer[start : start + 2]), self.kb.num_entities
        edges = self.graph.code[span].astype(np.int64) * size + self.graph.neighbour[span]
        # Most lines at a hub are ruled out by their first or last step.
        possible = self._leads_from(start, steps[:, 0])
        possible &= (lines.end != Y_NODE) | self._leads_from(end, last ^ 1)
        possible &= (lines.end < 0) | (lengths > 1) | np.isin(steps[:, 0] * size + lines.end, edges)
        some = np.flatnonzero(possible)
        fires = np.zeros(len(some), bool)
        chosen = lines.take(some)._replace(steps=steps[some])
        with self._small.of(expected_steps(self.graph, chosen.steps)):
            _walk_lines(self.graph, self._walk, chosen, lengths[some], end, hidden, fires)
        possible[some] = fires
        return possible

    def _leads_from(self, node: int, codes: Longs) -> Mask:
        """Return whether the node has an edge of each code; filters are not checked."""
        there = np.zeros(2 * len(self.graph.is_unary), bool)
        there[self.graph.code[slice(*self.graph.pointer[node : node + 2])]] = True
        return there[codes] | self.graph.is_unary[codes >> 1]
