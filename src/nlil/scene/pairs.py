"""Two patterns that say much more together than each alone: `riding(X, Z1), horse(Z1), on(Z2, X), hat(Z2)`.

Found by counting, before anything is chosen: in each object all pairs of what is said about it in one step or of
itself, and of each pair the objects of every class. Predicates from boxes and numbers are left out: there are too many.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..kernel.kernels import compiled
from ..logic.formula import Statement, X
from .fitting import Labelled, only
from .patterns import Patterns

MOST = 12
"""Patterns of an object that are paired, rarest first."""
OF_CLASS = 40
"""Pairs kept for a class."""
LIFT = 1.2
"""The confidence of a pair, at least, as a multiple of the better of the two."""
CLEAR, CLEAR_LIFT, CLEAR_OF_CLASS = 0.5, 1.2, 5
"""Pairs that are taken before any single pattern: least confidence, least lift, most of them for a class."""


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of patterns, the places in patterns.entities where both hold, and (pair, class) of the clearest."""

    pairs: list[tuple[int, int]]
    rows: list[Ids]
    clear_pair: Ids
    clear_class: Ids


def telling_pairs(patterns: Patterns, data: Labelled, rows: Longs, counts: np.ndarray, least: int) -> Pairs:
    """Pairs that tell at least one class better than their parts do. `data` has the classes of `rows`."""
    local = np.flatnonzero(_is_local(patterns))
    pointer, column = only(data, local.astype(np.int32))
    sizes = patterns.sizes
    rank = np.argsort(np.argsort(sizes[local], kind="stable"), kind="stable").astype(np.int32)
    owner, key = _all_pairs(pointer, rank[column], len(local))
    if not len(key):
        return Pairs([], [], np.zeros(0, np.int32), np.zeros(0, np.int32))
    known, place, size = np.unique(key, return_inverse=True, return_counts=True)
    by_rank = local[np.argsort(rank)]
    first, second = by_rank[known // len(local)], by_rank[known % len(local)]
    both, support = np.unique(place * np.int64(data.num_classes) + data.label[owner], return_counts=True)
    pair, label = np.divmod(both, data.num_classes)
    one, two = first[pair], second[pair]
    alone = np.maximum(counts[one, label] / sizes[one], counts[two, label] / sizes[two])
    confidence = support / size[pair]
    smaller = np.minimum(sizes[one], sizes[two])
    good = (support >= least) & (confidence >= LIFT * alone) & (size[pair] < smaller) & (label < data.num_classes - 1)
    pair, label, lift, confidence = pair[good], label[good], confidence[good] / alone[good], confidence[good]
    order = np.lexsort((pair, -support[good] * np.log(lift), label))
    pair, label, lift, confidence = pair[order], label[order], lift[order], confidence[order]
    kept = np.unique(pair[_place_in_run(label) < OF_CLASS])
    is_clear = np.flatnonzero((confidence >= CLEAR) & (lift >= CLEAR_LIFT))
    is_clear = is_clear[_place_in_run(label[is_clear]) < CLEAR_OF_CLASS]
    pairs, places = _rows_of(patterns, kept, first, second)
    number = np.searchsorted(kept, pair[is_clear]).astype(np.int32)
    return Pairs(pairs, places, number, label[is_clear].astype(np.int32))


def _place_in_run(label: Longs) -> Longs:
    """0, 1, 2, ... within each run of equal values of a sorted array."""
    return np.arange(len(label)) - np.searchsorted(label, label)


def _is_local(patterns: Patterns) -> Mask:
    geometry = {patterns.kb.predicates[i] for i in patterns.kb.geometry}

    def is_local(body: object) -> bool:
        if not isinstance(body, Statement) or body.start != X or not body.steps[-1].is_filter:
            return False
        moves = sum(not step.is_filter for step in body.steps)
        return moves <= 1 and len(body.steps) == moves + 1 and not any(s.predicate in geometry for s in body.steps)

    return np.array([is_local(body) for body in patterns.body], bool)


@compiled
def _pairs_of(pointer, column, size, owner, key):
    used = 0
    for i in range(len(pointer) - 1):
        mine = np.sort(column[pointer[i] : pointer[i + 1]])
        for a in range(min(len(mine), MOST)):
            for b in range(a + 1, min(len(mine), MOST)):
                owner[used] = i
                key[used] = np.int64(mine[a]) * size + mine[b]
                used += 1
    return used


def _all_pairs(pointer: Longs, column: Ids, size: int) -> tuple[Ids, Longs]:
    count = np.minimum(np.diff(pointer), MOST)
    total = int((count * (count - 1) // 2).sum())
    owner, key = np.zeros(total, np.int32), np.zeros(total, np.int64)
    _pairs_of(pointer, column, size, owner, key)
    return owner, key


def _rows_of(patterns: Patterns, kept: Longs, first: Longs, second: Longs) -> tuple[list[tuple[int, int]], list[Ids]]:
    """Where both hold, from the patterns themselves: an object with more than MOST patterns has pairs not listed."""
    pointer, row = patterns.members()
    pairs = [(int(min(first[k], second[k])), int(max(first[k], second[k]))) for k in kept]
    found = [
        np.intersect1d(row[pointer[i] : pointer[i + 1]], row[pointer[j] : pointer[j + 1]], assume_unique=True)
        for i, j in pairs
    ]
    return pairs, found
