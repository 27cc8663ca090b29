"""explain: why a fact has its score: the rules that fire, the facts behind them, and strong rules that do not fire.

Values hold names of the data; labels are applied when a value is shown.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from functools import cache, cached_property
from typing import Any, Literal

import numpy as np

from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase
from ..errors import ConfigError, NlilError
from ..kernel.aggregation import Shares
from ..kernel.binding import bind
from ..kernel.bodies import NO_STEP, NOT
from ..kernel.calibration import Calibration, Probability, probability_document
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph
from ..kernel.grounding import Grounding, count_groundings, first_failing, groundings
from ..kernel.ruleset import RuleSet
from ..logic.figures import number, plural
from ..logic.formula import Constant, Formula, Not, Statement, Variable
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query, parse_query
from ..logic.rule import Rule, ScoredRule
from ..logic.text import fact_text, formula_text
from .brief import MAX_AGAINST, against_text, brief, probability_text, sentence
from .changes import changed, fact_ids, find_fact
from .firing import Fired, Firing
from .outline import HasOutline, Item, fact_document, grounding_document, known_text, rule_document, rule_item
from .probabilities import Probabilities
from .reasons import FactShares, NecessaryFact, Reason, RuleGroundings, Support, grouped

Side = Literal["object", "subject"]
"""The argument that is explained as an answer: b in p(a, ?), or a in p(?, b)."""
SIDES: tuple[Side, ...] = ("object", "subject")
"""By direction of the query: p(a, ?) is 0, p(?, b) is 1."""
MAX_SUPPORTS = 20
"""Rules shown by default."""
MAX_MISSING = 3
"""Missing facts named for a rule that does not fire."""

MAX_GROUPED = 100
"""Rules whose groundings are listed to group them; if all rules count, thousands may fire."""
LEAST_AGAINST = 0.1
"""A rule that does not hold speaks against a fact if its weight is this share of that of the strongest such rule."""
MAX_COUNTED = 1000
"""Limit of the count of groundings of one rule; a hub can have millions."""
MAX_COMPARED = 200
"""Groundings compared to find the most specific ones, if counting does not list them anyway."""


@dataclass(frozen=True)
class Miss(ScoredRule):
    """A strong rule that does not fire, and where it fails.

    The first `reached` atoms of `statement` hold and lead to the entities `at`; any fact of the form `missing` would
    satisfy the next one. A negated statement fails because it holds. If all atoms hold, two variables share an entity.
    """

    statement: Formula
    reached: int
    at: tuple[str, ...]
    missing: tuple[Query, ...]

    def item(self, labels: Labels) -> Item:
        """Return the rule and why it does not hold."""
        if isinstance(self.statement, Not):
            reason = f"negated, but holds: {labels.formula(self.statement.argument, self.rule.distinct)}"
        elif self.missing:
            reason = "missing: " + " or ".join(labels.query(query) for query in self.missing)
            if len(self.at) > len(self.missing):
                reason += " or the like"
        elif self.reached == self.rule.length:
            reason = "holds only if two variables stand for the same entity"
        else:
            reason = f"fails: {labels.formula(self.statement, self.rule.distinct)}"
        return rule_item(self, labels, [Item(reason)])


@dataclass(frozen=True)
class Excluded:
    """The fact `by` is in the data and, by this `exclusion`, never holds together with the explained fact."""

    by: Fact
    exclusion: Exclusion

    @classmethod
    def of(cls, exclusion: Exclusion, fact: Fact) -> Excluded:
        """Return the reason that `exclusion` gives against `fact`."""
        arguments = fact.arguments[::-1] if exclusion.step.inverse else fact.arguments
        return cls(Fact(exclusion.step.predicate, arguments), exclusion)

    def text(self, fact: Fact, labels: Labels) -> str:
        """Return one sentence about `fact`, with labels in place of names."""
        return f"excluded: {labels.fact(fact)} and {labels.fact(self.by)} never hold together"


@dataclass(frozen=True, repr=False)
class Explanation(HasOutline):
    """Why `fact` has its score, with the fact itself hidden.

    The shares of `supports` and `other_share` add up to `score`.

    `known` says whether the data has the fact. The score is that of the answer on this `side`: with weighted kinds of
    rules, p(a, b) may score differently for p(a, ?) and p(?, b). If `excluded` rules the fact out, the score and all
    shares are 0. `labels` are readable labels in place of names.

    Attributes:
        reasons: the rules grouped by the facts through which they fire; their shares add up to the score too.
        misses: the strongest rules that do not fire, and where each fails.
        against: strong rules that do not hold; for a class, rules that negate what the object has come first.
        probability: the probability of a fact with this score; None if unknown.
        num_fired: the number of rules that fire.
        num_counted: the number of rules that count for the score: the strongest ones and the priors.
        other_share: the share of the counted rules that are not among the supports.
    """

    fact: Fact
    known: bool
    score: float
    supports: tuple[Support, ...]
    misses: tuple[Miss, ...]
    num_fired: int
    num_counted: int
    other_share: float
    excluded: Excluded | None = None
    side: Side = "object"
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
    reasons: tuple[Reason, ...] = ()
    against: tuple[Miss, ...] = ()
    probability: Probability | None = None
    _find_facts: Callable[[], tuple[NecessaryFact, ...]] = field(default=tuple, repr=False, compare=False)

    @cached_property
    def facts(self) -> tuple[NecessaryFact, ...]:
        """The facts behind the score, by how much it falls without each. Computed on first access."""
        return self._find_facts()

    @property
    def listing(self) -> Listing:
        """The full explanation: every rule with its groundings, every fact with its value."""
        return Listing(self)

    @property
    def query(self) -> Query:
        """The query that `fact` answers: p(a, ?) or p(?, b), or p(?) for a unary predicate."""
        names: list[str | None] = list(self.fact.arguments)
        names[1 if len(names) == 2 and self.side == "object" else 0] = None
        return Query(self.fact.predicate.name, tuple(names))

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON: names of the data, and `label`, the same in readable form."""
        labels, excluded = self.labels, self.excluded
        by = None if excluded is None else {"by": fact_text(excluded.by), "label": labels.fact(excluded.by)}
        return fact_document(
            self.fact,
            labels,
            predicate=self.fact.predicate.name,
            arguments=list(self.fact.arguments),
            query=str(self.query),
            sentence=sentence(self),
            **{key: getattr(self, key) for key in ("known", "score", "num_fired", "num_counted", "other_share")},
            **probability_document(self.probability),
            reasons=[reason.to_dict(self.fact, labels) for reason in self.reasons],
            facts=[one.to_dict(labels) for one in self.facts],
            against=[{**rule_document(m, labels), "text": against_text(m, self.fact, labels)} for m in self.against],
            excluded=None if by is None or excluded is None else by | excluded.exclusion.to_dict(),
            supports=[
                {
                    **rule_document(s, labels),
                    "share": s.share,
                    "value": s.value,
                    "num_groundings": s.num_groundings,
                    "groundings": [grounding_document(g, s.rule.distinct, labels) for g in s.groundings],
                }
                for s in self.supports
            ],
            misses=[
                {
                    **rule_document(m, labels),
                    "statement": formula_text(m.statement, m.rule.distinct),
                    "reached": m.reached,
                    "at": list(m.at),
                    "missing": [str(query) for query in m.missing],
                    "missing_labels": [labels.query(query) for query in m.missing],
                }
                for m in self.misses
            ],
        )

    def outline(self) -> Item:
        """Return one sentence, further reasons, and the evidence against the fact; `listing` has everything."""
        return brief(self)


