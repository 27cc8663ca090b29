"""explain: why a fact scores what it scores."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace

import numpy as np

from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..errors import ConfigError, NlilError
from ..kernel.aggregation import Shares
from ..kernel.binding import bind
from ..kernel.exclusion import Exclusion
from ..kernel.grounding import first_failing
from ..kernel.ruleset import RuleSet
from ..logic.formula import Constant, Formula, Statement, Variable
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.query import Query, parse_query
from .changes import changed, fact_ids, place, walking_graph
from .explanation import Excluded, Explanation, Miss, Side, Support
from .firing import Fired, Firing
from .specific import specific_groundings

SIDES: tuple[Side, ...] = ("object", "subject")
"""By direction of the query, as everywhere: p(a, ?) is 0, p(?, b) is 1."""
MANY = 20
"""Rules shown when nobody says how many."""
NAMED = 3
"""Missing facts that a miss names."""


def explain(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    *,
    top: int | None = None,
    groundings: int = 3,
    misses: int = 3,
    side: Side = "object",
    memory: int = 2**30,
) -> Explanation:
    """Why a fact such as "uncle(alice, bob)" or "person(obj17)" scores what it scores, the fact itself hidden.

    top         rules shown, strongest first; default: all that count, up to 20
    groundings  for each of them so many ways in which it holds
    misses      strongest rules that do not fire, with the place where they fail
    side        the answer explained: object for uncle(alice, ?), subject for uncle(?, bob)
    """
    explainer = Explainer(rules, kb, memory)
    return explainer.explain(query, top=top, groundings=groundings, misses=misses, side=side)


class Explainer:
    """Explains facts over one base; keep it for many."""

    def __init__(self, rules: RuleSet, kb: KnowledgeBase, memory: int = 2**30) -> None:
        self.rules, self.kb = bind(rules, kb).rules, kb
        self.firing = Firing(self.rules, kb, memory)

    def changed(self, add: Sequence[Fact] = (), without: Sequence[Fact] = ()) -> Explainer:
        """The same rules over the base with these facts more and fewer."""
        other = copy(self)
        other.kb = kb = changed(self.kb, add, without)
        different = {fact.predicate for fact in (*add, *without)}
        graph = walking_graph(self.firing.graph, kb, any(predicate.arity == 1 for predicate in different))
        other.firing = self.firing.over(kb, graph, {kb.predicate_id(predicate) for predicate in different})
        return other

    def score(self, fact: Fact, side: Side = "object") -> float:
        """The score that `explain` gives, without the reasons."""
        return self.fired(*self.ids(fact), side).shares(self.rules.aggregation).score

    def ids(self, fact: Fact) -> tuple[int, int, int | None]:
        """Target, x, and y for a binary predicate."""
        target, x, y = fact_ids(self.kb, fact)
        return target, x, None if y == NO_OBJECT else y

    def explain(
        self,
        query: str | Query | Fact,
        *,
        top: int | None = None,
        groundings: int = 3,
        misses: int = 3,
        side: Side = "object",
    ) -> Explanation:
        check_side(side)
        fact = closed(query)
        target, x, y = self.ids(fact)
        fired = self.fired(target, x, y, side)
        shares = fired.shares(self.rules.aggregation)
        shown = min(MANY if top is None else max(top, 0), len(shares.order))
        return Explanation(
            fact,
            self.is_known(target, x, y),
            shares.score,
            tuple(self._support(fired, shares, rank, x, y, groundings) for rank in range(shown)),
            tuple(self._miss(row, x, y) for row in self.failing(target, fired, misses)),
            len(fired.rows),
            len(shares.order),
            float(shares.share[shown:].sum()),
            None if fired.exclusion is None else excluded(fired.exclusion, fact),
            side,
            Labels.of(self.kb),
        )

    def fired(self, target: int, x: int, y: int | None, side: Side = "object") -> Fired:
        """The rules that fire for target(x, y), or target(x), the fact itself hidden."""
        if y is None:
            return self.firing.member(target, x)
        return self.firing.pair(target, x, y, hidden=(x, y), direction=SIDES.index(side))

    def is_known(self, target: int, x: int, y: int | None) -> bool:
        return place(self.kb.facts, (target, x, NO_OBJECT if y is None else y))[1]

    def _support(self, fired: Fired, shares: Shares, rank: int, x: int, y: int | None, limit: int) -> Support:
        position = shares.order[rank]
        scored = self.rules[int(fired.rows[position])]
        shown, total = specific_groundings(self.kb, scored.rule, x, y, limit)
        return Support(
            scored.rule,
            scored.stats,
            scored.weight,
            float(shares.share[rank]),
            float(fired.value[position]),
            shown,
            total,
        )

    # where rules fail -----------------------------------------------------------------------------

    def failing(self, target: int, fired: Fired, count: int) -> list[int]:
        """The strongest rules whose head fits and that do not fire; rules of weight 0 say nothing.

        Of an excluded fact none: whatever they miss would not help it.
        """
        if fired.exclusion is not None:
            return []
        quiet = np.setdiff1d(fired.asked, fired.rows, assume_unique=True)
        rules = self.rules.take(quiet)
        order = rules.order()
        return quiet[order[rules.weights[order] > 0][: max(count, 0)]].tolist()

    def _miss(self, row: int, x: int, y: int | None) -> Miss:
        scored = self.rules[row]
        rule, exact = scored.rule, scored.rule
        if isinstance(rule.body, Statement):
            # Sets of entities instead of paths: cheap at a hub, and it tells when only `distinct` stands in the way.
            rule = replace(rule, distinct=False)
        where = first_failing(self.kb, rule, x, y, hide=True)
        if where is None:
            return Miss(exact, scored.stats, scored.weight, exact.body, exact.length, (), ())
        missing = tuple(missing_facts(self.kb, where.statement, where.reached, where.at, x, y))
        return Miss(exact, scored.stats, scored.weight, where.statement, where.reached, where.at, missing)


def check_side(side: str) -> None:
    if side not in SIDES:
        raise ConfigError(
            f"side: expected {' or '.join(SIDES)}, got {side!r}; object explains the answer to "
            "p(a, ?), subject that to p(?, b)",
            "side",
        )


def closed(query: str | Query | Fact) -> Fact:
    """The fact that is asked about."""
    if isinstance(query, Fact):
        return query
    query = parse_query(query) if isinstance(query, str) else query
    names = tuple(name for name in query.arguments if name is not None)
    if len(names) < len(query.arguments):
        raise NlilError(
            f"{query}: explain takes one fact without '?', as in uncle(alice, bob); to find answers use: nlil predict"
        )
    return Fact(Predicate(query.predicate, 1 if len(names) == 1 else 2), names)


def excluded(exclusion: Exclusion, fact: Fact) -> Excluded:
    arguments = fact.arguments[::-1] if exclusion.step.inverse else fact.arguments
    return Excluded(Fact(exclusion.step.predicate, arguments), exclusion)


def missing_facts(
    kb: KnowledgeBase, statement: Formula, reached: int, at: tuple[str, ...], x: int, y: int | None
) -> list[Query]:
    """The next atom of the statement from each entity `at`: mother(bea, ?), or mother(bea, max) where that is fixed."""
    if not isinstance(statement, Statement) or reached >= len(statement.steps):
        return []
    step = statement.steps[reached]
    if step.is_filter:
        return [Query(step.predicate.name, (name,)) for name in at[:NAMED]]
    line = statement.line
    node = sum(not s.is_filter for s in statement.steps[:reached]) + 1
    end: str | None = None
    match line.anchors[node]:
        case Variable(name):
            end = kb.entities.name(x if name == "X" or y is None else y)
        case Constant(name):
            end = name
    return [Query(step.predicate.name, (end, name) if step.inverse else (name, end)) for name in at[:NAMED]]
