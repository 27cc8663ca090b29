"""How two boxes of one image lie to each other. One direction each: every relation has its inverse anyway.

    inside(X, Z)        at least 90 % of X's area lies in Z
    overlaps(X, Z)      they share some area, and neither is inside the other; holds both ways
    above(X, Z)         X's lower edge is at or above Z's middle
    left_of(X, Z)       X's right edge is at or left of Z's middle
    larger_than(X, Z)   X has more than twice Z's area

The number of pairs is bounded: an image's 40 largest objects take part, fewer where all images together would have more
than 5 million pairs.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask, offsets, ranges

RELATIONS = ("inside", "overlaps", "above", "left_of", "larger_than")
INSIDE_PERCENT = 90
TIMES_LARGER = 2
MOST_OBJECTS = 40
MOST_PAIRS = 5_000_000
PAIRS_AT_ONCE = 1_000_000


def pair_facts(boxes: Doubles, graph_of: Ids, most_pairs: int = MOST_PAIRS) -> tuple[dict[str, Ids], tuple[str, ...]]:
    """Relation -> rows of (subject, object), and a note where objects had to stay aside."""
    chosen, most_objects, num_cut = _largest_objects(boxes, graph_of, most_pairs)
    found: dict[str, list[Ids]] = {name: [np.zeros((0, 2), np.int32)] for name in RELATIONS}
    for first, second in _pairs(chosen, graph_of):
        rows = np.stack((first, second), axis=1)
        for name, holds in _relations(boxes[first], boxes[second]).items():
            found[name].append(rows[holds])
    notes: tuple[str, ...] = ()
    if num_cut:
        notes = (
            f"relations between boxes are those of the {most_objects} largest objects of an image; "
            f"{num_cut:,} images have more",
        )
    return {name: np.concatenate(parts) for name, parts in found.items()}, notes


def _largest_objects(boxes: Doubles, graph_of: Ids, most_pairs: int) -> tuple[Ids, int, int]:
    """Entities with a box, graph after graph, largest first, cut to so many a graph; that number; the graphs cut."""
    entity = np.flatnonzero(~np.isnan(boxes[:, 0])).astype(np.int32)
    area = boxes[entity, 2] * boxes[entity, 3]
    entity = entity[np.lexsort((entity, -area, graph_of[entity]))]
    pointer = offsets(graph_of[entity], int(graph_of.max(initial=0)) + 1)
    count = np.diff(pointer)
    most_objects = MOST_OBJECTS
    while most_objects > 1 and _num_pairs(np.minimum(count, most_objects)) > most_pairs:
        most_objects -= 1
    rank = np.arange(len(entity)) - pointer[graph_of[entity]]
    return entity[rank < most_objects], most_objects, int((count > most_objects).sum())


def _num_pairs(count: Longs) -> int:
    return int((count * (count - 1)).sum())


def _pairs(entity: Ids, graph_of: Ids) -> Iterator[tuple[Ids, Ids]]:
    """All ordered pairs of different entities of one graph, a bounded number at a time."""
    pointer = offsets(graph_of[entity], int(graph_of.max(initial=0)) + 1)
    others = np.diff(pointer)[graph_of[entity]]
    block = np.cumsum(others) // PAIRS_AT_ONCE
    for part in np.split(np.arange(len(entity)), np.flatnonzero(np.diff(block)) + 1):
        first = np.repeat(entity[part], others[part])
        second = entity[ranges(pointer[graph_of[entity[part]]], others[part])]
        different = first != second
        yield first[different], second[different]


def _relations(x: Doubles, z: Doubles) -> dict[str, Mask]:
    x_end, z_end = x[:, :2] + x[:, 2:], z[:, :2] + z[:, 2:]
    shared = np.clip(np.minimum(x_end, z_end) - np.maximum(x[:, :2], z[:, :2]), 0, None).prod(axis=1)
    x_area, z_area = x[:, 2:].prod(axis=1), z[:, 2:].prod(axis=1)
    z_middle = z[:, :2] + z[:, 2:] / 2
    x_inside, z_inside = (100 * shared >= INSIDE_PERCENT * area for area in (x_area, z_area))
    return {
        "inside": x_inside,
        "overlaps": (shared > 0) & ~x_inside & ~z_inside,
        "above": x_end[:, 1] <= z_middle[:, 1],
        "left_of": x_end[:, 0] <= z_middle[:, 0],
        "larger_than": x_area > TIMES_LARGER * z_area,
    }
