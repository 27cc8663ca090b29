"""check: facts that the rules dispute, worst first.

    margin = score of the best competitor - own score, the fact itself hidden

Competitors are the other classes of the group; for a binary predicate other objects where at least 90 % of
subjects have one object, and other subjects where at least 90 % of objects have one subject. What the data
says itself is no competitor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..evaluation.ranking import Ranker
from ..evaluation.rivals import NOBODY, Rivals, rival_answers, rival_classes
from ..kernel.aggregation import score
from ..kernel.binding import bind
from ..kernel.grounding import Grounding
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import Rule, ScoredRule
from ..logic.text import fact_text
from ..progress import Progress, silent
from .changes import changed
from .firing import Firing
from .outline import Item, Shown, fact_document, grounding_document, grounding_line, rule_item
from .why import specific_groundings

FUNCTIONAL_SHARE = 0.9
"""At least this share of subjects must have one object for another object to be a competitor."""
MAX_REASONS = 2
"""Rules named for a competitor."""
MAX_WAYS, MAX_COMPARED = 2, 20
"""Groundings shown for each of them, of so many looked at."""


@dataclass(frozen=True)
class Dispute(Shown):
    """The rules prefer `competitor` to `fact`; `reasons` are the strongest rules for the competitor, and `evidence`
    has for each of them some ways in which it holds, `fact` hidden."""

    fact: Fact
    own_score: float
    competitor: Fact
    competitor_score: float
    margin: float
    reasons: tuple[ScoredRule, ...]
    evidence: tuple[tuple[Grounding, ...], ...] = ()
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return fact_document(
            self.fact,
            self.labels,
            own_score=self.own_score,
            competitor=fact_text(self.competitor),
            competitor_label=self.labels.fact(self.competitor),
            competitor_score=self.competitor_score,
            margin=self.margin,
            reasons=[
                {
                    "rule": str(s.rule),
                    "label": self.labels.rule(s.rule),
                    "confidence": s.stats.confidence,
                    "weight": s.weight,
                    "groundings": [grounding_document(g, s.rule.distinct, self.labels) for g in ways],
                }
                for s, ways in zip(self.reasons, self.evidence)
            ],
        )

    def outline(self) -> Item:
        title = (
            f"{self.labels.fact(self.fact)} ({self.own_score:.3f}): the rules prefer "
            f"{self.labels.fact(self.competitor)} ({self.competitor_score:.3f})"
        )
        below = []
        for scored, ways in zip(self.reasons, self.evidence):
            lines = [grounding_line(way, scored.rule.distinct, self.labels) for way in ways]
            below.append(rule_item(scored, self.labels, [Item(line) for line in lines if line]))
        return Item(title, "", tuple(below))


def check(
    rules: RuleSet,
    kb: KnowledgeBase,
    *,
    targets: Sequence[str | Predicate] | None = None,
    top: int = 50,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> list[Dispute]:
    """The `top` most disputed facts of kb, worst first; top = 0 gives all. `targets`: default those of the rules."""
    rules = bind(rules, kb).rules
    named = rules.targets if targets is None else [kb.predicate(t) if isinstance(t, str) else t for t in targets]
    ids = sorted({kb.predicate_id(p) for p in named if targets is not None or p in kb.predicates})
    found = [_classes(rules, kb, ids, threads, memory, progress), *_answers(rules, kb, ids, threads, memory, progress)]
    worst = _worst(kb, _Cases.join(found), top)
    firing = Firing(rules, kb, memory)
    return [_dispute(firing, worst, row) for row in range(len(worst.margin))]


@dataclass(frozen=True, eq=False)
class _Cases:
    """Facts against their rivals by column: the rival is a predicate (classes) or an entity in place `direction`."""

    facts: Facts
    rivals: Rivals
    direction: Longs

    @property
    def margin(self) -> Doubles:
        """On rounded scores, so that what counts as a tie in a ranking is no dispute."""
        return np.round(score(self.rivals.evidence) - score(self.rivals.own), 9)

    def __getitem__(self, rows: Longs) -> _Cases:
        rivals = Rivals(self.rivals.own[rows], self.rivals.rival[rows], self.rivals.evidence[rows])
        return _Cases(self.facts[rows], rivals, self.direction[rows])

    @classmethod
    def of(cls, facts: Facts, rivals: Rivals, direction: int) -> _Cases:
        cases = cls(facts, rivals, np.full(len(facts), direction))
        return cases[np.flatnonzero((cases.margin > 0) & (rivals.rival != NOBODY))]

    @classmethod
    def join(cls, parts: Sequence[_Cases]) -> _Cases:
        def column(values: list[Any]) -> Any:
            return np.concatenate(values)

        facts = Facts(*(column([getattr(p.facts, name) for p in parts]) for name in ("predicate", "subject", "object")))
        rivals = Rivals(*(column([getattr(p.rivals, name) for p in parts]) for name in ("own", "rival", "evidence")))
        return cls(facts, rivals, column([p.direction for p in parts]))


def _classes(
    rules: RuleSet, kb: KnowledgeBase, targets: list[int], threads: int, memory: int, progress: Progress
) -> _Cases:
    classes = np.array([t for t in targets if t in kb.classes], np.int32)
    facts = kb.crisp.unary
    facts = facts[np.isin(facts.predicate, classes)]
    if not len(facts):
        none = np.zeros(0, np.int64)
        return _Cases(Facts.empty(), Rivals(none, none, none), none)
    scorer = MemberScorer(rules, kb, classes, threads, memory)
    return _Cases.of(facts, rival_classes(scorer, kb, facts, memory, progress), 0)


def _answers(
    rules: RuleSet, kb: KnowledgeBase, targets: list[int], threads: int, memory: int, progress: Progress
) -> Iterator[_Cases]:
    binary = kb.crisp.binary
    work = [(t, direction) for t in targets for direction in (0, 1) if is_functional(binary.of(t), direction)]
    if not work:
        return
    ranker = Ranker(rules, kb, threads, memory)
    for done, (target, direction) in enumerate(work, start=1):
        facts = binary.of(target)
        yield _Cases.of(facts, rival_answers(ranker, target, direction, facts, kb.facts), direction)
        progress("check", done, len(work))


def is_functional(facts: Facts, direction: int) -> bool:
    """Has a query p(a, ?) (direction 0) or p(?, a) (direction 1) one answer at least nine times out of ten?"""
    known: Ids = facts.object if direction else facts.subject
    counts = np.unique(known, return_counts=True)[1]
    return bool(len(counts) and (counts == 1).mean() >= FUNCTIONAL_SHARE)


def _worst(kb: KnowledgeBase, cases: _Cases, top: int) -> _Cases:
    """The `top` cases by margin, then by predicate and names; of the two directions of a fact the worse one."""
    facts, margin = cases.facts, cases.margin
    same_fact = np.lexsort((cases.direction, -margin, facts.object, facts.subject, facts.predicate))
    ids = np.stack((facts.predicate, facts.subject, facts.object))[:, same_fact]
    first = np.ones(len(same_fact), bool)
    first[1:] = (ids[:, 1:] != ids[:, :-1]).any(axis=0)
    cases = cases[same_fact[first]]
    margin = cases.margin
    if 0 < top < len(margin):
        # Names are read only where they can decide.
        cases = cases[np.flatnonzero(margin >= np.partition(margin, -top)[-top])]
        margin = cases.margin

    def key(row: int) -> tuple[float, Fact]:
        return -margin[row], kb.fact(*(int(column[row]) for column in _columns(cases.facts)))

    order = sorted(range(len(margin)), key=key)
    return cases[np.asarray(order[:top] if top > 0 else order, np.int64)]


def _columns(facts: Facts) -> tuple[Ids, Ids, Ids]:
    return facts.predicate, facts.subject, facts.object


def _dispute(firing: Firing, cases: _Cases, row: int) -> Dispute:
    kb = firing.kb
    target, x, y = (int(column[row]) for column in _columns(cases.facts))
    rival, own, power = (int(c[row]) for c in (cases.rivals.rival, cases.rivals.own, cases.rivals.evidence))
    if y == NO_OBJECT:
        competitor, fired = kb.fact(rival, x), firing.member(rival, x)
    else:
        direction = int(cases.direction[row])
        pair = (rival, y) if direction else (x, rival)
        competitor = kb.fact(target, *pair)
        fired = firing.pair(target, *pair, hidden=(x, y), direction=direction)
    order = fired.shares(firing.rules.aggregation).order[:MAX_REASONS]
    reasons = tuple(firing.rules[int(r)] for r in fired.rows[order])
    scores = score(np.array([own, power])).tolist()
    fact = kb.fact(target, x, y)
    evidence = tuple(_evidence(kb, scored.rule, fact, competitor) for scored in reasons)
    return Dispute(fact, scores[0], competitor, scores[1], float(cases.margin[row]), reasons, evidence, Labels.of(kb))


def _evidence(kb: KnowledgeBase, rule: Rule, fact: Fact, competitor: Fact) -> tuple[Grounding, ...]:
    """Ways in which the rule holds for the competitor while `fact` is not there."""
    x, *rest = (kb.entities.id(name) for name in competitor.arguments)
    y = rest[0] if rest else None
    if y is None:
        return specific_groundings(kb, rule, x, y, MAX_WAYS)[0]  # all classes of the object are hidden
    found = specific_groundings(kb, rule, x, y, MAX_COMPARED)[0]
    seen = tuple(way for way in found if fact not in way.facts)
    # Few rules hold only because the fact is hidden (a negation), or in few of very many ways: then look without it.
    return (seen or specific_groundings(changed(kb, without=[fact]), rule, x, y, MAX_WAYS)[0])[:MAX_WAYS]
