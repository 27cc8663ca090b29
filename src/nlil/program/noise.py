"""Programs for noisy examples: the least description length, literals plus wrong answers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from ..data.arrays import Floats, Mask
from .clause import Clause
from .task import Task

MAX_CANDIDATES = 2_000
"""Clauses that may be part of a program: those that shorten the description most, each alone."""
BEAM = 50
"""Programs of one number of clauses that are extended."""


class Rough(NamedTuple):
    """A program with wrong answers: its `clauses`, and its `length`: their cost plus the number of wrong answers.

    `covered` are the examples that it derives.
    """

    clauses: tuple[Clause, ...]
    length: int
    covered: Mask


def least_description(task: Task, nodes: Sequence[tuple[Clause, Mask]], base_cost: int = 0) -> Rough | None:
    """Return the program of least description length that was found; None if the empty one is as short.

    `nodes` are clauses with the examples that each covers; `base_cost` is what a program costs besides them. Every pair
    of clauses is tried, and the best ones are extended: the clause that is best alone is often one that says too much.
    """
    num = len(task.positives)
    gains: dict[bytes, tuple[int, int, int]] = {}
    for i, (clause, mask) in enumerate(nodes):
        gain = (int(mask[:num].sum()) - int(mask[num:].sum()) - clause.cost, -clause.cost, -i)
        key = mask.tobytes()
        if gain[0] > 0 and (key not in gains or gain > gains[key]):
            gains[key] = gain
    order = [-i for _, _, i in sorted(gains.values(), reverse=True)[:MAX_CANDIDATES]]
    if not order:
        return None
    masks = np.array([nodes[i][1] for i in order], np.float32)
    costs = np.array([nodes[i][0].cost for i in order], np.float32)
    sign = np.where(np.arange(masks.shape[1]) < num, 1, -1).astype(np.float32)
    chosen, gained = _best_set(masks, costs, sign, task.bias.max_clauses)
    if gained <= base_cost:
        return None
    covered = masks[chosen].max(axis=0) > 0
    return Rough(tuple(nodes[order[i]][0] for i in chosen), num - gained + base_cost, covered)


def _best_set(masks: Floats, costs: Floats, sign: Floats, most: int) -> tuple[list[int], int]:
    """Return the best of the sets of at most `most` clauses that the beam meets, and by how much it shortens.

    `masks` has a row for each clause, `costs` its cost; `sign` is 1 for a positive example and -1 for a negative one.
    """
    gains = masks @ sign - costs
    best, gained = [int(gains.argmax())], float(gains.max())
    sets: list[tuple[int, ...]] = [(i,) for i in range(len(costs))]  # all of them, so that all pairs are tried
    for _ in range(min(most, len(costs)) - 1):
        open_ = np.array([sign * (1 - masks[list(one)].max(axis=0)) for one in sets], np.float32)
        before = np.array([_gain(masks, costs, sign, one) for one in sets], np.float32)
        after = before[:, None] + open_ @ masks.T - costs
        found: dict[tuple[int, ...], float] = {}
        for flat in _highest(after.ravel(), 20 * BEAM):
            row, column = divmod(flat, len(costs))
            if column not in sets[row] and after[row, column] > before[row]:
                found.setdefault(tuple(sorted((*sets[row], column))), float(after[row, column]))
        sets = list(found)[:BEAM]
        if not sets:
            break
        if found[sets[0]] > gained:
            best, gained = list(sets[0]), found[sets[0]]
    return best, round(gained)


def _highest(values: Floats, count: int) -> list[int]:
    """Return the places of the `count` highest `values`, highest and first ones first."""
    least = np.partition(values, -count)[-count] if count < len(values) else values.min()
    places = np.flatnonzero(values >= least)
    return places[np.argsort(-values[places], kind="stable")][:count].tolist()


def _gain(masks: Floats, costs: Floats, sign: Floats, chosen: Sequence[int]) -> float:
    rows = list(chosen)
    return float(masks[rows].max(axis=0) @ sign - costs[rows].sum())
