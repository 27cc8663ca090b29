"""what_if: the score of a fact with some facts more or fewer; necessary_facts: how much it falls without each."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..data.kb import KnowledgeBase
from ..kernel.grounding import Grounding, groundings
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule
from ..logic.text import fact_text
from .changes import as_facts
from .outline import HasOutline, Item, fact_document, number, number_pair, plural
from .why import Explainer, Explanation, Side, as_fact

MAX_WAYS = 50
"""Groundings of a rule that are compared: a fact is necessary to it if it is in every one."""
MAX_TESTED = 100
"""Facts that are taken away, one at a time, those of the strongest rules first."""


@dataclass(frozen=True)
class WhatIf(HasOutline):
    """The explanation `before`, and `after` on the base with the facts `added` and without those `removed`."""

    before: Explanation
    after: Explanation
    added: tuple[Fact, ...]
    removed: tuple[Fact, ...]

    @property
    def lost(self) -> tuple[Rule, ...]:
        """Rules that count before and not after."""
        return _only_first(self.before, self.after)

    @property
    def gained(self) -> tuple[Rule, ...]:
        """Rules that count after and not before."""
        return _only_first(self.after, self.before)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return fact_document(
            self.before.fact,
            self.before.labels,
            without=[fact_text(f) for f in self.removed],
            add=[fact_text(f) for f in self.added],
            score_before=self.before.score,
            score_after=self.after.score,
            lost=[str(rule) for rule in self.lost],
            gained=[str(rule) for rule in self.gained],
            after=self.after.to_dict(),
        )

    def outline(self) -> Item:
        """The changes, the rules they gain and lose, the score before and after."""
        labels = self.before.labels
        changes = [f"without {labels.fact(f)}" for f in self.removed] + [f"with {labels.fact(f)}" for f in self.added]
        below = [Item(change) for change in changes]
        for name, found in (("no longer counts", self.lost), ("counts now", self.gained)):
            below += [Item(labels.short_rule(rule), name) for rule in found]
        before, after = number_pair(self.before.score, self.after.score)
        return Item(f"{labels.fact(self.before.fact)}  score {before} -> {after}", "", tuple(below))


@dataclass(frozen=True)
class Necessary:
    """Without `fact` the explained fact scores `score`, which is `fall` less."""

    fact: Fact
    score: float
    fall: float


@dataclass(frozen=True)
class NecessaryFacts(HasOutline):
    """The facts behind a score, those first without which it falls most. Of `num_tested` facts the others change
    nothing or raise it."""

    fact: Fact
    score: float
    facts: tuple[Necessary, ...]
    num_tested: int
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        facts = [fact_document(n.fact, self.labels, score=n.score, fall=n.fall) for n in self.facts]
        return fact_document(self.fact, self.labels, score=self.score, num_tested=self.num_tested, facts=facts)

    def outline(self) -> Item:
        """The necessary facts, each with how far the score falls without it."""
        lines = []
        for n in self.facts:
            left = f"score {number_pair(n.score, self.score)[0]} without it"
            lines.append(Item(f"-{number(n.fall)}  {self.labels.fact(n.fact)}", left))
        tested = f"{plural(self.num_tested, 'fact')} behind it tried one at a time"
        return Item(
            f"{self.labels.fact(self.fact)}  score {number(self.score)}",
            tested,
            tuple(lines) or (Item("no single fact is necessary"),),
        )


def what_if(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    *,
    without: Iterable[str | Fact] = (),
    add: Iterable[str | Fact] = (),
    side: Side = "object",
    top: int | None = None,
    memory: int = 2**30,
) -> WhatIf:
    """The fact explained as it is and again after the changes.

    Args:
        rules: What scores the fact.
        kb: The facts that the rules look at.
        query: The fact, as a value or as text.
        without: Facts to leave out, which the data must have.
        add: Facts to add, which the data must not have; their names must be known.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        top: Rules shown, strongest first; default: all that count, up to 20.
        memory: Bytes that one evaluation may take.
    """
    return explain_what_if(Explainer(rules, kb, memory), query, without=without, add=add, side=side, top=top)


def explain_what_if(
    explainer: Explainer,
    query: str | Query | Fact,
    *,
    without: Iterable[str | Fact] = (),
    add: Iterable[str | Fact] = (),
    side: Side = "object",
    top: int | None = None,
) -> WhatIf:
    """`what_if` with an Explainer that is kept."""
    fact, removed, added = as_fact(query), as_facts(without), as_facts(add)
    after = explainer.changed(added, removed)
    return WhatIf(explainer.explain(fact, side=side, top=top), after.explain(fact, side=side, top=top), added, removed)


def necessary_facts(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    *,
    limit: int = 20,
    side: Side = "object",
    memory: int = 2**30,
) -> NecessaryFacts:
    """The facts behind the counted rules by how much the score falls without each.

    Args:
        rules: What scores the fact.
        kb: The facts that the rules look at.
        query: The fact, as a value or as text.
        limit: So many facts, those first without which the score falls most.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        memory: Bytes that one evaluation may take.
    """
    return find_necessary_facts(Explainer(rules, kb, memory), query, limit=limit, side=side)


def find_necessary_facts(
    explainer: Explainer, query: str | Query | Fact, *, limit: int = 20, side: Side = "object"
) -> NecessaryFacts:
    """`necessary_facts` with an Explainer that is kept."""
    found = explainer.scored(query, side)
    fact, shares = found.fact, found.shares
    tested: dict[Fact, None] = {}
    for position in shares.order:
        rule = explainer.rules.rule(int(found.fired.rows[position]))
        ways = groundings(explainer.kb, rule, found.x, found.y, limit=MAX_WAYS, hide=True)
        tested |= dict.fromkeys(_candidates(ways, explainer.firing.is_soft))
        if len(tested) >= MAX_TESTED:
            break
    necessary = []
    for candidate in list(tested)[:MAX_TESTED]:
        score = explainer.changed(without=[candidate]).score(fact, side)
        if score < shares.score:
            necessary.append(Necessary(candidate, score, shares.score - score))
    necessary.sort(key=lambda n: (n.score, n.fact))
    num_tested, labels = min(len(tested), MAX_TESTED), Labels.of(explainer.kb)
    return NecessaryFacts(fact, shares.score, tuple(necessary[:limit]), num_tested, labels)


def _candidates(ways: list[Grounding], is_soft: bool) -> list[Fact]:
    """Facts whose loss can silence a rule: those of every way. Among soft facts each way adds to the value."""
    sets = [set(way.facts) for way in ways]
    if not sets:
        return []
    return sorted(set.union(*sets) if is_soft else set.intersection(*sets))


def _only_first(one: Explanation, two: Explanation) -> tuple[Rule, ...]:
    others = {support.rule for support in two.supports}
    return tuple(support.rule for support in one.supports if support.rule not in others)
