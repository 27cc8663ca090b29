"""materialize: everything that rules derive, up to the least fixpoint; rules may be recursive.

Evaluation is stratified, so negated predicates are complete before they are used, and semi-naive: after the first round
of a stratum, bodies are evaluated only from facts that are new or stronger than before (`stratum.py`).

An excluded fact is not derived. As in predictions, only facts of the base exclude; if derived facts did too, the result
would depend on the order of derivation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..logic.predicate import Predicate
from ..logic.rule import Rule, RuleStats, ScoredRule
from .bodies import NO_STEP
from .compiled import SmallWork, compiled
from .derived import FoundFacts, Levels, derived_confidence, refuse_more
from .exclusion import Exclusion, by_code
from .graph import Graph, find_edge, find_member
from .grow import Grower
from .ruleset import RuleSet
from .strata import stratify
from .stratum import Stratum

Dependencies = dict[tuple[Predicate, Predicate], bool]
"""(head, target used in its body) -> whether some use is negated."""
NO_STATS = RuleStats(0, 0, 0)
LOOKUP_STEPS = 20
"""Approximate number of steps to look up one fact."""


@dataclass(frozen=True, eq=False)
class Derived:
    """New facts, sorted, each with the `confidence` of its best derivation, and the number of `rounds`.

    `num_excluded` is the number of facts that exclusions prevented.
    """

    facts: Facts
    confidence: Doubles
    rounds: int
    num_excluded: int = 0


def materialize(
    kb: KnowledgeBase,
    rules: RuleSet | Sequence[tuple[Rule, float]],
    max_rounds: int | None = None,
    progress: Callable[[int, int], None] | None = None,
    max_facts: int | None = None,
    exclusions: Iterable[Exclusion] = (),
    threads: int = 1,
) -> Derived:
    """Return the new facts of the least fixpoint of the rules, with their confidence.

    confidence = max over derivations of (rule confidence * weakest body fact); facts of the base keep their weight. A
    fact that a fact of the base excludes is not derived. More than `max_facts` derived facts, or intermediate results,
    raise LimitError.

    Args:
        kb: The given facts.
        rules: A RuleSet in the ids of `kb`, which derives with its confidences, or rules with confidences.
        max_rounds: Stop after this many rounds.
        progress: Called with (rounds, new facts so far) after every round.
        max_facts: Limit of the derived facts (None: no limit).
        exclusions: Relations that never hold together with a target.
        threads: For rounds of many facts; 0: all cores.
    """
    if isinstance(rules, RuleSet):
        columns, confidence = rules, rules.confidence
    else:
        columns, confidence = _columns(kb, rules)
    level_of = strata(columns)
    grower = Grower(kb, columns.bodies.lines)
    news = NewFactFilter(kb, grower, exclusions, max_facts)
    rounds = 0
    for level in np.unique(level_of).tolist():
        if rounds == max_rounds:
            break
        rows = level_of == level
        stratum = Stratum(grower, columns.take(rows), confidence[rows], max_facts)
        changes = news.among(stratum.derived(None, threads))
        while changes.size and (max_rounds is None or rounds < max_rounds):
            news.put(changes)
            rounds += 1
            if progress is not None:
                progress(rounds, news.num_derived)
            changes = news.among(stratum.derived(changes, threads))
    found = grower.derived.facts()
    predicate, subject, object_ = (column.astype(np.int32) for column in found[:3])
    return Derived(Facts(predicate, subject, object_), found.confidence, rounds, news.excluded.size)


def _columns(kb: KnowledgeBase, rules: Sequence[tuple[Rule, float]]) -> tuple[RuleSet, Doubles]:
    for rule, confidence in rules:
        if not 0.0 <= confidence <= 1.0:
            raise ConfigError(f"a rule's confidence must lie in [0, 1], got {confidence} for {rule}")
    columns = RuleSet.of(kb, [ScoredRule(rule, NO_STATS, 0.0) for rule, _ in rules])
    return columns, np.array([confidence for _, confidence in rules], np.float64)


class NewFactFilter:
    """Finds new facts: neither in `kb`, nor excluded by `exclusions`, nor derived before with this confidence.

    `grower` holds the facts derived so far; more than `max_facts` raise LimitError (None: no limit). `excluded` are the
    facts that exclusions prevented.
    """

    def __init__(
        self, kb: KnowledgeBase, grower: Grower, exclusions: Iterable[Exclusion], max_facts: int | None
    ) -> None:
        self.grower, self.max_facts, self.num_derived, self.small = grower, max_facts, 0, SmallWork(_look_up)
        codes = by_code(exclusions, kb)
        self.excluding = Graph.of(kb.crisp) if codes else grower.graph
        self.codes = np.array([code for target in sorted(codes) for code in codes[target]], np.int64)
        self.pointer = np.cumsum([0, *(len(codes.get(target, ())) for target in range(kb.num_predicates))])
        self.excluded = FoundFacts.none()

    def put(self, changes: FoundFacts) -> None:
        """Add the facts of `changes` to the derived ones."""
        before, _ = self._look_up(changes)
        self.num_derived += int((before == 0).sum())
        self.grower.derived.put(changes)
        refuse_more(self.num_derived, self.max_facts)

    def among(self, found: Iterator[FoundFacts]) -> FoundFacts:
        """Return the new facts among those `found`, each with its best confidence."""
        return FoundFacts.gather(map(self._new, found), self.max_facts)

    def _new(self, found: FoundFacts) -> FoundFacts:
        before, is_excluded = self._look_up(found)
        if is_excluded.any():
            self.excluded = FoundFacts.join([self.excluded, found.take(is_excluded & (found.confidence > 0))]).best()
        return found.take((found.confidence > before) & ~is_excluded)

    def _look_up(self, found: FoundFacts) -> tuple[Doubles, Mask]:
        """Return the known confidence of each fact (infinite in the base), and whether an exclusion rules it out."""
        before, is_excluded = np.zeros(found.size), np.zeros(found.size, bool)
        columns = [np.ascontiguousarray(column, np.int64) for column in found[:3]]
        with self.small.of(LOOKUP_STEPS * found.size):
            _look_up(
                self.grower.graph,
                self.grower.derived.levels,
                self.excluding,
                self.pointer,
                self.codes,
                *columns,
                before,
                is_excluded,
            )
        return before, is_excluded


@compiled
def _look_up(
    graph: Graph,
    levels: Levels,
    excluding: Graph,
    pointer: Longs,
    codes: Longs,
    predicate: Longs,
    subject: Longs,
    object_: Longs,
    before: Doubles,
    is_excluded: Mask,
) -> None:
    """Write the known confidence of each fact into `before`, and mark the excluded facts that are not in the base."""
    for i in range(len(predicate)):
        p, s, o = predicate[i], subject[i], object_[i]
        if o == NO_OBJECT:
            is_known, o = find_member(graph, s, p) >= 0, s
        else:
            is_known = find_edge(graph, s, 2 * p, o) >= 0
            for k in range(pointer[p], 0 if is_known else pointer[p + 1]):
                if find_edge(excluding, s, codes[k], o) >= 0:
                    is_excluded[i] = True
        before[i] = np.inf if is_known else derived_confidence(levels, 2 * p * graph.num_entities + s, o)


# strata: an order of the targets in which every negated target is complete before it is used ---------------


def strata(rules: RuleSet) -> Longs:
    """Return the stratum of each of `rules`, by row."""
    predicates = rules.predicates
    pairs = np.unique(rules.head.astype(np.int64) * (len(rules.bodies) + 1) + rules.body)
    head, body = np.divmod(pairs, len(rules.bodies) + 1)
    edges: Dependencies = {}
    of_line = rules.bodies.line[body] if len(body) else body
    steps = rules.bodies.lines.steps[of_line] if len(body) else np.zeros((0, 1), np.int64)
    uses = (steps != NO_STEP) & (of_line >= 0)[:, None]
    used = np.unique(np.repeat(head, uses.sum(axis=1)) * len(predicates) + (steps[uses] >> 1))
    targets = sorted(predicates[number] for number in np.unique(head).tolist())
    known = set(targets)
    for own, other in zip(*(column.tolist() for column in np.divmod(used, max(len(predicates), 1)))):
        if predicates[other] in known:
            edges[predicates[own], predicates[other]] = False
    _add_programs(edges, rules, head[of_line < 0], body[of_line < 0])
    level = stratify(targets, edges)
    return np.array([level.get(predicate, 0) for predicate in predicates], np.int64)[rules.head]


def _add_programs(edges: Dependencies, rules: RuleSet, heads: Longs, bodies: Longs) -> None:
    """Add the targets that each head uses in a body of more than one line."""
    targets, steps = set(rules.head.tolist()), rules.bodies.lines.steps
    for head, body in zip(heads.tolist(), bodies.tolist()):
        for alternative in rules.bodies.alternatives(body):
            for negated, lines in enumerate(alternative):
                for code in {code for line in lines for code in steps[line].tolist() if code != NO_STEP}:
                    if code >> 1 in targets:
                        edge = rules.predicates[head], rules.predicates[code >> 1]
                        edges[edge] = edges.get(edge, False) or bool(negated)
