"""what_if: the score of a fact after changes of the facts; necessary_facts: how far it falls without each fact."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from ..data.kb import KnowledgeBase
from ..kernel.calibration import Calibration, Probability, probability_document
from ..kernel.ruleset import RuleSet
from ..logic.figures import plural
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule
from ..logic.text import fact_text
from .brief import change_texts, probability_text
from .changes import as_facts
from .outline import HasOutline, Item, fact_document
from .reasons import NecessaryFact
from .why import Explainer, Explanation, Side, as_fact


@dataclass(frozen=True, repr=False)
class WhatIf(HasOutline):
    """The explanation `before`, and the one `after` adding the facts `added` and removing those `removed`."""

    before: Explanation
    after: Explanation
    added: tuple[Fact, ...]
    removed: tuple[Fact, ...]

    @property
    def lost(self) -> tuple[Rule, ...]:
        """Rules that count before but not after."""
        return _only_first(self.before, self.after)

    @property
    def gained(self) -> tuple[Rule, ...]:
        """Rules that count after but not before."""
        return _only_first(self.after, self.before)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return fact_document(
            self.before.fact,
            self.before.labels,
            without=[fact_text(f) for f in self.removed],
            add=[fact_text(f) for f in self.added],
            score_before=self.before.score,
            score_after=self.after.score,
            probability_before=None if self.before.probability is None else self.before.probability.value,
            probability_after=None if self.after.probability is None else self.after.probability.value,
            lost=[str(rule) for rule in self.lost],
            gained=[str(rule) for rule in self.gained],
            after=self.after.to_dict(),
        )

    def outline(self) -> Item:
        """Return the changes, the rules gained and lost, and the probability and score before and after."""
        labels = self.before.labels
        changes = [f"without {labels.fact(f)}" for f in self.removed] + [f"with {labels.fact(f)}" for f in self.added]
        below = [Item(change) for change in changes]
        for name, found in (("no longer counts", self.lost), ("counts now", self.gained)):
            below += [Item(labels.short_rule(rule), name) for rule in found]
        one, two = ((found.probability, found.score) for found in (self.before, self.after))
        figures, scores = (
            f"{before} -> {after.removeprefix('probability ').removeprefix('score ')}" if after else ""
            for before, after in change_texts(one, two)
        )
        return Item(f"{labels.fact(self.before.fact)}  {figures}", scores, tuple(below))


@dataclass(frozen=True, repr=False)
class NecessaryFacts(HasOutline):
    """The `facts` behind the `score` of `fact`, by how far it falls without each.

    Of the `num_tested` facts, the others do not lower it. `probability` belongs to the score, None if unknown.
    """

    fact: Fact
    score: float
    facts: tuple[NecessaryFact, ...]
    num_tested: int
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
    probability: Probability | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        facts = [one.to_dict(self.labels) for one in self.facts]
        figures = {"score": self.score, **probability_document(self.probability), "num_tested": self.num_tested}
        return fact_document(self.fact, self.labels, **figures, facts=facts)

    def outline(self) -> Item:
        """Return the necessary facts, each with the fall of the score without it."""
        lines = [one.item(self.score, self.labels) for one in self.facts]
        tested = f"{plural(self.num_tested, 'fact')} behind it, removed one at a time"
        figure, score = probability_text(self.probability, self.score)
        return Item(
            f"{self.labels.fact(self.fact)}  {figure}",
            f"{score}{tested}",
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
    calibration: Calibration | None = None,
) -> WhatIf:
    """Explain a fact before and after changes of the data.

    Args:
        rules: The rules that score the fact.
        kb: The facts that the rules are evaluated on.
        query: The fact, as a value or as text.
        without: Facts to remove, which must be in the data.
        add: Facts to add, which must not be in the data; their names must be known.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        top: Rules shown, strongest first; default: all that count, up to 20.
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; by default that of the rules.
    """
    explainer = Explainer(rules, kb, memory, calibration)
    return explain_what_if(explainer, query, without=without, add=add, side=side, top=top)


def explain_what_if(
    explainer: Explainer,
    query: str | Query | Fact,
    *,
    without: Iterable[str | Fact] = (),
    add: Iterable[str | Fact] = (),
    side: Side = "object",
    top: int | None = None,
) -> WhatIf:
    """Do the same as `what_if` with a given `explainer`; `without`, `add` and `top` as there."""
    fact, removed, added = as_fact(query, explainer.kb), as_facts(without), as_facts(add)
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
    calibration: Calibration | None = None,
) -> NecessaryFacts:
    """Return the facts behind the counted rules, by how far the score falls without each.

    Args:
        rules: The rules that score the fact.
        kb: The facts that the rules are evaluated on.
        query: The fact, as a value or as text.
        limit: The maximum number of facts, largest fall first.
        side: The answer explained: object for uncle(alice, ?), subject for uncle(?, bob).
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; by default that of the rules.
    """
    return find_necessary_facts(Explainer(rules, kb, memory, calibration), query, limit=limit, side=side)


def find_necessary_facts(
    explainer: Explainer, query: str | Query | Fact, *, limit: int = 20, side: Side = "object"
) -> NecessaryFacts:
    """Do the same as `necessary_facts` with a given `explainer`; `limit` as there."""
    found = explainer.scored(query, side)
    necessary, num_tested = explainer.necessary(found)
    labels = Labels.of(explainer.kb)
    probability = explainer.probability(found)
    return NecessaryFacts(found.fact, found.shares.score, necessary[:limit], num_tested, labels, probability)


def _only_first(one: Explanation, two: Explanation) -> tuple[Rule, ...]:
    others = {support.rule for support in two.supports}
    return tuple(support.rule for support in one.supports if support.rule not in others)