@dataclass(frozen=True, repr=False)
class Listing(HasOutline):
    """The full explanation: rules with shares and groundings, facts, and where other rules fail."""

    explanation: Explanation

    def outline(self) -> Item:
        """Return the supports with their shares, the value of each fact, then the misses."""
        found = self.explanation
        labels = found.labels
        below = [support.item(labels) for support in found.supports]
        if found.excluded is not None:
            below.insert(0, Item(f"{found.excluded.text(found.fact, labels)} ({found.excluded.exclusion.counts})"))
        unshown = found.num_counted - len(found.supports)
        if unshown > 0:
            below.append(Item(f"+{number(found.other_share)}", f"{plural(unshown, 'weaker rule')}"))
        if found.reasons:
            reasons = [reason.item(found.fact, labels) for reason in found.reasons]
            below.append(Item("as reasons", "rules that fire through the same facts are merged", tuple(reasons)))
        if found.facts:
            facts = tuple(one.item(found.score, labels) for one in found.facts)
            below.append(Item("without one of these facts the score falls by", "", facts))
        if found.misses:
            below.append(Item("rules that do not hold", "", tuple(miss.item(labels) for miss in found.misses)))
        fired = plural(found.num_fired, "rule") if found.num_fired else "no rule"
        verb = "fires" if found.num_fired <= 1 else "fire"
        figure, score = probability_text(found.probability, found.score)
        answers = f"answers {labels.query(found.query)}; " if found.fact.predicate.arity == 2 else ""
        title = f"{labels.fact(found.fact)}  {figure}"
        return Item(title, f"{score}{answers}{known_text(found.known)}; {fired} {verb}", tuple(below))


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
    calibration: Calibration | None = None,
) -> Explanation:
    """Explain the score of a fact such as "uncle(alice, bob)" or "person(obj17)", with the fact itself hidden.

    Args:
        rules: The rules that score it.
        kb: The facts that the rules are evaluated on.
        query: The fact, as a value or as text.
        top: Rules shown, strongest first; by default all that count, up to 20.
        groundings: Groundings shown for each rule.
        misses: Strong rules shown that do not fire, with the place where they fail.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; not needed for classes with jointly fitted weights.
    """
    explainer = Explainer(rules, kb, memory, calibration)
    return explainer.explain(query, top=top, groundings=groundings, misses=misses, side=side)


