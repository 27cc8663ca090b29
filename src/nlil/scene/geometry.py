"""Geometry predicates, made from the boxes of objects: position and size of one object, relations between two.

Unary predicates come from numbers (data/numbers.py has the cuts and the names), in percent of the image; `middle_x`
increases from left to right, `middle_y`, `top` and `bottom` from the upper edge down. The outermost conditions have
plain names (PLAIN_NAMES).

Binary predicates relate two objects of one image, in one direction, since every relation has its inverse:

    inside(X, Z)        at least 90 % of X's area lies in Z
    overlaps(X, Z)      they share some area, and neither is inside the other; holds both ways
    above(X, Z)         X's lower edge is at or above Z's middle
    left_of(X, Z)       X's right edge is at or left of Z's middle
    larger_than(X, Z)   X has more than twice Z's area
    high_in(X, Z)       X's middle lies in the upper third of Z
    low_in(X, Z)        X's middle lies in the lower third of Z

docs/scenes.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, Mask, offsets, ranges
from ..data.dataset import DataOptions, Dataset
from ..data.kb import KnowledgeBase
from ..data.numbers import cut_text, cuts_in, number_facts, quantile_cuts, training_entities, with_predicates
from ..logic.predicate import Predicate

PLAIN_NAMES: Mapping[str, tuple[str, str]] = {
    "size": ("small", "large"),
    "aspect": ("narrow", "wide"),
    "height": ("short", "tall"),
    "middle_x": ("at_left", "at_right"),
    "middle_y": ("at_top", "at_bottom"),
}
"""Number -> the names of "up to its lowest cut" and "over its highest cut"."""
PREFIX = "box_"
"""Prefix of a name that the data already uses."""
RELATIONS = ("inside", "overlaps", "above", "left_of", "larger_than", "high_in", "low_in")
INSIDE_PERCENT = 90
TIMES_LARGER = 2

MAX_UNARY_FACTS, NUM_NUMBERS = 18_000_000, 8
"""The most facts about single boxes, and the number of numbers of a box."""
MAX_OBJECTS = 40
"""The largest objects of an image that are related; fewer if there would be more than MAX_PAIRS."""
MAX_PAIRS = 5_000_000
"""The most ordered pairs of objects in all images together."""
PAIRS_AT_ONCE = 1_000_000


@dataclass(frozen=True)
class Naming:
    """Names of geometry predicates: those in `like`, which rules use, otherwise names that the data does not use.

    A name of the data (`taken`) keeps its meaning, even if rules use it for a geometry predicate; `clashes` collects
    these.
    """

    taken: frozenset[str]
    like: frozenset[str] = frozenset()
    clashes: set[str] = field(default_factory=set)

    def name(self, numeric: str, plain: str | None, is_known: bool) -> str:
        """Return the name of a condition: `plain` for an outermost one, if possible, otherwise `numeric`.

        `is_known`: the rules use this number. If not, a name such as `large` may be a predicate of their own data.
        """
        if plain is not None and (not self.like or (is_known and self._longest((numeric,)) is None)):
            if plain not in self.taken:
                return plain
            self.clashes.update({plain} & self.like)
        return self.prefix((numeric,)) + numeric

    def prefix(self, names: Iterable[str]) -> str:
        """Return the prefix (often empty) with which none of the names is a name of the data."""
        names, prefix = tuple(names), self._longest(names) or ""
        while any(prefix + name in self.taken for name in names):
            self.clashes.update({prefix + name for name in names} & self.taken & self.like)
            prefix += PREFIX
        return prefix

    def _longest(self, names: Iterable[str]) -> str | None:
        """Return the longest prefix of such names in `like`; with a shorter one they are predicates of that data."""
        found = [(PREFIX * k) for k in range(3) for name in names if PREFIX * k + name in self.like]
        return max(found, default=None)


def with_geometry(dataset: Dataset, options: DataOptions, like: Iterable[Predicate] = ()) -> Dataset:
    """Return the data set with geometry predicates; unchanged if it has no boxes.

    `options.cuts` is the number of bins of a number. `like` are the predicates of other data that rules were learned
    from: cuts and names are those of `like`; the cuts of other numbers are computed from this data.
    """
    kb = dataset.kb
    if kb.boxes is None:
        return dataset
    boxes = proper_boxes(kb)
    naming = Naming(frozenset(p.name for p in kb.predicates), frozenset(p.name for p in like))
    bins = _affordable_bins(len(boxes), options.cuts)
    facts, plain = _box_facts(dataset, boxes, bins, naming)
    pairs, cut_note = pair_facts(boxes, _graph_of(kb))
    prefix = naming.prefix(RELATIONS)
    facts |= {Predicate(prefix + name, 2): rows for name, rows in pairs.items() if len(rows)}
    notes = [f"of the boxes: {', '.join(f'{name} is {meaning}' for name, meaning in plain.items())}"] if plain else []
    notes += cut_note
    if bins < options.cuts:
        notes.append(
            f"boxes: {bins} bins of each number instead of {options.cuts}, as there are {len(boxes):,} objects"
        )
    if naming.clashes:
        clashes = ", ".join(sorted(naming.clashes))
        notes.append(f"{clashes}: names of the data, although rules may use them for geometry predicates")
    return replace(with_predicates(dataset, facts), notes=(*dataset.notes, *notes))


def _graph_of(kb: KnowledgeBase) -> Ids:
    return np.zeros(kb.num_entities, np.int32) if kb.graph_of is None else kb.graph_of


def _affordable_bins(num_objects: int, wanted: int) -> int:
    """Return the number of bins with which there are at most MAX_UNARY_FACTS facts; at least two.

    An object is in one bin of each number, and on average over half of the cuts.
    """
    for_each = MAX_UNARY_FACTS / max(num_objects * NUM_NUMBERS, 1)
    return min(wanted, max(2, int(2 * (for_each - 1)) + 1))


def proper_boxes(kb: KnowledgeBase) -> Doubles:
    """Return x, y, w, h of each entity in double precision.

    All four are NaN if a number is missing or a side is not positive.
    """
    assert kb.boxes is not None
    boxes = kb.boxes.astype(np.float64)
    boxes[~(np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1))] = np.nan
    return boxes


def box_numbers(kb: KnowledgeBase, boxes: Doubles) -> dict[str, Doubles]:
    """Return the numbers of each of `boxes`: in percent of the image, except aspect (width by height).

    Products come before the only division, so that whole pixels give exactly 7 for 7 percent.
    """
    x, y, w, h = boxes.T
    width, height = _image_sizes(kb, boxes).T
    return {
        "size": 100 * w * h / (width * height),
        "width": 100 * w / width,
        "height": 100 * h / height,
        "aspect": w / h,
        "middle_x": 50 * (2 * x + w) / width,
        "middle_y": 50 * (2 * y + h) / height,
        "top": 100 * y / height,
        "bottom": 100 * (y + h) / height,
    }


def _image_sizes(kb: KnowledgeBase, boxes: Doubles) -> Doubles:
    """Return width and height of the image of each entity; if unknown, the extent of its boxes."""
    graph_of = _graph_of(kb)
    num_graphs = int(graph_of.max(initial=0)) + 1
    reach = np.full((num_graphs, 2), -np.inf)
    has_box = ~np.isnan(boxes[:, 0])
    np.maximum.at(reach, graph_of[has_box], boxes[has_box, :2] + boxes[has_box, 2:])
    known = reach if kb.graph_sizes is None else kb.graph_sizes[:num_graphs].astype(np.float64)
    sizes = np.where(known > 0, known, reach)
    return np.where(sizes > 0, sizes, np.nan)[graph_of]


def _box_facts(
    dataset: Dataset, boxes: Doubles, num_bins: int, naming: Naming
) -> tuple[dict[Predicate, Ids], dict[str, str]]:
    """Return the unary facts, and the numeric name of each plain name."""
    is_training = training_entities(dataset)
    facts: dict[Predicate, Ids] = {}
    meaning: dict[str, str] = {}
    for number, values in box_numbers(dataset.kb, boxes).items():
        unit = "" if number == "aspect" else "pct"
        known = _known_cuts(naming.like, number, unit)
        cuts = known or quantile_cuts(values[is_training], num_bins).tolist()
        plain = _plain_names(number, cuts, unit)
        for numeric, members in number_facts(number, values, is_training, cuts, unit):
            name = naming.name(numeric, plain.get(numeric), bool(known))
            if name == plain.get(numeric):
                meaning[name] = numeric
            facts[Predicate(name, 1)] = members
    return facts, meaning


def _known_cuts(names: Iterable[str], number: str, unit: str) -> list[float]:
    """Return the cuts of a number in the names that rules use, with any prefix."""
    return cuts_in(
        [name[len(PREFIX) * k :] for name in names for k in range(3) if name.startswith(PREFIX * k)], number, unit
    )


def _plain_names(number: str, cuts: list[float], unit: str) -> dict[str, str]:
    """Return numeric name -> plain name. With a single cut, numeric names are kept, since only they say where it is."""
    if number not in PLAIN_NAMES or len(cuts) < 2:
        return {}
    lowest, highest = PLAIN_NAMES[number]
    return {f"{number}_up_to_{cut_text(cuts[0])}{unit}": lowest, f"{number}_over_{cut_text(cuts[-1])}{unit}": highest}


# relations between two boxes of an image ----------------------------------------------------------------


def pair_facts(boxes: Doubles, graph_of: Ids, max_pairs: int = MAX_PAIRS) -> tuple[dict[str, Ids], tuple[str, ...]]:
    """Return relation -> rows of (subject, object), and a note if objects were left out.

    `boxes` is the result of `proper_boxes`, `graph_of` the image of each entity; `max_pairs` limits the pairs of all
    images together.
    """
    chosen, max_objects, num_cut = _largest_objects(boxes, graph_of, max_pairs)
    found: dict[str, list[Ids]] = {name: [np.zeros((0, 2), np.int32)] for name in RELATIONS}
    for first, second in _pairs(chosen, graph_of):
        rows = np.stack((first, second), axis=1)
        for name, holds in _relations(boxes[first], boxes[second]).items():
            found[name].append(rows[holds])
    notes: tuple[str, ...] = ()
    if num_cut:
        notes = (
            f"relations between boxes are those of the {max_objects} largest objects of an image; "
            f"{num_cut:,} images have more",
        )
    return {name: np.concatenate(parts) for name, parts in found.items()}, notes


def _largest_objects(boxes: Doubles, graph_of: Ids, max_pairs: int) -> tuple[Ids, int, int]:
    """Return the largest entities with a box, their limit per graph, and the number of graphs with more."""
    entity = np.flatnonzero(~np.isnan(boxes[:, 0])).astype(np.int32)
    area = boxes[entity, 2] * boxes[entity, 3]
    entity = entity[np.lexsort((entity, -area, graph_of[entity]))]
    pointer = offsets(graph_of[entity], int(graph_of.max(initial=0)) + 1)
    count = np.diff(pointer)
    max_objects = MAX_OBJECTS
    while max_objects > 1 and _num_pairs(np.minimum(count, max_objects)) > max_pairs:
        max_objects -= 1
    rank = np.arange(len(entity)) - pointer[graph_of[entity]]
    return entity[rank < max_objects], max_objects, int((count > max_objects).sum())


def _num_pairs(count: Longs) -> int:
    return int((count * (count - 1)).sum())


def _pairs(entity: Ids, graph_of: Ids) -> Iterator[tuple[Ids, Ids]]:
    """Yield all ordered pairs of different entities of the same graph, in blocks."""
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
    x_middle, z_middle = x[:, :2] + x[:, 2:] / 2, z[:, :2] + z[:, 2:] / 2
    is_within = ((x_middle >= z[:, :2]) & (x_middle <= z_end)).all(axis=1)
    x_inside, z_inside = (100 * shared >= INSIDE_PERCENT * area for area in (x_area, z_area))
    return {
        "inside": x_inside,
        "overlaps": (shared > 0) & ~x_inside & ~z_inside,
        "above": x_end[:, 1] <= z_middle[:, 1],
        "left_of": x_end[:, 0] <= z_middle[:, 0],
        "larger_than": x_area > TIMES_LARGER * z_area,
        "high_in": is_within & (3 * (x_middle[:, 1] - z[:, 1]) <= z[:, 3]),
        "low_in": is_within & (3 * (z_end[:, 1] - x_middle[:, 1]) <= z[:, 3]),
    }
