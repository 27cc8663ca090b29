"""Boxes become predicates: what an object's box says about it, and how the boxes of one image lie to each other.

Unary, from numbers (numbers.py has the cuts and the names), as shares of the image; `middle_x` runs from left to
right, `middle_y`, `top` and `bottom` from the upper edge down. The outermost conditions have plain names (PLAIN).
Binary, between two objects of an image: `geometry_pairs`. docs/scenes.md lists them all.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from ..data.arrays import Doubles, Ids
from ..data.dataset import Dataset
from ..data.kb import KnowledgeBase
from ..data.numbers import cut_text, cuts_in, number_facts, quantile_cuts, training_entities, with_predicates
from ..data.options import DataOptions
from ..logic.predicate import Predicate
from .geometry_pairs import RELATIONS, pair_facts

PLAIN: Mapping[str, tuple[str, str]] = {
    "size": ("small", "large"),
    "aspect": ("narrow", "wide"),
    "height": ("short", "tall"),
    "middle_x": ("at_left", "at_right"),
    "middle_y": ("at_top", "at_bottom"),
}
"""Number -> the names of "up to its lowest cut" and "over its highest cut"."""
PREFIX = "box_"
"""Before a name that the data uses already."""


MOST_FACTS, NUMBERS = 18_000_000, 8
"""Facts about single boxes, at most, and numbers of a box."""


@dataclass(frozen=True)
class Naming:
    """What predicates of boxes are called: as in `like`, which rules know, else by what the data leaves free.

    A name of the data stays the data's, also where rules mean another thing by it; `clashes` has those.
    """

    taken: frozenset[str]
    like: frozenset[str] = frozenset()
    clashes: set[str] = field(default_factory=set)

    def name(self, numeric: str, plain: str | None, is_known: bool) -> str:
        """The plain name of an outermost condition, or the numeric one. `is_known`: the rules know this number.

        Of a number that they do not know, `large` may be what their data said itself.
        """
        if plain is not None and (not self.like or (is_known and self._longest((numeric,)) is None)):
            if plain not in self.taken:
                return plain
            self.clashes.update({plain} & self.like)
        return self.prefix((numeric,)) + numeric

    def prefix(self, names: Iterable[str]) -> str:
        """Nothing, or what has to stand before all of the names so that none is a name of the data."""
        names, prefix = tuple(names), self._longest(names) or ""
        while any(prefix + name in self.taken for name in names):
            self.clashes.update({prefix + name for name in names} & self.taken & self.like)
            prefix += PREFIX
        return prefix

    def _longest(self, names: Iterable[str]) -> str | None:
        """What stands before such names in `like`: a shorter prefix there is left to that data's own predicates."""
        found = [(PREFIX * k) for k in range(3) for name in names if PREFIX * k + name in self.like]
        return max(found, default=None)


def with_geometry(dataset: Dataset, options: DataOptions, like: Iterable[Predicate] = ()) -> Dataset:
    """The data set with predicates from its boxes; a set without boxes comes back as it is.

    Cut and named as in `like`, the predicates of other data that rules were learned from; numbers that it does not
    know are cut by this data.
    """
    kb = dataset.kb
    if kb.boxes is None:
        return dataset
    boxes = proper_boxes(kb)
    naming = Naming(frozenset(p.name for p in kb.predicates), frozenset(p.name for p in like))
    bins = _affordable_bins(len(boxes), options.cuts)
    facts, plain = _box_facts(dataset, boxes, bins, naming)
    graph_of = np.zeros(kb.num_entities, np.int32) if kb.graph_of is None else kb.graph_of
    pairs, notes = pair_facts(boxes, graph_of)
    prefix = naming.prefix(RELATIONS)
    facts |= {Predicate(prefix + name, 2): rows for name, rows in pairs.items() if len(rows)}
    if bins < options.cuts:
        few = f"boxes: {bins} bins of each number instead of {options.cuts}, as there are {len(boxes):,} objects"
        notes = (*notes, few)
    if plain:
        notes = (f"of the boxes: {', '.join(f'{name} is {meaning}' for name, meaning in plain.items())}", *notes)
    if naming.clashes:
        notes = (*notes, f"{', '.join(sorted(naming.clashes))}: the data's own, though rules may mean what boxes say")
    return replace(with_predicates(dataset, facts), notes=(*dataset.notes, *notes))


def _affordable_bins(num_objects: int, wanted: int) -> int:
    """Bins of a number, so that all numbers together make no more than MOST_FACTS; two at least.

    An object has one bin of each number, and is over half of the cuts between them.
    """
    for_each = MOST_FACTS / max(num_objects * NUMBERS, 1)
    return min(wanted, max(2, int(2 * (for_each - 1)) + 1))


def proper_boxes(kb: KnowledgeBase) -> Doubles:
    """x, y, w, h of each entity in double precision; all NaN where a number is missing or a side is not positive."""
    assert kb.boxes is not None
    boxes = kb.boxes.astype(np.float64)
    boxes[~(np.isfinite(boxes).all(axis=1) & (boxes[:, 2:] > 0).all(axis=1))] = np.nan
    return boxes


def box_numbers(kb: KnowledgeBase, boxes: Doubles) -> dict[str, Doubles]:
    """The numbers of each box: in percent of the image, except aspect (width by height).

    Products stand before the one division: whole pixels then give 7 where a box has exactly 7 percent.
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
    """Width and height of each entity's image; where unknown, how far its boxes reach."""
    graph_of = np.zeros(kb.num_entities, np.int32) if kb.graph_of is None else kb.graph_of
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
    """The unary facts, and what each plain name stands for."""
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
    """The cuts of a number in the names that rules know, whatever stands before them."""
    return cuts_in(
        [name[len(PREFIX) * k :] for name in names for k in range(3) if name.startswith(PREFIX * k)], number, unit
    )


def _plain_names(number: str, cuts: list[float], unit: str) -> dict[str, str]:
    """Numeric name -> plain name. Of a single cut the numeric names stay: no other name tells where it is."""
    if number not in PLAIN or len(cuts) < 2:
        return {}
    lowest, highest = PLAIN[number]
    return {f"{number}_up_to_{cut_text(cuts[0])}{unit}": lowest, f"{number}_over_{cut_text(cuts[-1])}{unit}": highest}