@dataclass(frozen=True, eq=False)
class ScoredFact:
    """A `fact` by ids (`target`, `x`, and `y`, None for a unary predicate), with the rules that fire for it (`fired`).

    `shares` is their contribution to the score; `direction` is 0 for p(x, ?), 1 for p(?, y).
    """

    fact: Fact
    target: int
    x: int
    y: int | None
    fired: Fired
    shares: Shares
    direction: int = 0

    @property
    def excluded(self) -> Excluded | None:
        """The fact that rules this one out, or None."""
        return None if self.fired.exclusion is None else Excluded.of(self.fired.exclusion, self.fact)


class Explainer:
    """Explains facts over one base; reuse it for many queries.

    Args:
        rules: The rules that score facts.
        kb: The facts that the rules are evaluated on.
        memory: Bytes that one evaluation may take.
        probabilities: A calibration, or `Probabilities` over more rules than these.
    """

    def __init__(
        self,
        rules: RuleSet,
        kb: KnowledgeBase,
        memory: int = 2**30,
        probabilities: Calibration | Probabilities | None = None,
    ) -> None:
        self.rules, self.kb = bind(rules, kb).rules, kb
        self.firing = Firing(self.rules, kb, memory)
        self.probabilities = (
            probabilities
            if isinstance(probabilities, Probabilities)
            else Probabilities(self.rules, kb, probabilities, memory)
        )

    def changed(self, add: Sequence[Fact] = (), without: Sequence[Fact] = ()) -> Explainer:
        """Return an Explainer over the base with the facts `add` and without the facts `without`."""
        other = copy(self)
        other.kb = kb = changed(self.kb, add, without)
        other.probabilities = self.probabilities.over(kb)
        different = {fact.predicate for fact in (*add, *without)}
        other.firing = self.firing.over(kb, {kb.predicate_id(predicate) for predicate in different})
        return other

    def score(self, fact: Fact, side: Side = "object") -> float:
        """Return only the score of `explain`."""
        return self.scored(fact, side).shares.score

    def probability(self, found: ScoredFact) -> Probability | None:
        """Return the probability of the scored fact `found`; None if unknown."""
        return self.probabilities.probability(found.fact, found.shares.score)

    def scored(self, query: str | Query | Fact, side: Side = "object") -> ScoredFact:
        """Return the rules that fire for a fact, with the fact itself hidden, and its score."""
        check_side(side)
        fact = as_fact(query, self.kb)
        target, x, object_ = fact_ids(self.kb, fact)
        y = None if object_ == NO_OBJECT else object_
        if y is None:
            fired = self.firing.member(target, x)
        else:
            fired = self.firing.pair(target, x, y, hidden=(x, y), direction=SIDES.index(side))
        shares = fired.shares(self.rules.aggregation)
        return ScoredFact(fact, target, x, y, fired, shares, SIDES.index(side))

    def explain(
        self,
        query: str | Query | Fact,
        *,
        top: int | None = None,
        groundings: int = 3,
        misses: int = 3,
        side: Side = "object",
    ) -> Explanation:
        """Explain the score of a fact; `top`, `groundings` and `misses` as in the function `explain`."""
        found = self.scored(query, side)
        shares, num_counted = found.shares, len(found.shares.order)
        shown = min(MAX_SUPPORTS if top is None else max(top, 0), num_counted)
        looked_into = max(shown, min(MAX_GROUPED, num_counted))
        ways = cache(lambda place: self._ways(found, place))
        counted = [ways(int(place)) for place in shares.order[:looked_into]]
        supports = [self._support(found, rank, own, groundings) for rank, own in enumerate(counted)]
        reasons = grouped(supports, counted, num_counted - looked_into, float(shares.share[looked_into:].sum()))
        missed = tuple(self._miss(row, found.x, found.y) for row in self.failing(found.fired, misses))
        return Explanation(
            found.fact,
            self.is_known(found.fact),
            shares.score,
            tuple(supports[:shown]),
            missed,
            len(found.fired.rows),
            num_counted,
            float(shares.share[shown:].sum()),
            found.excluded,
            side,
            Labels.of(self.kb),
            () if found.excluded else tuple(self._with_rival(reason, found.fact) for reason in reasons),
            _different(*self._denied(found), *strong_ones(missed))[:MAX_AGAINST] if misses else (),
            self.probability(found),
            lambda: self.necessary(found, ways)[0],
        )

    def reasons(self, found: ScoredFact, shares: Mapping[int, float]) -> tuple[Reason, ...]:
        """Group some of the counted rules of `found` into reasons, with other `shares`.

        The keys of `shares` are positions among the rules that fire.
        """
        ways, supports = [], []
        for rank, place in enumerate(found.shares.order.tolist()):
            if place in shares:
                ways.append(self._ways(found, place))
                supports.append(replace(self._support(found, rank, ways[-1], 0), share=shares[place]))
        order = sorted(range(len(supports)), key=lambda i: -supports[i].share)
        found_reasons = grouped([supports[i] for i in order], [ways[i] for i in order], 0, 0.0)
        return tuple(self._with_rival(reason, found.fact) for reason in found_reasons)

    def _with_rival(self, reason: Reason, fact: Fact) -> Reason:
        """Add the class that an absence counts against, if classes compete."""
        if reason.kind != "absence" or reason.strongest is None:
            return reason
        return replace(reason, rival=self.probabilities.rival(fact, reason.strongest.rule))

    def necessary(
        self, found: ScoredFact, ways: Callable[[int], RuleGroundings] | None = None
    ) -> tuple[tuple[NecessaryFact, ...], int]:
        """Return the facts without which the score of `found` falls, largest fall first, and how many facts were tried.

        `ways` returns the groundings of a rule by its position among those that fire; by default they are computed.
        """
        ways = ways or cache(lambda place: self._ways(found, place))
        denied = self._denied_predicates(found.target)
        is_soft, side = self.firing.is_soft, SIDES[found.direction]
        shares = FactShares(
            self.rules.aggregation,
            found.fired,
            ways,
            lambda fact: self.changed(without=[fact]).score(found.fact, side),
            lambda fact: is_soft or self.kb.predicate_id(fact.predicate) in denied,
        )
        counted = [ways(int(place)) for place in found.shares.order]
        tried = dict.fromkeys(fact for own in counted for fact in sorted(own.every if is_soft else own.core))
        return shares.falls(tried, found.shares.score), len(tried)

    def _denied_predicates(self, target: int) -> frozenset[int]:
        """Return the predicates under a negation; without a fact of these, rules may begin to fire."""
        bodies = self.firing.of_target(target)[1].bodies
        lines = {line for body in np.flatnonzero(bodies.uses_operator(NOT)) for line in bodies.lines_of(int(body))}
        steps = bodies.lines.steps[sorted(lines)]
        return frozenset((steps[steps != NO_STEP] >> 1).tolist())

    def is_known(self, fact: Fact) -> bool:
        """Return whether the data has the fact."""
        return find_fact(self.kb.facts, fact_ids(self.kb, fact))[1]

    def _ways(self, found: ScoredFact, place: int) -> RuleGroundings:
        """Return the groundings of the rule at this position among those that fire."""
        return ways_of(self.kb, self.rules.rule(int(found.fired.rows[place])), found.x, found.y)

    def _support(self, found: ScoredFact, rank: int, ways: RuleGroundings, limit: int) -> Support:
        place = found.shares.order[rank]
        rule = self.rules[int(found.fired.rows[place])]
        share, value = float(found.shares.share[rank]), float(found.fired.value[place])
        return Support(rule.rule, rule.stats, rule.weight, share, value, ways.listed[: max(limit, 0)], ways.total)

    # where rules fail -----------------------------------------------------------------------------

    def failing(self, fired: Fired, count: int) -> list[int]:
        """Return the `count` strongest rules whose head matches and that are not in `fired`.

        Rules of weight 0 are skipped. There are none for an excluded fact: nothing could help it.
        """
        if fired.exclusion is not None:
            return []
        quiet = np.setdiff1d(fired.fitting, fired.rows, assume_unique=True)
        rules = self.rules.take(quiet)
        order = rules.order()
        return quiet[order[rules.weights[order] > 0][: max(count, 0)]].tolist()

    def _denied(self, found: ScoredFact) -> list[Miss]:
        """Return the strongest rules of a class that negate one statement, which holds; none for excluded facts."""
        rows, rules = self.firing.of_target(found.target)
        if found.y is not None or found.excluded is not None or not len(rules):
            return []
        bodies = rules.bodies
        denies_one = bodies.uses_operator(NOT) & (np.diff(bodies.pointer) == 2)
        quiet = np.flatnonzero(denies_one[rules.body] & ~np.isin(rows, found.fired.rows) & (rules.weights > 0))
        best = quiet[np.argsort(-rules.weights[quiet], kind="stable")][:MAX_AGAINST]
        return [self._miss(int(row), found.x, found.y) for row in rows[best]]

    def _miss(self, row: int, x: int, y: int | None) -> Miss:
        scored = self.rules[row]
        rule = scored.rule
        # Sets of entities instead of paths: cheap at a hub, and shows if only `distinct` fails.
        relaxed = replace(rule, distinct=False) if isinstance(rule.body, Statement) else rule
        where = first_failing(self.kb, relaxed, x, y, hide=True)
        if where is None:
            return Miss(rule, scored.stats, scored.weight, rule.body, rule.length, (), ())
        missing = tuple(missing_facts(self.kb, where.statement, where.reached, where.at, x, y))
        return Miss(rule, scored.stats, scored.weight, where.statement, where.reached, where.at, missing)


