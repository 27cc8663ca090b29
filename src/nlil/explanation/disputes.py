"""check: facts that the rules dispute, those that are most probably wrong first.

    margin = probability of the best competitor - probability of the fact, with the fact itself hidden

Without probabilities, scores take their place. Competitors of a class are the other classes of the group; those of a
binary fact are other objects and other subjects; those of another unary fact are the entities that it does not hold of.
Facts of the data are no competitors.

`evaluation.wrongness` says how probable it is that a fact is wrong. Where there are too few facts for that, they are
ordered by margin, and competitors count only where one answer is usual: for classes, and for other objects (subjects)
if at least 90 % of the subjects (objects) have one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, drawn_rows, run_starts
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..evaluation.rivals import NO_RIVAL, FactRivals, fact_rivals
from ..evaluation.wrongness import WrongnessMap, fit_wrongness
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
from .brief import chance, probability_text
from .changes import changed
from .firing import Firing
from .outline import HasOutline, Item, fact_document, grounding_document, grounding_line, rule_item
from .probabilities import Probabilities
from .why import specific_groundings

FUNCTIONAL_SHARE = 0.9
"""Other objects are competitors if at least this share of subjects has one object."""
MOST_OTHERS = 20_000
"""If some targets are asked for, at most this many facts of the others show what is usual."""
MAX_REASONS = 2
"""Rules shown for a competitor."""
MAX_WAYS, MAX_COMPARED = 2, 20
"""Groundings shown for each of these rules, and the number compared."""


@dataclass(frozen=True, repr=False)
class Dispute(HasOutline):
    """The rules doubt `fact`: `wrong` is the probability that it is wrong, None if there were too few facts to tell.

    Mostly they prefer `competitor`, whose `competitor_score` is higher than `own_score`; it is None where they prefer
    nothing, and for unary facts other than classes, which have no alternative. `own_probability` and
    `competitor_probability` belong to the scores, and tell how probable these are as new facts; `margin` is their
    difference, or that of the scores if they are unknown. `reasons` are the strongest rules for the competitor, and
    `evidence` has some groundings of each, with `fact` hidden.
    """

    fact: Fact
    own_score: float
    competitor: Fact | None
    competitor_score: float
    margin: float
    reasons: tuple[ScoredRule, ...]
    evidence: tuple[tuple[Grounding, ...], ...] = ()
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)
    own_probability: Probability | None = None
    competitor_probability: Probability | None = None
    wrong: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
        return fact_document(
            self.fact,
            self.labels,
            wrong=self.wrong,
            own_score=self.own_score,
            own_probability=None if self.own_probability is None else self.own_probability.value,
            competitor=None if self.competitor is None else fact_text(self.competitor),
            competitor_label=None if self.competitor is None else self.labels.fact(self.competitor),
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
        doubt = "" if self.wrong is None else f"wrong with probability {chance(self.wrong)}; by the rules "
        if self.competitor is None:
            return Item(f"{self.labels.fact(self.fact)}, {doubt}{own}", score.removesuffix("; "))
        title = f"{self.labels.fact(self.fact)}, {doubt}{own}: the rules prefer "
        title += f"{self.labels.fact(self.competitor)}, {other}"
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
    seed: int = 0,
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
        seed: Draws the facts that are replaced by wrong ones, to fit the probability that a fact is wrong.
    """
    rules = bind(rules, kb).rules
    probabilities = Probabilities(rules, kb, calibration, memory)
    worst = doubtful(rules, kb, targets, top, probabilities.calibration, seed, threads, memory, progress)
    firing = Firing(rules, kb, memory)
    return sorted((_dispute(firing, probabilities, case) for case in worst), key=_order)


def doubtful(
    rules: RuleSet,
    kb: KnowledgeBase,
    targets: Sequence[str | Predicate] | None,
    top: int,
    calibration: Calibration | None = None,
    seed: int = 0,
    threads: int = 0,
    memory: int = 2**30,
    progress: Progress = silent,
) -> list[Case]:
    """Return the most disputed facts, worst first, without reasons.

    `rules` are bound to `kb`; `targets`, `top`, `calibration`, `seed`, `threads`, `memory` and `progress` are those of
    `check`.
    """
    named = rules.targets if targets is None else [kb.predicate(t) if isinstance(t, str) else t for t in targets]
    ids = sorted({kb.predicate_id(p) for p in named if targets is not None or p in kb.predicates})
    found = fact_rivals(rules, kb, _facts(rules, kb, ids, seed), threads, memory, progress)
    maps = fit_wrongness(rules, kb, found, seed=seed, threads=threads, memory=memory, progress=progress)
    tables = [_cases(kb, found[arity], ids, maps.get(arity), calibration) for arity in sorted(found)]
    return _worst(kb, np.concatenate(tables), top) if tables else []


def _facts(rules: RuleSet, kb: KnowledgeBase, ids: list[int], seed: int) -> Facts:
    """The facts of the requested predicates `ids`, and enough of the other targets to show what is usual."""
    facts = kb.crisp.facts
    is_requested = np.isin(facts.predicate, ids)
    others = np.flatnonzero(~is_requested & np.isin(facts.predicate, np.unique(rules.head)))
    drawn = others[drawn_rows(len(others), MOST_OTHERS, np.random.default_rng(seed))]
    return facts[np.sort(np.concatenate((np.flatnonzero(is_requested), drawn)))] if len(rules) else Facts.empty()


