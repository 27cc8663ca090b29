"""why_not: which single fact would make the strongest rules fire that do not, and what the score would be then."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import islice
from typing import Any

import numpy as np

from ..data.kb import KnowledgeBase
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule, RuleStats
from ..logic.text import fact_text
from .changes import fact_ids, place
from .completions import Change, apart, completions
from .explanation import Excluded, Side
from .phrases import short_rule, statistics_note
from .shown import Item, Shown, number, number_pair
from .why import Explainer, check_side, closed, excluded

TRIED = 4
"""Changes tried for each one shown: what one statement lacks may not help where variables have to differ."""


@dataclass(frozen=True)
class Remedy:
    """A change after which the rule fires, tried out: `score` is what the asked fact scores then."""

    change: Change
    score: float


@dataclass(frozen=True)
class Hindered:
    """A strong rule that does not fire, and single changes that make it fire; none: none was found."""

    rule: Rule
    stats: RuleStats
    weight: float
    remedies: tuple[Remedy, ...]


@dataclass(frozen=True)
class WhyNot(Shown):
    """What `fact` lacks, the fact itself hidden. Where `excluded` rules it out, `lifted` is the remedy for that."""

    fact: Fact
    known: bool
    score: float
    rules: tuple[Hindered, ...]
    excluded: Excluded | None = None
    lifted: Remedy | None = None
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    @property
    def best(self) -> Remedy | None:
        """The change that raises the score most."""
        remedies = [r for rule in self.rules for r in rule.remedies] + ([self.lifted] if self.lifted else [])
        return max(remedies, key=lambda r: r.score, default=None)

    def to_dict(self) -> dict[str, Any]:
        return {
            "fact": fact_text(self.fact),
            "label": self.labels.fact(self.fact),
            "known": self.known,
            "score": self.score,
            "excluded": None if self.excluded is None else fact_text(self.excluded.by),
            "lifted": None if self.lifted is None else self._remedy(self.lifted),
            "rules": [
                {
                    "rule": str(h.rule),
                    "label": self.labels.rule(h.rule),
                    "weight": h.weight,
                    **h.stats.to_dict(),
                    "remedies": [self._remedy(r) for r in h.remedies],
                }
                for h in self.rules
            ],
        }

    def _remedy(self, remedy: Remedy) -> dict[str, Any]:
        fact = remedy.change.fact
        return {
            "action": remedy.change.action,
            "fact": fact_text(fact),
            "label": self.labels.fact(fact),
            "score": remedy.score,
        }

    def outline(self) -> Item:
        state = "in the data, hidden here" if self.known else "not in the data"
        below = tuple(self._hindered(h) for h in self.rules)
        if self.excluded is not None:
            both = f"{self.labels.fact(self.fact)} and {self.labels.fact(self.excluded.by)}"
            text = f"excluded: {both} never hold together"
            below = (Item(text, "", () if self.lifted is None else (self._line(self.lifted),)), *below)
        elif not below:
            below = (Item("no rule fails whose head fits"),)
        return Item(f"why not {self.labels.fact(self.fact)}  score {number(self.score)}", state, below)

    def _hindered(self, hindered: Hindered) -> Item:
        lines = tuple(map(self._line, hindered.remedies)) or (Item("no single fact was found that would make it fire"),)
        note = statistics_note(hindered.rule, hindered.stats, hindered.weight)
        return Item(short_rule(hindered.rule, self.labels), note, lines)

    def _line(self, remedy: Remedy) -> Item:
        verb = "with" if remedy.change.action == "add" else "without"
        score = number_pair(remedy.score, self.score)[0]
        return Item(f"{verb} {self.labels.fact(remedy.change.fact)}", f"score {score}")


def why_not(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    *,
    top: int = 5,
    facts: int = 3,
    side: Side = "object",
    memory: int = 2**30,
) -> WhyNot:
    """For each of the `top` strongest rules that do not fire up to `facts` single facts that would make it fire.

    Each was added to (or taken from) the base and the fact scored again.
    """
    return explain_why_not(Explainer(rules, kb, memory), query, top=top, facts=facts, side=side)


def explain_why_not(
    explainer: Explainer, query: str | Query | Fact, *, top: int = 5, facts: int = 3, side: Side = "object"
) -> WhyNot:
    """`why_not` with an Explainer that is kept."""
    check_side(side)
    fact = closed(query)
    target, x, y = explainer.ids(fact)
    fired = explainer.fired(target, x, y, side)
    shares = fired.shares(explainer.rules.aggregation)
    known = explainer.is_known(target, x, y)
    labels = Labels.of(explainer.kb)
    if fired.exclusion is not None:
        ruled_out = excluded(fired.exclusion, fact)
        change = Change("remove", ruled_out.by)
        lifted = Remedy(change, explainer.changed(without=[change.fact]).score(fact, side))
        return WhyNot(fact, known, shares.score, (), ruled_out, lifted, labels)
    hindered = tuple(_hindered(explainer, fact, row, facts, side) for row in explainer.failing(target, fired, top))
    return WhyNot(fact, known, shares.score, hindered, labels=labels)


def _hindered(explainer: Explainer, fact: Fact, row: int, facts: int, side: Side) -> Hindered:
    scored = explainer.rules[row]
    target, x, y = explainer.ids(fact)
    found: list[Remedy] = []
    proposals = apart(fact, completions(explainer.kb, scored.rule, x, y))
    for change in islice(proposals, TRIED * facts):
        if change.action == "add" and _is_there(explainer.kb, change.fact):
            continue
        is_added = change.action == "add"
        after = explainer.changed(*([change.fact], ()) if is_added else ((), [change.fact]))
        fired = after.fired(target, x, y, side)
        if np.isin(row, fired.rows):
            found.append(Remedy(change, fired.shares(after.rules.aggregation).score))
        if len(found) == facts:
            break
    found.sort(key=lambda remedy: -remedy.score)
    return Hindered(scored.rule, scored.stats, scored.weight, tuple(found))


def _is_there(kb: KnowledgeBase, fact: Fact) -> bool:
    return place(kb.facts, fact_ids(kb, fact))[1]