def strong_ones(missed: Sequence[Miss]) -> list[Miss]:
    """Return those of the `missed` rules, strongest first, that were to be expected to hold."""
    return [miss for miss in missed if miss.weight >= LEAST_AGAINST * missed[0].weight]


def _different(*misses: Miss) -> tuple[Miss, ...]:
    """Keep the first of the rules that lack the same facts."""
    first: dict[object, Miss] = {}
    for miss in misses:
        first.setdefault(miss.missing or miss.statement, miss)
    return tuple(first.values())


def check_side(side: str) -> None:
    """Raise ConfigError unless `side` is object or subject."""
    if side not in SIDES:
        raise ConfigError(
            f"side: expected {' or '.join(SIDES)}, got {side!r}; object explains the answer to "
            "p(a, ?), subject that to p(?, b)",
            "side",
        )


def as_fact(query: str | Query | Fact, kb: KnowledgeBase) -> Fact:
    """Return the fact of a `query` without `?`, with names of `kb` in place of labels."""
    if isinstance(query, Fact):
        return query
    query = parse_query(query) if isinstance(query, str) else query
    names = tuple(name for name in query.arguments if name is not None)
    if len(names) < len(query.arguments):
        raise NlilError(
            f"{query}: explain takes one fact without '?', as in uncle(alice, bob); to find answers use: nlil predict"
        )
    query = kb.resolved(query)
    return Fact(query.target, tuple(name for name in query.arguments if name is not None))