class Case(NamedTuple):
    """A fact (`predicate`, `subject`, `object`) and its `rival`, which is a predicate (classes) or an entity in place
    `direction`; the evidence of both (`own`, `evidence`); the `margin` and the probability that the fact is `wrong`, in
    units of RESOLUTION; -1: not known.

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
    wrong: int


def _cases(
    kb: KnowledgeBase,
    rivals: FactRivals,
    ids: list[int],
    wrongness: WrongnessMap | None,
    calibration: Calibration | None,
) -> Longs:
    """Return the cases of the requested predicates; both directions of a binary fact are cases.

    If it is not known how probable it is that they are wrong, only those in which the rival wins, by rounded scores: a
    tie in a ranking is no dispute.
    """
    facts, shown = rivals.facts, calibration or Calibration({})
    wrong = np.full(len(facts), -1.0) if wrongness is None else np.rint(wrongness(rivals) / RESOLUTION)
    arity = np.where(facts.is_unary, 1, 2)
    is_requested = np.isin(facts.predicate, ids)
    tables = []
    for direction in (0, 1) if arity.max(initial=1) == 2 else (0,):
        own, other = score(rivals.own[direction]), score(rivals.evidence[direction])
        lead = shown.probabilities(other, arity) - shown.probabilities(own, arity)
        lead = np.where(np.isnan(rivals.lead[direction]), lead, rivals.lead[direction])
        wins = (np.round(other - own, 9) > 0) & (rivals.rival[direction] != NO_RIVAL)
        columns = np.column_stack(
            (
                *(facts.predicate, facts.subject, facts.object, rivals.own[direction]),
                np.where(wins, rivals.rival[direction], NO_RIVAL),
                *(rivals.evidence[direction], np.rint(lead / RESOLUTION), np.full(len(facts), direction), wrong),
            )
        ).astype(np.int64)
        kept = is_requested
        if wrongness is None:
            kept = kept & wins & np.isin(facts.predicate, _one_answer(kb, ids, direction))
        tables.append(columns[kept])
    return np.concatenate(tables)


def _column(table: Longs, name: str) -> Longs:
    return np.asarray(table[:, Case._fields.index(name)])


def _one_answer(kb: KnowledgeBase, ids: list[int], direction: int) -> list[int]:
    """The predicates among `ids` whose queries usually have one answer."""
    binary = kb.crisp.binary
    return [t for t in ids if t in kb.classes or is_functional(binary.of(t), direction)]


def _order(dispute: Dispute) -> tuple[float, float]:
    return -1.0 if dispute.wrong is None else -dispute.wrong, -dispute.margin


def is_functional(facts: Facts, direction: int) -> bool:
    """Return whether 90 % of the queries p(a, ?) (`direction` 0) or p(?, a) (1) have one answer among `facts`."""
    known: Ids = facts.object if direction else facts.subject
    counts = np.unique(known, return_counts=True)[1]
    return bool(len(counts) and (counts == 1).mean() >= FUNCTIONAL_SHARE)


def _worst(kb: KnowledgeBase, table: Longs, top: int) -> list[Case]:
    """Return the `top` cases by probability, margin, predicate and names; of the two directions of a fact the worse."""
    predicate, subject, object, *_ = table.T
    direction = _column(table, "direction")
    table = table[np.lexsort((direction, -_column(table, "margin"), object, subject, predicate))]
    table = table[run_starts(*table[:, :3].T)]
    wrong, margin = (_column(table, name) for name in ("wrong", "margin"))
    if 0 < top < len(table):
        # Read names only where they can decide.
        last = np.lexsort((margin, wrong))[-top]
        table = table[(wrong > wrong[last]) | ((wrong == wrong[last]) & (margin >= margin[last]))]
    figures = zip(*(_column(table, name).tolist() for name in ("wrong", "margin")), table[:, :3].tolist())
    keys = [(-w, -m, kb.fact(*ids)) for w, m, ids in figures]
    order = sorted(range(len(keys)), key=keys.__getitem__)
    return [Case(*table[row].tolist()) for row in (order[:top] if top > 0 else order)]


def _dispute(firing: Firing, probabilities: Probabilities, case: Case) -> Dispute:
    kb, (target, x, y) = firing.kb, case[:3]
    fact = kb.fact(target, x, y)
    own = float(score(np.array([case.own]))[0])
    wrong = None if case.wrong < 0 else case.wrong * RESOLUTION
    probability = probabilities.probability(fact, own)
    if case.rival == NO_RIVAL or (y == NO_OBJECT and target not in kb.classes):
        # That another entity is more probable tells how unusual the fact is, but p(b) does not take the place of p(a).
        margin = round(case.margin * RESOLUTION, 9)
        return Dispute(fact, own, None, 0.0, margin, (), (), Labels.of(kb), probability, None, wrong)
    if y == NO_OBJECT and target in kb.classes:
        competitor, fired = kb.fact(case.rival, x), firing.member(case.rival, x)
    else:
        pair = (case.rival, y) if case.direction else (x, case.rival)
        competitor = kb.fact(target, *pair)
        fired = firing.pair(target, *pair, hidden=(x, y), direction=case.direction)
    order = fired.shares(firing.rules.aggregation).order[:MAX_REASONS]
    reasons = tuple(firing.rules[int(r)] for r in fired.rows[order])
    other = float(score(np.array([case.evidence]))[0])
    evidence = tuple(_evidence(kb, scored.rule, fact, competitor) for scored in reasons)
    of_rival = probabilities.probability(competitor, other)
    lead = other - own if probability is None or of_rival is None else of_rival.value - probability.value
    return Dispute(
        fact, own, competitor, other, round(lead, 9), reasons, evidence, Labels.of(kb), probability, of_rival, wrong
    )


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
