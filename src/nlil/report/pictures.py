"""Objects of scenes drawn with what the rules see in them: one that they are sure and right about, one they dispute."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np

from ..data.arrays import Longs
from ..data.dataset import Dataset
from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer
from ..explanation.disputes import Dispute
from ..explanation.why import Explainer
from ..kernel.ruleset import RuleSet
from ..scene.object_classes import object_classes
from ..scene.picture import draw
from ..scene.picture_svg import as_svg
from .values import ObjectPicture

ASKED = 400
"""Objects among which one is looked for."""
LEAST_RELATIONS = 2
"""A picture of an object alone shows little."""


def object_pictures(
    rules: RuleSet, explainer: Explainer, dataset: Dataset, disputes: Sequence[Dispute], count: int, memory: int
) -> tuple[ObjectPicture, ...]:
    """At most `count`; none where the data has no scenes, or the rules no classes."""
    kb = explainer.kb
    if not dataset.is_scene or not kb.classes.intersection(np.unique(rules.head).tolist()):
        return ()
    names = dict.fromkeys([*_convincing(rules, kb, dataset, memory), *(d.fact.arguments[0] for d in disputes)])
    return tuple(_picture(rules, explainer, name, memory) for name in list(names)[:count])


def _picture(rules: RuleSet, explainer: Explainer, name: str, memory: int) -> ObjectPicture:
    classes = object_classes(rules, explainer.kb, name, memory)
    explanation = explainer.explain(classes.fact, top=4, groundings=2, misses=1)
    best, value = classes.ranked[0]
    return ObjectPicture(
        name,
        explainer.kb.image_of(explainer.kb.entities.id(name)),
        best.name,
        value,
        tuple(p.name for p in classes.true),
        as_svg(draw(explanation, explainer.kb)),
        explanation,
    )


def _convincing(rules: RuleSet, kb: KnowledgeBase, dataset: Dataset, memory: int) -> Iterator[str]:
    """Of some objects not learned from, with relations, the one whose own class leads the others by most."""
    with_rules = np.asarray(sorted(kb.classes.intersection(np.unique(rules.head).tolist())), np.int32)
    facts = dataset.splits.test if len(dataset.splits.test) else dataset.kb.facts
    own = facts[np.isin(facts.predicate, with_rules) & facts.is_unary]
    own = own[_num_relations(kb)[own.subject] >= LEAST_RELATIONS]
    if not len(own):
        return
    some = own[np.linspace(0, len(own) - 1, min(ASKED, len(own))).astype(np.int64)]
    evidence = MemberScorer(rules, kb, with_rules, 1, memory).evidence(some.subject)
    rows, column = np.arange(len(some)), np.searchsorted(with_rules, some.predicate)
    mine = evidence[rows, column]
    evidence[rows, column] = -1
    lead = mine - evidence.max(axis=1, initial=0)
    best = int(np.argmax(lead))
    if lead[best] > 0:
        yield kb.entities.name(int(some.subject[best]))


def _num_relations(kb: KnowledgeBase) -> Longs:
    """Relations of each object that the data gives, not those made of boxes."""
    given = kb.binary[~np.isin(kb.binary.predicate, sorted(kb.geometry))]
    ends = np.concatenate((given.subject, given.object))
    return np.bincount(ends, minlength=kb.num_entities).astype(np.int64)
