"""Counts of scene graphs: images, objects, relations; geometry predicates are counted separately."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.dataset import Dataset
from ..data.facts import Facts


@dataclass(frozen=True)
class SceneCounts:
    """Counts of scene graphs. `num_facts` covers all splits, without geometry.

    A relation is an annotated binary fact. `objects` (with a class), `attributes`, `relations` and `related_images`
    (with a relation) are counts by split.

    Attributes:
        num_images, num_related_images, num_unrelated_images: all images, those with a relation, those without.
        num_objects, num_unlabelled_objects: objects with a class, and without.
        num_relations, num_attributes: facts of these kinds.
        num_classes, num_relation_predicates, num_attribute_predicates: distinct names.
        num_geometry_predicates, num_geometry_facts: made from boxes.
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
    """Return the counts of a data set of scene graphs."""
    kb, classes, geometry = dataset.kb, list(dataset.kb.classes), list(dataset.kb.geometry)
    parts = dict(dataset.splits.context) or {"train": kb.facts}
    given = {split: facts[~np.isin(facts.predicate, geometry)] for split, facts in parts.items()}
    objects = {split: int(np.isin(facts.predicate, classes).sum()) for split, facts in given.items()}
    relations = {split: int((~facts.is_unary).sum()) for split, facts in given.items()}
    attributes = {split: len(facts) - objects[split] - relations[split] for split, facts in given.items()}
    related = {split: _related_images(dataset, facts) for split, facts in given.items()}
    num_images = kb.num_graphs if kb.graph_names is None else len(kb.graph_names)
    num_related = sum(related.values())
    arities = [predicate.arity for i, predicate in enumerate(kb.predicates) if i not in kb.geometry]
    return SceneCounts(
        num_facts=sum(map(len, given.values())),
        num_images=num_images,
        num_related_images=num_related,
        num_unrelated_images=num_images - num_related,
        num_objects=kb.num_entities,
        num_unlabelled_objects=kb.num_entities - sum(objects.values()),
        num_relations=sum(relations.values()),
        num_attributes=sum(attributes.values()),
        num_classes=len(classes),
        num_relation_predicates=arities.count(2),
        num_attribute_predicates=arities.count(1) - len(classes),
        num_geometry_predicates=len(geometry),
        num_geometry_facts=int(np.isin(kb.facts.predicate, geometry).sum()),
        objects=objects,
        attributes=attributes,
        relations=relations,
        related_images=related,
    )


def _related_images(dataset: Dataset, facts: Facts) -> int:
    """The number of images with a relation."""
    graph_of = dataset.kb.graph_of
    subjects = facts.subject[~facts.is_unary]
    return len(np.unique(subjects if graph_of is None else graph_of[subjects]))
