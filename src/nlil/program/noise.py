"""Programs for noisy examples: the least description length, literals plus wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.arrays import Longs, Mask
from .clause import Clause
from .task import Task

MAX_CANDIDATES = 4_000


class Rough(NamedTuple):
    """A program with wrong answers: its `clauses`, and its `length`: their cost plus the number of wrong answers."""

    clauses: tuple[Clause, ...]
    length: int


def least_description(task: Task, nodes: Sequence[tuple[Clause, Mask]]) -> Rough | None:
    """Return the program with the least description length found; None if the empty one is shortest.

    `nodes` are clauses with the examples that each covers. A clause is added, removed or exchanged as long as that
    shortens the description.
    """
    num = len(task.positives)
    gains = [(int(m[:num].sum()) - int(m[num:].sum()) - c.cost, -c.cost, -i) for i, (c, m) in enumerate(nodes)]
    order = sorted((i for i, gain in enumerate(gains) if gain[0] > 0), key=lambda i: gains[i], reverse=True)
    order = order[:MAX_CANDIDATES]
    if not order:
        return None
    masks = np.array([nodes[i][1] for i in order])
    costs = np.array([nodes[i][0].cost for i in order])
    sign = np.where(np.arange(masks.shape[1]) < num, 1, -1)
    chosen = _improved(masks, costs, sign, task.bias.max_clauses)
    if not chosen:
        return None
    covered = masks[chosen].any(axis=0)
    length = int(costs[chosen].sum()) + num - int(sign[covered].sum())
    return Rough(tuple(nodes[order[i]][0] for i in chosen), length)


def _improved(masks: Mask, costs: Longs, sign: Longs, most: int) -> list[int]:
    """Add the clause that shortens the description most, until none does; then try to remove or exchange each."""
    chosen: list[int] = []
    while True:
        grown = _added(masks, costs, sign, chosen, most)
        for one in list(grown):
            rest = [i for i in grown if i != one]
            other = _added(masks, costs, sign, rest, most)
            if _length(masks, costs, sign, other) < _length(masks, costs, sign, grown):
                grown = other
        if grown == chosen:
            return chosen
        chosen = grown


def _added(masks: Mask, costs: Longs, sign: Longs, chosen: list[int], most: int) -> list[int]:
    chosen = list(chosen)
    while len(chosen) < most:
        covered = masks[chosen].any(axis=0) if chosen else np.zeros(masks.shape[1], bool)
        gain = (masks & ~covered) @ sign - costs
        best = int(gain.argmax())
        if gain[best] <= 0:
            break
        chosen.append(best)
    return chosen


def _length(masks: Mask, costs: Longs, sign: Longs, chosen: list[int]) -> int:
    covered = masks[chosen].any(axis=0) if chosen else np.zeros(masks.shape[1], bool)
    return int(costs[chosen].sum()) - int(sign[covered].sum())
