"""Confident patterns found by counting: single patterns, and conjunctions that are much better than their parts.

They are chosen before all others: a confident rule is kept even if several less confident ones would do together.
"""

from __future__ import annotations

import numpy as np

from ..data.arrays import Ids, Longs
from ..kernel.bodies import X_NODE, unary_mask
from ..kernel.compiled import compiled
from .fitting import LabelledObjects, columns
from .lean import with_literals
from .patterns import Patterns

MIN_SURE_CONFIDENCE, MAX_SURE_PER_CLASS = 0.8, 4
"""Limits of the patterns that are chosen before all others."""
MAX_JOINED_PER_OBJECT = 12
"""Patterns of an object whose pairs are counted, rarest first."""
MAX_CONJUNCTIONS_PER_CLASS = 40
MIN_LIFT = 1.2
"""Least confidence of a conjunction, as a multiple of that of the better of its two patterns."""
MIN_CLEAR_CONFIDENCE, MAX_CLEAR_PER_CLASS = 0.5, 5
"""Limits of the conjunctions that are chosen before all others."""


def sure_patterns(counts: Ids, sizes: Longs, min_support: int) -> tuple[Ids, Ids]:
    """Return (pattern, class) of the patterns that hold for hardly any other class, the best ones of each class.

    `counts` is the result of `class_counts`, `sizes` is the number of objects of each pattern, and `min_support` the
    fewest objects of the class for which it must hold.
    """
    share = counts.sum(axis=0) / max(int(counts.sum()), 1)
    confidence = counts[:, :-1] / np.maximum(sizes, 1)[:, None]
    pattern, target = np.nonzero((confidence >= MIN_SURE_CONFIDENCE) & (counts[:, :-1] >= min_support))
    power = counts[pattern, target] * np.log(confidence[pattern, target] / share[target])
    order = np.lexsort((pattern, -power, target))
    pattern, target = pattern[order], target[order]
    first = _place_in_run(target) < MAX_SURE_PER_CLASS
    return pattern[first].astype(np.int32), target[first].astype(np.int32)


def _place_in_run(values: Longs) -> Longs:
    """Return 0, 1, 2, ... within each run of equal values of a sorted array."""
    return np.arange(len(values)) - np.searchsorted(values, values)


# conjunctions of two patterns ---------------------------------------------------------------------------


def with_clear_conjunctions(
    patterns: Patterns, data: LabelledObjects, counts: Ids, min_support: int
) -> tuple[Patterns, Ids, Ids]:
    """Add conjunctions that predict at least one class better than their two patterns do.

    For each object of `data`, all pairs of its patterns of at most one step are counted. Geometry predicates and those
    of numbers are left out, because there are too many.

    Args:
        patterns: Patterns of one line each.
        data: The objects with their classes.
        counts: The result of `class_counts`.
        min_support: The fewest objects of the class for which a conjunction must hold.

    Returns:
        The patterns, and (pattern, class) of the most confident conjunctions.
    """
    local, sizes, num_classes = _local(patterns), patterns.sizes, counts.shape[1]
    rank = np.argsort(np.argsort(sizes[local], kind="stable"), kind="stable").astype(np.int32)
    pointer, column, _ = columns(data.held[:, local])
    owner, key = _all_pairs(pointer, rank[column], len(local))
    known, place, size = np.unique(key, return_inverse=True, return_counts=True)
    by_rank = local[np.argsort(rank)]
    first, second = (by_rank[part] for part in np.divmod(known, max(len(local), 1)))
    both, support = np.unique(place * np.int64(num_classes) + data.label[owner], return_counts=True)
    pair, label = np.divmod(both, num_classes)
    one, two = first[pair], second[pair]
    alone = np.maximum(counts[one, label] / sizes[one], counts[two, label] / sizes[two])
    confidence = support / size[pair]
    good = (support >= min_support) & (confidence >= MIN_LIFT * alone) & (label < num_classes - 1)
    good &= size[pair] < np.minimum(sizes[one], sizes[two])
    power = support[good] * np.log(confidence[good] / alone[good])
    order = np.flatnonzero(good)[np.lexsort((pair[good], -power, label[good]))]
    pair, label, confidence = pair[order], label[order], confidence[order]
    kept = np.unique(pair[_place_in_run(label) < MAX_CONJUNCTIONS_PER_CLASS])
    clear = np.flatnonzero(confidence >= MIN_CLEAR_CONFIDENCE)
    clear = clear[_place_in_run(label[clear]) < MAX_CLEAR_PER_CLASS]
    pairs = [(min(i, j), max(i, j)) for i, j in zip(first[kept].tolist(), second[kept].tolist())]
    # The rows come from the patterns, since an object may have more patterns than were counted.
    found, number = with_literals(patterns, pairs)
    chosen = np.stack((number[np.searchsorted(kept, pair[clear])], label[clear]))
    number, target = np.unique(chosen, axis=1)
    return found, number.astype(np.int32), target.astype(np.int32)


def _local(patterns: Patterns) -> Longs:
    """The patterns of at most one step that end in a unary predicate, without geometry predicates."""
    lines = patterns.bodies.lines
    last = np.take_along_axis(lines.steps, lines.lengths[:, None] - 1, axis=1)[:, 0]
    ends_in_unary = unary_mask(patterns.kb.predicates)[last >> 1]
    short = (lines.start == X_NODE) & (lines.lengths <= 2)
    return np.flatnonzero(short & ends_in_unary & ~lines.names(patterns.kb.geometry))


def _all_pairs(pointer: Longs, column: Ids, size: int) -> tuple[Ids, Longs]:
    """Return (object, first * size + second) of all pairs of the smallest numbers in each row (pointer, column)."""
    count = np.minimum(np.diff(pointer), MAX_JOINED_PER_OBJECT)
    total = int((count * (count - 1) // 2).sum())
    owner, key = np.zeros(total, np.int32), np.zeros(total, np.int64)
    _list_pairs(pointer, column, size, owner, key)
    return owner, key


@compiled
def _list_pairs(pointer: Longs, column: Ids, size: int, owner: Ids, key: Longs) -> None:
    used = 0
    for i in range(len(pointer) - 1):
        patterns = np.sort(column[pointer[i] : pointer[i + 1]])
        for a in range(min(len(patterns), MAX_JOINED_PER_OBJECT)):
            for b in range(a + 1, min(len(patterns), MAX_JOINED_PER_OBJECT)):
                owner[used] = i
                key[used] = np.int64(patterns[a]) * size + patterns[b]
                used += 1
