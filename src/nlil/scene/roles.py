"""Roles: `is_subject(X)` holds where a stated relation leads from X to something, `is_object(X)` where one leads to X.

A rule for a class often needs no more than that: in HICO-DET only people do something to something, and one body says
so instead of one for each of 117 relations. Elsewhere they say little: `role_trial.py` decides. Roles follow from the
relations, so relations cannot be learned from them.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..data.dataset import Dataset
from ..data.kb import KnowledgeBase
from ..data.numbers import with_predicates
from ..logic.predicate import Predicate

ROLES = IS_SUBJECT, IS_OBJECT = Predicate("is_subject", 1), Predicate("is_object", 1)


def with_roles(dataset: Dataset) -> Dataset:
    """Return the scene graphs with the facts of both roles; unchanged if there are no graphs or no relations.

    A data set with a predicate of one of these names gets none, and a note says so.
    """
    if dataset.kb.graph_of is None:
        return dataset
    taken = [role.name for role in ROLES if role in dataset.kb.predicates]
    if taken:
        note = f"{taken[0]}: a predicate of the data, so roles are not made of its relations"
        return replace(dataset, notes=(*dataset.notes, note))
    stated = dataset.world.binary
    stated = stated[~np.isin(stated.predicate, list(dataset.kb.geometry))]
    if not len(stated):
        return dataset
    return with_predicates(dataset, {IS_SUBJECT: np.unique(stated.subject), IS_OBJECT: np.unique(stated.object)})


def role_ids(kb: KnowledgeBase) -> list[int]:
    """Return the ids of the roles that were made for `kb`; predicates of the data with such a name are none."""
    return sorted(number for number in kb.geometry if kb.predicates[number] in ROLES)