def missing_facts(
    kb: KnowledgeBase, statement: Formula, reached: int, at: tuple[str, ...], x: int, y: int | None
) -> list[Query]:
    """Return the next atom of `statement` from each entity `at`: mother(bea, ?), or mother(bea, max) if the end is
    fixed.

    The first `reached` steps of the statement hold.
    """
    if not isinstance(statement, Statement) or reached >= len(statement.steps):
        return []
    step = statement.steps[reached]
    if step.is_filter:
        return [Query(step.predicate.name, (name,)) for name in at[:MAX_MISSING]]
    node = sum(not s.is_filter for s in statement.steps[:reached]) + 1
    end: str | None = None
    match statement.anchors[node]:
        case Variable(name):
            end = kb.entities.name(x if name == "X" or y is None else y)
        case Constant(name):
            end = name
    return [Query(step.predicate.name, (end, name) if step.inverse else (name, end)) for name in at[:MAX_MISSING]]


# the most specific groundings ------------------------------------------------------------------------------


def specific_groundings(
    kb: KnowledgeBase, rule: Rule, x: int, y: int | None, limit: int, hide: bool = True
) -> tuple[tuple[Grounding, ...], int]:
    """Return up to `limit` groundings, and their number (up to MAX_COUNTED)."""
    ways = ways_of(kb, rule, x, y, limit, hide)
    return ways.listed[: max(limit, 0)], ways.total


