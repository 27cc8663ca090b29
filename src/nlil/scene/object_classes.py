"""The classes of objects according to the rules: those of one object, most probable first (for `explain RUN OBJECT`),
an object that the rules classify correctly and confidently, and the most surprising ones.

    surprise = probability of the best class that the data does not give the object - probability of the given class

If rules give no probabilities (weights were not fitted jointly), scores are used instead.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any, NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..data.dataset import Dataset
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..evaluation.members import MemberScorer, class_chances
from ..explanation.why import Explainer, Explanation
from ..kernel.aggregation import class_ranks, score
from ..kernel.binding import bind
from ..kernel.graph import Graph
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Fact, Predicate
from ..logic.text import atom_text

MAX_EXAMINED = 20_000
"""Objects that are searched for surprises, spread over the split."""
LOW_RANK = 5
"""A given class is surprising if it is not among the first five (of few classes: not in the better half)."""
MIN_CHANCE = 0.5
"""The least probability of the best class of a surprise."""
MAX_ALIKE = 2
"""The most surprises with the same predicted class, so that the list covers several."""
MAX_CONVINCING = 400
"""Objects that are searched for a convincing one."""
MIN_RELATIONS = 2
"""The fewest relations of a convincing object: a picture of an isolated object shows little."""


@dataclass(frozen=True)
class ObjectClasses:
    """The classes of the object `name`: `ranked` are (class, score), best first, its own classes hidden.

    `true` are those of the data. `probability` has the probability of each of `ranked` if weights were fitted jointly
    (preset=scene); otherwise it is empty.
    """

    name: str
    ranked: tuple[tuple[Predicate, float], ...]
    true: tuple[Predicate, ...]
    probability: tuple[float, ...] = ()

    @property
    def fact(self) -> Fact:
        """The fact that the object is of its most probable class."""
        return Fact(self.ranked[0][0], (self.name,))

    def to_dict(self, top: int = 5) -> dict[str, Any]:
        """Return plain values for JSON, with the `top` most probable classes."""
        candidates: list[dict[str, Any]] = [{"class": p.name, "score": value} for p, value in self.ranked[:top]]
        for candidate, chance in zip(candidates, self.probability):
            candidate["probability"] = chance
        return {"object": self.name, "true": [p.name for p in self.true], "candidates": candidates}


def class_scorer(rules: RuleSet, kb: KnowledgeBase, threads: int = 1, memory: int = 2**30) -> MemberScorer | None:
    """Return a scorer of all classes that have rules; None if there are none."""
    classes = sorted(kb.classes.intersection(np.unique(rules.head).tolist()))
    return MemberScorer(rules, kb, np.asarray(classes, np.int32), threads, memory) if classes else None


def object_classes(rules: RuleSet, kb: KnowledgeBase, name: str, memory: int = 2**30) -> ObjectClasses:
    """Return the classes of the object `name`; ties are ordered by class name."""
    rules = bind(rules, kb).rules
    x = kb.entities.id(name)
    scorer = class_scorer(rules, kb, 1, memory)
    if scorer is None:
        raise NlilError(
            f"{name}: the run has no rules for object classes; learn some, or name a fact such as "
            f"person({atom_text(name)})"
        )
    return ranked_classes(rules, scorer, kb, x)


def ranked_classes(
    rules: RuleSet, scorer: MemberScorer, kb: KnowledgeBase, x: int, evidence: Longs | None = None
) -> ObjectClasses:
    """Return the classes of an object, among the targets of the scorer.

    Args:
        rules: The rules of the scorer.
        scorer: The scorer of the classes that have rules.
        kb: The facts about the object.
        x: The object, as an entity id.
        evidence: The evidence of each target; computed by default.
    """
    evidence = scorer.evidence(np.array([x], np.int32))[0] if evidence is None else evidence
    values, unit = score(evidence), rules.aggregation.unit
    classes = [kb.predicates[c] for c in scorer.targets.tolist()]
    order = sorted(range(len(classes)), key=lambda i: (-values[i], classes[i]))
    ranked = tuple((classes[i], float(values[i])) for i in order)
    true = tuple(kb.predicates[p] for p in classes_of(kb, x))
    probability = tuple(class_chances(evidence, unit)[order].tolist()) if unit else ()
    return ObjectClasses(kb.entities.name(x), ranked, true, probability)


def classes_of(kb: KnowledgeBase, entity: int) -> list[int]:
    """Return the classes of the object `entity` in the data, as predicate ids."""
    graph = Graph.of(kb)
    own = graph.unary_predicate[slice(*graph.unary_pointer[entity : entity + 2])]
    return [p for p in own.tolist() if p in kb.classes]


def _labels(facts: Facts, classes: Ids) -> Facts:
    return facts[facts.is_unary & np.isin(facts.predicate, classes)]


def _spread(facts: Facts, count: int) -> Facts:
    """Return at most `count` of the facts, evenly spaced."""
    return facts[np.linspace(0, len(facts) - 1, min(count, len(facts))).astype(np.int64)]


# what a report shows ------------------------------------------------------------------------------------


def convincing_object(rules: RuleSet, kb: KnowledgeBase, dataset: Dataset, memory: int) -> str | None:
    """Return the object whose own class has the largest lead over the others, or None.

    Test objects with relations are preferred.
    """
    scorer = class_scorer(rules, kb, 1, memory)
    if scorer is None:
        return None
    given = kb.binary[~np.isin(kb.binary.predicate, sorted(kb.geometry))]
    num_relations = np.bincount(np.concatenate((given.subject, given.object)), minlength=kb.num_entities)
    own = _labels(dataset.splits.test if len(dataset.splits.test) else dataset.kb.facts, scorer.targets)
    some = _spread(own[num_relations[own.subject] >= MIN_RELATIONS], MAX_CONVINCING)
    if not len(some):
        return None
    evidence = scorer.evidence(some.subject)
    rows, column = np.arange(len(some)), np.searchsorted(scorer.targets, some.predicate)
    true_evidence = evidence[rows, column]
    evidence[rows, column] = -1
    lead = true_evidence - evidence.max(axis=1, initial=0)
    best = int(np.argmax(lead))
    return kb.entities.name(int(some.subject[best])) if lead[best] > 0 else None


@dataclass(frozen=True)
class ClassSurprise:
    """An object that the rules confidently classify differently: `fact` is their class, `given` that of the data.

    `chance` and `given_chance` are their probabilities, or their scores if rules give no probabilities
    (`is_probability`). `rank` is that of the given class among `num_classes`. `image` is the name of the scene, None if
    it has none; `is_held_out`: it is not a training object. `explanation` is that of `fact`.
    """

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


class _Candidate(NamedTuple):
    entity: int
    best: int
    chance: float
    given: int
    given_chance: float
    rank: float


def class_surprises(
    explainer: Explainer, dataset: Dataset, count: int, threads: int = 0, memory: int = 2**30
) -> tuple[ClassSurprise, ...]:
    """Return the `count` most surprising objects, ties by name; none if there are no rules for object classes.

    Held-out objects are preferred, since training objects are among the disputed facts. `explainer` has the rules and
    the base.
    """
    kb, rules = explainer.kb, explainer.rules
    scorer = class_scorer(rules, kb, threads, memory)
    if scorer is None or len(scorer.targets) < 2 or not count:
        return ()
    splits = [_labels(facts, scorer.targets) for facts in (dataset.splits.test, dataset.splits.valid, dataset.kb.facts)]
    first = next((i for i, facts in enumerate(splits) if len(facts)), 0)
    facts = _spread(splits[first], MAX_EXAMINED)
    block = max(1, memory // (64 * len(scorer.targets)))
    blocks = (facts[slice(begin, begin + block)] for begin in range(0, len(facts), block))
    found = [candidate for some in blocks for candidate in _candidates(scorer, kb, some, rules.aggregation.unit)]
    found.sort(key=lambda c: (-round(c.chance - c.given_chance, 9), kb.entities.name(c.entity), c.given))
    surprises = []
    for c in islice(_varied(found), count):
        fact, given, image = kb.fact(c.best, c.entity), kb.fact(c.given, c.entity), kb.image_of(c.entity)
        why = explainer.explain(fact, top=3, groundings=1, misses=0)
        about = len(scorer.targets), image, first < 2, bool(rules.aggregation.unit)
        surprises.append(ClassSurprise(fact, c.chance, given, c.given_chance, c.rank, *about, why))
    return tuple(surprises)


def _candidates(scorer: MemberScorer, kb: KnowledgeBase, facts: Facts, unit: float) -> Iterator[_Candidate]:
    """Yield the objects of these class facts with another, probable class and a low rank of the given one."""
    evidence = scorer.evidence(facts.subject)
    chances = class_chances(evidence, unit)
    rows, given = np.arange(len(facts)), np.searchsorted(scorer.targets, facts.predicate)
    rank = class_ranks(evidence, given)
    others = np.where(_is_given(scorer, kb, facts), -1.0, chances)
    best = others.argmax(axis=1)
    chance, given_chance = others[rows, best], chances[rows, given]
    is_low = (rank > min(LOW_RANK, len(scorer.targets) // 2)) & (chance >= MIN_CHANCE) & (chance > given_chance)
    columns = facts.subject, scorer.targets[best], chance, facts.predicate, given_chance, rank
    return map(_Candidate._make, zip(*(column[is_low].tolist() for column in columns)))


def _is_given(scorer: MemberScorer, kb: KnowledgeBase, facts: Facts) -> Mask:
    """Return (facts, targets): whether the data gives the object of the fact this class; it may have several."""
    held = kb.unary[np.isin(kb.unary.predicate, scorer.targets) & np.isin(kb.unary.subject, facts.subject)]
    objects, place = np.unique(facts.subject, return_inverse=True)
    mask = np.zeros((len(objects), len(scorer.targets)), bool)
    mask[np.searchsorted(objects, held.subject), np.searchsorted(scorer.targets, held.predicate)] = True
    return mask[place]


def _varied(found: list[_Candidate]) -> Iterator[_Candidate]:
    """Yield each object once, and each predicted class a few times."""
    shown: Counter[int] = Counter()
    seen: set[int] = set()
    for candidate in found:
        if shown[candidate.best] < MAX_ALIKE and candidate.entity not in seen:
            shown[candidate.best] += 1
            seen.add(candidate.entity)
            yield candidate
