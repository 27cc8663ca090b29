"""The most surprising predictions of object classes: objects whose given class the rules rank low, and whose class they
are sure of.

    surprise = probability of the best class that the object is not given - probability of the one that it is

Probabilities are those of `explain RUN OBJECT`; where rules give none (weights were not fitted together), scores.
Objects that were held out are asked first: about those that were learned from see the disputed facts.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Ids, Longs
from ..data.dataset import Dataset
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..explanation.explanation import Explanation
from ..explanation.why import Explainer
from ..kernel.aggregation import SCALE, class_ranks, score
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Fact

ASKED = 20_000
"""Objects that are looked at, spread over the split."""
LOW_RANK = 5
"""The given class is not among the first five (of few classes: not in the better half)."""
LEAST = 0.5
"""What the best class must have."""
ALIKE = 2
"""Shown of one predicted class, so that the list tells of several."""


@dataclass(frozen=True)
class ClassSurprise:
    """`fact` is the class that the rules are sure of, `given` that of the data; both with their probability, or with
    their score where rules give no probabilities. `rank` is that of the given class."""

    fact: Fact
    chance: float
    given: Fact
    given_chance: float
    rank: float
    num_classes: int
    image: str | None
    is_held_out: bool
    is_probability: bool
    explanation: Explanation


def class_surprises(
    explainer: Explainer, dataset: Dataset, count: int, threads: int = 0, memory: int = 2**30
) -> tuple[ClassSurprise, ...]:
    """The `count` most surprising ones, equals by name; none where the rules are about no object classes."""
    kb, rules = explainer.kb, explainer.rules
    classes = np.asarray(sorted(kb.classes.intersection(np.unique(rules.head).tolist())), np.int32)
    asked, is_held_out = _asked(dataset, classes)
    if len(classes) < 2 or not len(asked) or not count:
        return ()
    scorer = MemberScorer(rules, kb, classes, threads, memory)
    block = max(1, memory // (64 * len(classes)))
    found = [
        c
        for begin in range(0, len(asked), block)
        for c in _candidates(scorer, kb, asked[slice(begin, begin + block)], rules)
    ]
    found.sort(key=lambda c: (-round(c.surprise, 9), kb.entities.name(c.entity), c.given))
    return tuple(_explained(explainer, c, len(classes), is_held_out) for c in islice(_varied(found), count))


class Candidate(NamedTuple):
    entity: int
    best: int
    chance: float
    given: int
    given_chance: float
    rank: float

    @property
    def surprise(self) -> float:
        return self.chance - self.given_chance


def _varied(found: list[Candidate]) -> Iterator[Candidate]:
    """Each object once, each predicted class a few times."""
    shown: Counter[int] = Counter()
    seen: set[int] = set()
    for candidate in found:
        if shown[candidate.best] < ALIKE and candidate.entity not in seen:
            shown[candidate.best] += 1
            seen.add(candidate.entity)
            yield candidate


def _asked(dataset: Dataset, classes: Ids) -> tuple[Facts, bool]:
    """Class facts of the first split that has any (test, validation, training), and whether it was held out."""
    splits = (dataset.splits.test, dataset.splits.valid, dataset.kb.facts)
    found = [facts[facts.is_unary & np.isin(facts.predicate, classes)] for facts in splits]
    first = next((i for i, facts in enumerate(found) if len(facts)), 0)
    own = found[first]
    return own[np.linspace(0, len(own) - 1, min(ASKED, len(own))).astype(np.int64)], splits[first] is not splits[-1]


def _candidates(scorer: MemberScorer, kb: KnowledgeBase, facts: Facts, rules: RuleSet) -> Iterator[Candidate]:
    evidence = scorer.evidence(facts.subject)
    chances = _chances(evidence, rules.aggregation.unit)
    rows, given = np.arange(len(facts)), np.searchsorted(scorer.targets, facts.predicate)
    rank = class_ranks(evidence, given)
    others = np.where(_held(scorer, kb, facts), -1.0, chances)
    best = others.argmax(axis=1)
    low = (rank > min(LOW_RANK, len(scorer.targets) // 2)) & (others[rows, best] >= LEAST)
    for i in np.flatnonzero(low & (others[rows, best] > chances[rows, given])).tolist():
        yield Candidate(
            int(facts.subject[i]),
            int(scorer.targets[best[i]]),
            float(others[i, best[i]]),
            int(facts.predicate[i]),
            float(chances[i, given[i]]),
            float(rank[i]),
        )


def _chances(evidence: Longs, unit: float) -> Doubles:
    if not unit:
        return np.asarray(score(evidence))
    odds = np.exp((evidence - evidence.max(axis=1, keepdims=True)) / SCALE / unit)
    return np.asarray(odds / odds.sum(axis=1, keepdims=True))


def _held(scorer: MemberScorer, kb: KnowledgeBase, facts: Facts) -> np.ndarray:
    """(facts, targets): whether the object of the fact is given the class; an object may have several."""
    held = kb.unary[np.isin(kb.unary.predicate, scorer.targets) & np.isin(kb.unary.subject, facts.subject)]
    objects, place = np.unique(facts.subject, return_inverse=True)
    mask = np.zeros((len(objects), len(scorer.targets)), bool)
    mask[np.searchsorted(objects, held.subject), np.searchsorted(scorer.targets, held.predicate)] = True
    return mask[place]


def _explained(explainer: Explainer, candidate: Candidate, num_classes: int, is_held_out: bool) -> ClassSurprise:
    kb = explainer.kb
    fact = kb.fact(candidate.best, candidate.entity)
    return ClassSurprise(
        fact,
        candidate.chance,
        kb.fact(candidate.given, candidate.entity),
        candidate.given_chance,
        candidate.rank,
        num_classes,
        kb.image_of(candidate.entity),
        is_held_out,
        bool(explainer.rules.aggregation.unit),
        explainer.explain(fact, top=3, groundings=1, misses=0),
    )
