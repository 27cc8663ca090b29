"""The counts of scene graphs: images, objects, relations, with what boxes were made into kept apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Mask
from ..data.dataset import Dataset
from ..data.facts import Facts


@dataclass(frozen=True)
class SceneCounts:
    """`num_facts` is of all splits, without geometry. A relation is a binary fact that somebody annotated.

    `objects` (labelled), `attributes`, `relations` and `related_images` (with a relation) are by split.
    """

    num_facts: int
    num_images: int
    num_related_images: int
    num_unrelated_images: int
    num_objects: int
    num_unlabelled_objects: int
    num_relations: int
    num_attributes: int
    num_classes: int
    num_relation_predicates: int
    num_attribute_predicates: int
    num_geometry_predicates: int
    num_geometry_facts: int
    objects: dict[str, int]
    attributes: dict[str, int]
    relations: dict[str, int]
    related_images: dict[str, int]


def scene_counts(dataset: Dataset) -> SceneCounts:
    kb = dataset.kb
    parts = dict(dataset.splits.context) or {"train": kb.facts}
    is_geometry, is_class = (_marked(ids, kb.num_predicates) for ids in (kb.geometry, kb.classes))
    given = {split: facts[~is_geometry[facts.predicate]] for split, facts in parts.items()}
    objects = {split: int(is_class[facts.predicate].sum()) for split, facts in given.items()}
    relations = {split: int((~facts.is_unary).sum()) for split, facts in given.items()}
    attributes = {split: len(facts) - objects[split] - relations[split] for split, facts in given.items()}
    related = {split: _related(dataset, facts) for split, facts in given.items()}
    num_images = kb.num_graphs if kb.graph_names is None else len(kb.graph_names)
    num_facts = sum(map(len, given.values()))
    arity = np.asarray([predicate.arity for predicate in kb.predicates])
    return SceneCounts(
        num_facts=num_facts,
        num_images=num_images,
        num_related_images=sum(related.values()),
        num_unrelated_images=num_images - sum(related.values()),
        num_objects=kb.num_entities,
        num_unlabelled_objects=kb.num_entities - sum(objects.values()),
        num_relations=sum(relations.values()),
        num_attributes=sum(attributes.values()),
        num_classes=len(kb.classes),
        num_relation_predicates=int(((arity == 2) & ~is_geometry).sum()),
        num_attribute_predicates=int(((arity == 1) & ~is_geometry & ~is_class).sum()),
        num_geometry_predicates=len(kb.geometry),
        num_geometry_facts=int(is_geometry[kb.facts.predicate].sum()),
        objects=objects,
        attributes=attributes,
        relations=relations,
        related_images=related,
    )


def _marked(ids: frozenset[int], size: int) -> Mask:
    marked = np.zeros(size, bool)
    marked[list(ids)] = True
    return marked


def _related(dataset: Dataset, facts: Facts) -> int:
    """Images in which two objects are related."""
    graph_of = dataset.kb.graph_of
    subjects = facts.subject[~facts.is_unary]
    return len(np.unique(subjects if graph_of is None else graph_of[subjects]))
