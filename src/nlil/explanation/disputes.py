"""check: facts that the rules dispute, worst first.

    margin = probability of the best competitor - probability of the fact, with the fact itself hidden

Without probabilities, scores take their place.

Competitors are the other classes of the group. For a binary predicate they are other objects if at least 90 % of the
subjects have one object, and other subjects if at least 90 % of the objects have one subject. Facts of the data are not
competitors.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, run_starts
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..evaluation.ranking import Ranker
from ..evaluation.rivals import NO_RIVAL, Rivals, rival_answers, rival_classes
from ..kernel.aggregation import RESOLUTION, score
from ..kernel.binding import bind
from ..kernel.calibration import Calibration, Probability
from ..kernel.grounding import Grounding
from ..kernel.ruleset import RuleSet
from ..logic.labels import Labels
from ..logic.predicate import Fact, Predicate
from ..logic.rule import Rule, ScoredRule
from ..logic.text import fact_text
from ..progress import Progress, silent
from .brief import probability_text
from .changes import changed
from .firing import Firing
from .outline import HasOutline, Item, fact_document, grounding_document, grounding_line, rule_item
from .probabilities import Probabilities
from .why import specific_groundings

FUNCTIONAL_SHARE = 0.9
"""Other objects are competitors if at least this share of subjects has one object."""
MAX_REASONS = 2
"""Rules shown for a competitor."""
MAX_WAYS, MAX_COMPARED = 2, 20
"""Groundings shown for each of these rules, and the number compared."""


@dataclass(frozen=True)
class Dispute(HasOutline):
    """The rules prefer `competitor` to `fact`: `competitor_score` is higher than `own_score`.

    `own_probability` and `competitor_probability` belong to the scores; `margin` is their difference, or that of the
    scores if they are unknown. `reasons` are the strongest rules for the competitor, and `evidence` has some groundings
    of each, with `fact` hidden.
    """

    fact: Fact
    own_score: float
    competitor: Fact
    competitor_score: float
    margin: float
    reasons: tuple[ScoredRule, ...]
    evidence: tuple[tuple[Grounding, ...], ...] = ()
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
    own_probability: Probability | None = None
    competitor_probability: Probability | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return fact_document(
            self.fact,
            self.labels,
            own_score=self.own_score,
            own_probability=None if self.own_probability is None else self.own_probability.value,
            competitor=fact_text(self.competitor),
            competitor_label=self.labels.fact(self.competitor),
            competitor_score=self.competitor_score,
            competitor_probability=None if self.competitor_probability is None else self.competitor_probability.value,
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
        """Return the fact, the preferred competitor, and why."""
        own, score = probability_text(self.own_probability, self.own_score)
        other, other_score = probability_text(self.competitor_probability, self.competitor_score)
        title = f"{self.labels.fact(self.fact)}, {own}: the rules prefer {self.labels.fact(self.competitor)}, {other}"
        note = f"{score.removesuffix('; ')} against {other_score.removesuffix('; ')}" if score else ""
        below = []
        for scored, ways in zip(self.reasons, self.evidence):
            lines = [grounding_line(way, scored.rule.distinct, self.labels) for way in ways]
            below.append(rule_item(scored, self.labels, [Item(line) for line in lines if line]))
        return Item(title, note, tuple(below))


def check(
    rules: RuleSet,
    kb: KnowledgeBase,
    *,
    targets: Sequence[str | Predicate] | None = None,
    top: int = 50,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
    calibration: Calibration | None = None,
) -> list[Dispute]:
    """Return the most disputed facts, worst first.

    Args:
        rules: The rules that dispute them.
        kb: The facts, on which the rules are evaluated too.
        targets: Predicates whose facts are checked; by default those of the rules.
        top: The number of facts; 0: all.
        threads: Threads for scoring; 0: all cores.
        memory: Bytes that one evaluation may take.
        progress: Called with the progress.
        calibration: The map from scores to probabilities; by default that of the rules.
    """
    rules = bind(rules, kb).rules
    named = rules.targets if targets is None else [kb.predicate(t) if isinstance(t, str) else t for t in targets]
    ids = sorted({kb.predicate_id(p) for p in named if targets is not None or p in kb.predicates})
    probabilities = Probabilities(rules, kb, calibration, memory)
    found = [*_classes(probabilities, ids, threads, progress), *_answers(probabilities, ids, threads, progress)]
    firing = Firing(rules, kb, memory)
    worst = _worst(kb, np.concatenate(found), top) if found else []
    return sorted((_dispute(firing, probabilities, case) for case in worst), key=lambda dispute: -dispute.margin)


class _Case(NamedTuple):
    """A fact and its rival, which is a predicate (classes) or an entity in position `direction`; the evidence of both,
    and the margin in units of RESOLUTION.

    Many cases form an array with these columns.
    """

    predicate: int
    subject: int
    object: int
    own: int
    rival: int
    evidence: int
    margin: int
    direction: int


def _cases(facts: Facts, rivals: Rivals, direction: int, calibration: Calibration | None) -> Longs:
    """Return the cases in which the rival wins, by rounded scores: a tie is not a dispute."""
    own, other = score(rivals.own), score(rivals.evidence)
    wins = (np.round(other - own, 9) > 0) & (rivals.rival != NO_RIVAL)
    lead = rivals.lead
    if not len(lead):
        shown = calibration or Calibration({})
        arity = np.where(facts.is_unary, 1, 2)
        lead = shown.probabilities(other, arity) - shown.probabilities(own, arity)
    margin = np.rint(lead / RESOLUTION)
    columns = (rivals.own, rivals.rival, rivals.evidence, margin, np.full(len(facts), direction))
    return np.column_stack((facts.predicate, facts.subject, facts.object, *columns)).astype(np.int64)[wins]


def _margin(table: Longs) -> Longs:
    return np.asarray(table[:, _Case._fields.index("margin")])


def _classes(probabilities: Probabilities, targets: list[int], threads: int, progress: Progress) -> Iterator[Longs]:
    kb, memory = probabilities.kb, probabilities.memory
    classes = np.array([t for t in targets if t in kb.classes], np.int32)
    facts = kb.crisp.unary
    facts = facts[np.isin(facts.predicate, classes)]
    if len(facts):
        scorer = MemberScorer(probabilities.rules, kb, classes, threads, memory)
        yield _cases(facts, rival_classes(scorer, kb, facts, memory, progress), 0, probabilities.calibration)


def _answers(probabilities: Probabilities, targets: list[int], threads: int, progress: Progress) -> Iterator[Longs]:
    kb = probabilities.kb
    binary = kb.crisp.binary
    work = [(t, direction) for t in targets for direction in (0, 1) if is_functional(binary.of(t), direction)]
    if not work:
        return
    ranker = Ranker(probabilities.rules, kb, threads, probabilities.memory)
    for done, (target, direction) in enumerate(work, start=1):
        facts = binary.of(target)
        yield _cases(
            facts, rival_answers(ranker, target, direction, facts, kb.facts), direction, probabilities.calibration
        )
        progress("check", done, len(work))


def is_functional(facts: Facts, direction: int) -> bool:
    """Return whether 90 % of the queries p(a, ?) (`direction` 0) or p(?, a) (1) have one answer among `facts`."""
    known: Ids = facts.object if direction else facts.subject
    counts = np.unique(known, return_counts=True)[1]
    return bool(len(counts) and (counts == 1).mean() >= FUNCTIONAL_SHARE)


def _worst(kb: KnowledgeBase, table: Longs, top: int) -> list[_Case]:
    """Return the `top` cases by margin, then predicate and names; of the two directions of a fact the worse one."""
    predicate, subject, object, *_, direction = table.T
    table = table[np.lexsort((direction, -_margin(table), object, subject, predicate))]
    table = table[run_starts(*table[:, :3].T)]
    margin = _margin(table)
    if 0 < top < len(margin):
        # Read names only where they can decide.
        table = table[margin >= np.partition(margin, -top)[-top]]
    keys = [(-m, kb.fact(*ids)) for m, ids in zip(_margin(table).tolist(), table[:, :3].tolist())]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [_Case(*table[row].tolist()) for row in (order[:top] if top > 0 else order)]


def _dispute(firing: Firing, probabilities: Probabilities, case: _Case) -> Dispute:
    kb, (target, x, y) = firing.kb, case[:3]
    if y == NO_OBJECT:
        competitor, fired = kb.fact(case.rival, x), firing.member(case.rival, x)
    else:
        pair = (case.rival, y) if case.direction else (x, case.rival)
        competitor = kb.fact(target, *pair)
        fired = firing.pair(target, *pair, hidden=(x, y), direction=case.direction)
    order = fired.shares(firing.rules.aggregation).order[:MAX_REASONS]
    reasons = tuple(firing.rules[int(r)] for r in fired.rows[order])
    own, other = score(np.array([case.own, case.evidence])).tolist()
    fact = kb.fact(target, x, y)
    evidence = tuple(_evidence(kb, scored.rule, fact, competitor) for scored in reasons)
    both = probabilities.probability(fact, own), probabilities.probability(competitor, other)
    values = [p.value for p in both if p is not None]
    margin = round(values[1] - values[0] if len(values) == 2 else other - own, 9)
    return Dispute(fact, own, competitor, other, margin, reasons, evidence, Labels.of(kb), *both)


def _evidence(kb: KnowledgeBase, rule: Rule, fact: Fact, competitor: Fact) -> tuple[Grounding, ...]:
    """Return groundings of the rule for the competitor, without `fact`."""
    x, *rest = (kb.entities.id(name) for name in competitor.arguments)
    y = rest[0] if rest else None
    if y is None:
        return specific_groundings(kb, rule, x, y, MAX_WAYS)[0]  # all classes of the object are hidden
    found = specific_groundings(kb, rule, x, y, MAX_COMPARED)[0]
    seen = tuple(way for way in found if fact not in way.facts)
    # Some rules hold only if the fact is absent (a negation), or in few of very many ways: search without the fact.
    return (seen or specific_groundings(changed(kb, without=[fact]), rule, x, y, MAX_WAYS)[0])[:MAX_WAYS]
