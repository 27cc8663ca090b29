"""Reasons: the rules behind a score, grouped by the facts through which they fire, and the value of each fact.

Rules that fire through the same facts are one reason, and their shares are added: a rule joins a stronger one if, in
each of its groundings, at least half of the facts are facts of the stronger one. A fact and the same fact with its
arguments swapped count as one. So no two reasons depend on the same facts, and the shares of all reasons add up to the
score.

The value of a fact is exact: it is the fall of the score if every rule that cannot fire without the fact is removed.
Rules that were not among the strongest take the free places, as they would if the fact were missing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from ..kernel.aggregation import Aggregation
from ..kernel.grounding import Grounding
from ..logic.english import facts_clause, statement_clause
from ..logic.figures import number, number_pair, plural
from ..logic.formula import Constant, Statement
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import ScoredRule
from .firing import Fired
from .outline import Item, about, fact_document, grounding_document, grounding_line, rule_item

Kind = Literal["facts", "absence", "frequency", "other"]
"""What a reason is based on: facts; only absent facts; nothing, as a prior; or rules that were not inspected."""
KINDS: tuple[Kind, ...] = ("facts", "absence", "frequency", "other")
"""In the order of display: facts before absences, frequency last."""
SHARED_PART = 0.5
"""A rule joins a stronger one if it shares at least this part of the facts of each of its groundings."""


@dataclass(frozen=True)
class Support(ScoredRule):
    """A rule that fires and counts, with its `share` of the score.

    `value` is the degree to which its body holds: 1 unless facts are soft. `num_groundings` is the number of
    groundings, counted up to 1000; `groundings` are those shown.
    """

    share: float
    value: float
    groundings: tuple[Grounding, ...]
    num_groundings: int

    def item(self, labels: Labels) -> Item:
        """Return the rule with its share, its statistics and its groundings."""
        shown = [grounding_line(g, self.rule.distinct, labels) for g in self.groundings]
        below = [Item(line) for line in shown if line]
        if self.num_groundings > len(shown):
            below.append(Item(f"and {plural(self.num_groundings - len(shown), 'other way')}"))
        item = rule_item(self, labels, below, self.share)
        return item if self.value >= 1.0 else replace(item, note=f"{item.note}, holds to degree {number(self.value)}")


@dataclass(frozen=True)
class Reason:
    """Rules that fire through the same facts, strongest first, and the sum of their shares (`share`).

    `kind` says what they are based on. `grounding` is the most specific grounding of the strongest rule; `num_ways` is
    the number of its groundings. `rules` are those shown of `num_rules`. The rules of kind `other` were not inspected;
    there are too many to read.
    """

    kind: Kind
    share: float
    rules: tuple[ScoredRule, ...]
    grounding: Grounding
    num_ways: int = 1
    num_rules: int = 1
    rival: Predicate | None = None
    """For the absence of something, if a class is explained: the class that it counts against."""

    @property
    def facts(self) -> tuple[Fact, ...]:
        """The facts through which its strongest rule fires."""
        return self.grounding.facts

    @property
    def strongest(self) -> ScoredRule | None:
        """The rule with the largest share."""
        return self.rules[0] if self.rules else None

    def clause(self, fact: Fact, labels: Labels, shown: Collection[Fact] = ()) -> str:
        """Return the reason in plain words, about the explained `fact`, without the facts already `shown`."""
        new = [one for one in self.facts if one not in shown] or self.facts
        parts = [facts_clause(new, fact.arguments, labels)] if new else []
        parts += [self._denied(statement, fact, labels) for statement in self.grounding.absent]
        if parts:
            rival = self.rival if self.kind == "absence" else None
            against = "" if rival is None else f": counts against {labels.predicates.get(rival.name, rival.name)}"
            return " and ".join(parts) + against
        return "frequency" if self.kind == "frequency" else f"{plural(self.num_rules, 'weaker rule')}"

    def _denied(self, statement: Statement, fact: Fact, labels: Labels) -> str:
        place = "the image" if fact.predicate.arity == 1 else "the data"
        return statement_clause(about(statement, dict(self.grounding.bindings)), labels, is_denied=True, place=place)

    def how_often(self, labels: Labels) -> str:
        """Return how often its strongest rule is right; empty if there are no statistics.

        The facts of a rule such as `shown_in(alien, Y) :- shown_in(brazil, Y)` never mention alien, so the text says
        that the rule is right for alien.
        """
        strongest = self.strongest
        if strongest is None or not strongest.stats.body_size:
            return ""
        subject = self._silent_subject
        whom = "" if subject is None else f"for {labels.entities.get(subject, subject)} "
        return f"right {whom}in {strongest.stats.support:,} of {strongest.stats.body_size:,} cases"

    @property
    def _silent_subject(self) -> str | None:
        """The subject in the head of its strongest rule, if it is an entity that none of its facts mentions."""
        arguments = self.strongest.rule.head.arguments if self.strongest is not None else ()
        if len(arguments) < 2 or not isinstance(arguments[0], Constant):
            return None
        name = arguments[0].name
        return None if any(name in fact.arguments for fact in self.facts) or not self.facts else name

    def because(self, fact: Fact, labels: Labels) -> str:
        """Return the clause after "because" in a sentence about the explained `fact`."""
        shown, how_often = self.clause(fact, labels), self.how_often(labels)
        return f"{shown}, which is {how_often}" if how_often and self._silent_subject is not None else shown

    def note(self, labels: Labels, is_told: bool = False) -> str:
        """Return how often its strongest rule is right, its other groundings, and the number of similar rules.

        If the reason `is_told` in the sentence, what the sentence says is not repeated.
        """
        how_often = "" if is_told and self._silent_subject is not None else self.how_often(labels)
        parts = [how_often] if how_often else []
        if self.kind == "facts" and self.num_ways > 1:
            parts.append(f"and {plural(self.num_ways - 1, 'other way')}")
        if self.kind != "other" and self.num_rules > 1:
            parts.append(f"and {plural(self.num_rules - 1, 'similar rule')}")
        return ", ".join(parts)

    def item(self, fact: Fact, labels: Labels, shown: Collection[Fact] = ()) -> Item:
        """Return its share and its clause, about the explained `fact`, without the facts already `shown`."""
        return Item(f"+{number(self.share)}  {self.clause(fact, labels, shown)}", self.note(labels))

    def to_dict(self, fact: Fact, labels: Labels) -> dict[str, Any]:
        """Return plain values for JSON."""
        distinct = self.strongest is not None and self.strongest.rule.distinct
        return {
            "kind": self.kind,
            "share": self.share,
            "text": self.clause(fact, labels),
            "note": self.note(labels),
            "num_rules": self.num_rules,
            "num_ways": self.num_ways,
            **grounding_document(self.grounding, distinct, labels),
            "rules": [str(found.rule) for found in self.rules],
            "rival": None if self.rival is None else self.rival.name,
        }


@dataclass(frozen=True)
class NecessaryFact:
    """Without `fact` the explained fact has the score `score`, lower by `fall`."""

    fact: Fact
    score: float
    fall: float

    def item(self, score: float, labels: Labels) -> Item:
        """Return the fall and the fact, and what is left of `score`."""
        left = f"score {number_pair(self.score, score)[0]} without it"
        return Item(f"-{number(self.fall)}  {labels.fact(self.fact)}", left)

    def to_dict(self, labels: Labels) -> dict[str, Any]:
        """Return plain values for JSON."""
        return fact_document(self.fact, labels, score=self.score, fall=self.fall)


@dataclass(frozen=True, eq=False)
class RuleGroundings:
    """The groundings of a rule: those `listed` have different facts, the most specific first; `total` counts all, up to
    a limit.

    `is_complete`: all groundings are listed.
    """

    listed: tuple[Grounding, ...]
    total: int
    is_complete: bool

    @property
    def keys(self) -> list[frozenset[object]]:
        """The facts and absences of each grounding."""
        return [frozenset(map(_key, way.facts)) | frozenset(way.absent) for way in self.listed]

    @property
    def core(self) -> frozenset[Fact]:
        """The facts that all listed groundings share."""
        sets = [frozenset(way.facts) for way in self.listed]
        return frozenset.intersection(*sets) if sets else frozenset()

    @property
    def every(self) -> frozenset[Fact]:
        """The facts of all listed groundings."""
        return frozenset(fact for way in self.listed for fact in way.facts)


def _key(fact: Fact) -> object:
    return fact.predicate, frozenset(fact.arguments)


def kind_of(grounding: Grounding) -> Kind:
    """Return what a `grounding` is based on."""
    return "facts" if grounding.facts else "absence" if grounding.absent else "frequency"


def grouped(
    supports: Sequence[Support], ways: Sequence[RuleGroundings], num_others: int, other_share: float
) -> tuple[Reason, ...]:
    """Group rules into reasons, sorted by kind and then by share.

    Args:
        supports: The counted rules, strongest first.
        ways: The groundings of each.
        num_others: The number of counted rules that were not inspected.
        other_share: Their share.
    """
    members: list[list[int]] = []
    rests_on: list[frozenset[object]] = []
    for place, own in enumerate(ways):
        keys = own.keys
        joined = next((i for i, facts in enumerate(rests_on) if _is_inside(keys, facts)), None)
        if joined is None:
            members.append([place])
            rests_on.append(frozenset().union(*keys))
        else:
            members[joined].append(place)
    reasons = [_reason([supports[i] for i in places], ways[places[0]]) for places in members]
    if num_others:
        reasons.append(Reason("other", other_share, (), Grounding(()), 0, num_others))
    return tuple(sorted(reasons, key=lambda reason: (KINDS.index(reason.kind), -reason.share)))


def _is_inside(keys: list[frozenset[object]], facts: frozenset[object]) -> bool:
    """Return whether each grounding shares enough facts; a grounding without facts matches only others without."""
    return all(len(way & facts) >= SHARED_PART * len(way) if way else not facts for way in keys)


def _reason(supports: Sequence[Support], ways: RuleGroundings) -> Reason:
    first = ways.listed[0] if ways.listed else Grounding(())
    rules = tuple(ScoredRule(s.rule, s.stats, s.weight) for s in supports)
    return Reason(kind_of(first), sum(s.share for s in supports), rules, first, max(ways.total, 1), len(rules))


# the value of facts -------------------------------------------------------------------------------------------


class FactShares:
    """Computes how far a score falls without a fact.

    Args:
        aggregation: How the rules that fire become a score.
        fired: The rules that fire.
        ways: Returns the groundings of the rule at a position among them.
        score_without: Evaluates the score on the base without a fact.
        is_evaluated_anew: Whether removing the fact may do more than silence the rules that need it.
    """

    def __init__(
        self,
        aggregation: Aggregation,
        fired: Fired,
        ways: Callable[[int], RuleGroundings],
        score_without: Callable[[Fact], float],
        is_evaluated_anew: Callable[[Fact], bool],
    ) -> None:
        self.aggregation, self.fired, self.ways = aggregation, fired, ways
        self.score_without, self.is_evaluated_anew = score_without, is_evaluated_anew

    def falls(self, candidates: Iterable[Fact], score: float) -> tuple[NecessaryFact, ...]:
        """Return the `candidates` without which the `score` falls, largest fall first."""
        found = []
        for fact in dict.fromkeys(candidates):
            left = self._score(fact)
            if left < score:
                found.append(NecessaryFact(fact, left, score - left))
        return tuple(sorted(found, key=lambda one: (one.score, one.fact)))

    def _score(self, fact: Fact) -> float:
        if self.is_evaluated_anew(fact):
            return self.score_without(fact)
        alive = np.ones(len(self.fired.rows), bool)
        while True:
            positions = np.flatnonzero(alive)
            shares = self.fired.take(positions).shares(self.aggregation)
            counted = positions[shares.order].tolist()
            silent = [place for place in counted if fact in self.ways(place).core]
            if any(not self.ways(place).is_complete for place in silent):
                return self.score_without(fact)
            if not silent:
                return shares.score
            alive[silent] = False