def ways_of(kb: KnowledgeBase, rule: Rule, x: int, y: int | None, limit: int = 0, hide: bool = True) -> RuleGroundings:
    """Return groundings, at least `limit` if there are as many, the most specific first."""
    most = MAX_COUNTED if rule.distinct else max(limit, MAX_COMPARED)
    listed = groundings(kb, rule, x, y, limit=most, hide=hide)
    is_complete = len(listed) < most
    total = len(listed) if rule.distinct or is_complete else count_groundings(kb, rule, x, y, hide=hide)
    different = without_repeats(listed)
    total -= len(listed) - len(different)
    return RuleGroundings(tuple(most_specific(kb, different)), min(total, MAX_COUNTED), is_complete)


def without_repeats(listed: list[Grounding]) -> list[Grounding]:
    """Keep the first of the `listed` groundings with the same facts and the same absences."""
    first: dict[object, Grounding] = {}
    for grounding in listed:
        first.setdefault((frozenset(grounding.facts), grounding.absent), grounding)
    return list(first.values())


def most_specific(kb: KnowledgeBase, listed: list[Grounding]) -> list[Grounding]:
    """Sort `listed`: more facts first, then those whose entities occur in few other facts, since a hub proves little.

    Ties stay in the order of ids.
    """
    if len(listed) < 2:
        return listed
    names = sorted({entity for grounding in listed for _, entity in grounding.bindings})
    degree = dict(zip(names, (_num_facts(kb, kb.entities.id(name)) for name in names)))

    def key(grounding: Grounding) -> tuple[int, float]:
        spread = sum(math.log1p(degree[entity]) for _, entity in grounding.bindings)
        return -len(grounding.facts), round(spread, 6)

    return sorted(listed, key=key)


def _num_facts(kb: KnowledgeBase, entity: int) -> int:
    return int(Graph.of(kb).degree(entity))
