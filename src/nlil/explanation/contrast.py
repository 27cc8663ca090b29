"""contrast: why one answer rather than another, or one class rather than another: the differences between the two.

Rules are matched by their conditions. What counts equally for both is left out; if a rule counts more for one of the
two, the difference is shown on its side. On each side, the shares of the differences and of the common part add up to
the score.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..kernel.calibration import Calibration, Probability, probability_document
from ..kernel.ruleset import RuleSet
from ..logic.english import fact_clause
from ..logic.figures import number, plural
from ..logic.formula import Constant
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query, parse_query
from ..logic.rule import Rule
from ..logic.text import fact_text
from .brief import probability_text
from .outline import MASK, HasOutline, Item, masked
from .reasons import Reason
from .why import Excluded, Explainer, ScoredFact, Side, as_fact, check_side

MAX_SHOWN = 3
"""Reasons shown for each of the two."""


@dataclass(frozen=True)
class Preference:
    """One of the two, and the reasons that count more for it than for the other.

    `fact` is the answer, `score` its full score; `reasons` are those that the other lacks. `same_share` is the part of
    the score that the other has too, `num_same` the number of rules that count for both. `excluded` is the fact that
    rules it out, or None; `probability` belongs to the score, None if unknown.
    """

    fact: Fact
    score: float
    reasons: tuple[Reason, ...]
    same_share: float
    num_same: int
    excluded: Excluded | None = None
    probability: Probability | None = None

    def to_dict(self, labels: Labels) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {
            "fact": fact_text(self.fact),
            "label": labels.fact(self.fact),
            "score": self.score,
            **probability_document(self.probability),
            "excluded": None if self.excluded is None else fact_text(self.excluded.by),
            "reasons": [reason.to_dict(self.fact, labels) for reason in self.reasons],
            "same_share": self.same_share,
            "num_same": self.num_same,
        }

    def item(self, title: str, labels: Labels) -> Item:
        """Return an outline under this `title`: the strongest reasons, and the share of the others."""
        figure, score = probability_text(self.probability, self.score)
        note = score.removesuffix("; ")
        if self.excluded is not None:
            return Item(f"{title}: {figure}", note, (Item(self.excluded.text(self.fact, labels)),))
        # Showing one more takes no more room than counting it.
        most = MAX_SHOWN + (len(self.reasons) == MAX_SHOWN + 1)
        shown = self.reasons[:most]
        lines, shown_facts = [], set[Fact]()
        for reason in shown:
            lines.append(reason.item(self.fact, labels, shown_facts))
            shown_facts.update(reason.facts)
        others = self.reasons[most:]
        if others:
            share = sum(reason.share for reason in others)
            lines.append(Item(f"+{number(share)}  {plural(len(others), 'weaker reason')}"))
        return Item(f"{title}: {figure}", note, tuple(lines) or (Item("nothing that the other lacks"),))


@dataclass(frozen=True, repr=False)
class Contrast(HasOutline):
    """Why `first` rather than `second`; each holds only what the other lacks."""

    first: Preference
    second: Preference
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return {"first": self.first.to_dict(self.labels), "second": self.second.to_dict(self.labels)}

    @property
    def names(self) -> tuple[str, str]:
        """The names of the two answers, or of the two classes."""
        one, two = self.first.fact, self.second.fact
        if one.predicate != two.predicate:
            called = self.labels.predicates
            return called.get(one.predicate.name, one.predicate.name), called.get(
                two.predicate.name, two.predicate.name
            )
        pairs = zip(one.arguments, two.arguments)
        first, second = next(pair for pair in pairs if pair[0] != pair[1])
        return self.labels.entities.get(first, first), self.labels.entities.get(second, second)

    def outline(self) -> Item:
        """Return the two, one after the other, and the common part."""
        one, two = self.names
        below = [self.first.item(f"for {one}", self.labels), self.second.item(f"for {two}", self.labels)]
        same = self.first.num_same
        if same:
            shares = f"+{number(self.first.same_share)} and +{number(self.second.same_share)}"
            below.append(Item(f"the same for both: {plural(same, 'rule')}", shares))
        return Item(f"Why {fact_clause(self.first.fact, self.labels)} rather than {two}", "", tuple(below))


def contrast(
    rules: RuleSet,
    kb: KnowledgeBase,
    query: str | Query | Fact,
    rather_than: str,
    *,
    side: Side = "object",
    memory: int = 2**30,
    calibration: Calibration | None = None,
) -> Contrast:
    """Explain a fact in contrast to another one: the differences between the two, on both sides.

    Args:
        rules: The rules that score both.
        kb: The facts that the rules are evaluated on.
        query: The fact, as a value or as text: uncle(alice, bob), man(obj17).
        rather_than: What to compare it with: another entity (carl for uncle(alice, carl)), or for a unary fact another
            predicate (woman for woman(obj17)).
        side: The answer to compare: object for uncle(alice, ?), subject for uncle(?, bob).
        memory: Bytes that one evaluation may take.
        calibration: The map from scores to probabilities; by default that of the rules.
    """
    explainer = Explainer(rules, kb, memory, calibration)
    fact = as_fact(query, kb)
    return explain_contrast(explainer, explainer, fact, rival_of(kb, fact, rather_than, side), side)


def rival_of(kb: KnowledgeBase, fact: Fact, rather_than: str, side: Side = "object") -> Fact:
    """Return `fact` with the answer `rather_than`; for a unary fact, with that predicate."""
    check_side(side)
    name = rather_than.strip()
    if len(name) > 1 and name[0] == name[-1] == "'" and name not in kb.entities:
        name = name[1:-1]  # quoted, as in explanations
    if "(" in name and name not in kb.entities:
        rival = as_fact(parse_query(name), kb)
    elif len(fact.arguments) == 1:
        rival = Fact(kb.resolved(Query(name, fact.arguments)).target, fact.arguments)
    else:
        name = kb.entities.name(kb.entity_id(name))
        rival = Fact(fact.predicate, (fact.arguments[0], name) if side == "object" else (name, fact.arguments[1]))
    if rival == fact:
        raise ConfigError(f"{fact_text(fact)} rather than itself: name another answer or class", "rather_than")
    return rival


def explain_contrast(first: Explainer, second: Explainer, fact: Fact, rival: Fact, side: Side = "object") -> Contrast:
    """Do the same as `contrast` with given Explainers: `first` for `fact`, `second` for its `rival`.

    Explainers of two classes may each know the rules of one class only.
    """
    found = first.scored(fact, side), second.scored(rival, side)
    power = [dict(_powers(explainer, one)) for explainer, one in zip((first, second), found)]
    sides = []
    for explainer, one, its, other in zip((first, second), found, power, reversed(power)):
        net = {place: max(own - other.get(key, (0, 0))[1], 0) for key, (place, own) in its.items()}
        score, total = one.shares.score, max(one.shares.evidence, 1)
        reasons = explainer.reasons(one, {place: score * value / total for place, value in net.items() if value})
        same = sum(own for _, own in its.values()) - sum(net.values())
        num_same = len(its.keys() & other.keys())
        probability = explainer.probability(one)
        sides.append(Preference(one.fact, score, reasons, score * same / total, num_same, one.excluded, probability))
    return Contrast(sides[0], sides[1], Labels.of(first.kb))


def _powers(explainer: Explainer, found: ScoredFact) -> Iterator[tuple[object, tuple[int, int]]]:
    """Yield the condition of each rule, with its position among those that fire and the evidence that counts."""
    shares, seen = found.shares, Counter[object]()
    for place, power in zip(shares.order.tolist(), shares.power.tolist()):
        condition = _condition(explainer.rules.rule(int(found.fired.rows[place])), found)
        yield (condition, seen[condition]), (place, power)
        seen[condition] += 1


def _condition(rule: Rule, found: ScoredFact) -> object:
    """Return the condition of a rule without what the two facts differ in: the class, or the answer."""
    if found.y is None:
        return rule.body, rule.distinct
    answer = found.fact.arguments[1 - found.direction]
    head = tuple(MASK if argument == Constant(answer) else argument for argument in rule.head.arguments)
    return head, masked(rule.body, answer), rule.distinct
