"""The strongest rules of every candidate of a query: the scratch that they are kept in. Compiled loops."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs
from ..kernel.kernels import compiled
from ..kernel.walk import WalkSpace, walk_space


class ScoreSpace(NamedTuple):
    """Scratch of one thread, all zeros between queries. strongest[b, k, :] holds the best evidence of candidate b from
    rules of kind k, largest first; floor[k, b] is the last of them: what a rule must exceed to count."""

    strongest: np.ndarray
    floor: np.ndarray
    is_touched: np.ndarray
    touched: Longs
    total: Longs
    walk: WalkSpace


def score_space(num_entities: int, top: int, most_steps: int, kinds: int = 1) -> ScoreSpace:
    return ScoreSpace(
        np.zeros((num_entities, kinds, max(top, 1)), np.int64),
        np.zeros((kinds, num_entities), np.int64),
        np.zeros(num_entities, np.bool_),
        np.zeros(num_entities, np.int64),
        np.zeros(num_entities, np.int64),
        walk_space(num_entities, max(most_steps, 1)),
    )


@compiled
def sink(slots, evidence, top):
    """Keep the `top` largest values, sorted (top = 0: their sum); zeros are free slots."""
    if top == 0:
        slots[0] += evidence
        return
    place = top - 1
    if evidence <= slots[place]:
        return
    while place > 0 and slots[place - 1] < evidence:
        slots[place] = slots[place - 1]
        place -= 1
    slots[place] = evidence


@compiled
def add(space, num_touched, candidate, evidence, top, kind):
    """Give `candidate` one more firing rule (above its floor); returns the number of candidates touched so far."""
    if not space.is_touched[candidate]:
        space.is_touched[candidate] = True
        space.touched[num_touched] = candidate
        num_touched += 1
    if top == 0:
        space.strongest[candidate, kind, 0] += evidence
        return num_touched
    # `sink`, without the slice: half of the time of a query goes by here.
    place = top - 1
    while place > 0 and space.strongest[candidate, kind, place - 1] < evidence:
        space.strongest[candidate, kind, place] = space.strongest[candidate, kind, place - 1]
        place -= 1
    space.strongest[candidate, kind, place] = evidence
    space.floor[kind, candidate] = space.strongest[candidate, kind, top - 1]
    return num_touched


@compiled
def clear(space, touched):
    for i in range(touched):
        b = space.touched[i]
        space.is_touched[b] = False
        for k in range(space.strongest.shape[1]):
            if space.strongest[b, k, 0] != 0:
                space.floor[k, b] = 0
                for j in range(space.strongest.shape[2]):
                    space.strongest[b, k, j] = 0
