"""The most surprising predictions: facts that no split has, that the rules are sure of, and that have few rivals.

    surprise = score / (1 + answers that the data has for the same subject)

A fact with a high score makes some strong rule fire, so it is looked for among what the strongest rules predict.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from ..data.facts import NO_OBJECT
from ..explanation.changes import place
from ..explanation.rule_card import RuleCards
from ..explanation.why import Explainer
from ..logic.predicate import Fact, Predicate
from ..progress import Progress, silent
from .values import Surprise

ASKED_RULES = 240
"""Rules whose predictions are looked at, over all targets; a target has at most MOST_OF_TARGET of them."""
MOST_OF_TARGET = 12
PREDICTIONS = 4
"""Of each rule."""
ALIKE = 2
"""Shown of one target, so that the list tells of several."""
LEAST_SCORE = 0.5


def surprises(
    explainer: Explainer, cards: RuleCards, targets: Sequence[Predicate], count: int, progress: Progress = silent
) -> tuple[Surprise, ...]:
    """The `count` most surprising ones; equals by name; for classes of scenes see class_surprises."""
    kb = explainer.kb
    asked = [p for p in targets if p in kb.predicates and kb.predicate_id(p) not in kb.classes]
    share = max(1, min(MOST_OF_TARGET, ASKED_RULES // max(len(asked), 1)))
    found: list[Candidate] = []
    for done, target in enumerate(asked, start=1):
        found += _of_target(explainer, cards, kb.predicate_id(target), share)
        progress("predictions", done, len(asked))
    chosen = sorted(found, key=lambda candidate: (-candidate.surprise, candidate.fact))[:count]
    return tuple(
        Surprise(c.fact, c.score, c.num_answers, explainer.explain(c.fact, top=3, groundings=1, misses=0))
        for c in chosen
    )


class Candidate(NamedTuple):
    fact: Fact
    score: float
    num_answers: int

    @property
    def surprise(self) -> float:
        return self.score / (1 + self.num_answers)


def _of_target(explainer: Explainer, cards: RuleCards, target: int, share: int) -> list[Candidate]:
    """The few that could be shown."""
    found = []
    for fact in dict.fromkeys(_predictions(explainer, cards, _doubtful(explainer, target, share))):
        value = round(explainer.score(fact), 9)
        if value >= LEAST_SCORE:
            found.append(Candidate(fact, value, _num_answers(explainer, target, fact.arguments[0])))
    return sorted(found, key=lambda candidate: (-candidate.surprise, candidate.fact))[:ALIKE]


def _doubtful(explainer: Explainer, target: int, count: int) -> list[int]:
    """Rows of the strongest rules that predict something that is not in the data."""
    rows, mine = explainer.firing.of_target(target)
    order = mine.order()
    return rows[order[mine.body_size[order] > mine.support[order]][:count]].tolist()


def _predictions(explainer: Explainer, cards: RuleCards, rows: list[int]) -> Iterator[Fact]:
    kb = explainer.kb
    for row in rows:
        scored = explainer.rules[row]
        target = kb.predicate_id(scored.rule.target)
        for x, y in cards.instances(scored.rule, scored.stats).others(0, PREDICTIONS):
            if cards.known is None or not place(cards.known, (target, x, y))[1]:
                yield kb.fact(target, x, y)


def _num_answers(explainer: Explainer, target: int, subject: str) -> int:
    """Binary facts of the target about the subject."""
    facts, x = explainer.kb.facts.of(target), explainer.kb.entities.id(subject)
    return int(((facts.subject == x) & (facts.object != NO_OBJECT)).sum())
