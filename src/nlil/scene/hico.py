"""HICO-DET in the two layouts in which its annotations are published: pairs of a person's box and an object's box.

    {file name: {"labels": [{"hoi_id": 1..600, "human_bbox", "object_bbox", "width", "height"}]}}
                                        with hico_hoi_list.txt (hoi_id, object, verb) beside it
    {"filenames": [...], "annotation": [{"boxes_h", "boxes_o", "hoi": [0..599]}], "size": [[width, height]],
     "objects": [...], "verbs": [...], "correspondence": [[hoi, object, verb]]}          parallel lists

A box is [x1, y1, x2, y2]. Every interaction was annotated by itself, with boxes drawn anew; how boxes become objects
is said at `_Graph`. `no_interaction` gives objects but no relation.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from ..data.files import beside, lines
from ..errors import DataError
from .json_files import elements, members
from .values import Reading, corners, items, name_at, new_object

HOI_LIST = "hico_hoi_list.txt"
PARALLEL_KEYS = frozenset(
    {"annotation", "filenames", "empty", "objects", "verbs", "correspondence", "size", "rare", "non_rare"}
)
PERSON, NO_INTERACTION = "person", "no_interaction"
LEAST_IOU = 0.5
BY_IMAGE = "{file name: {'labels': [{'hoi_id', 'human_bbox', 'object_bbox'}]}}"
PARALLEL = "{'filenames': [...], 'annotation': [...]}"

Box = tuple[float, float, float, float]


class Interaction(NamedTuple):
    object: str
    verb: str


def hico_images(path: Path, reading: Reading) -> Iterator[tuple[str, Any]]:
    """Each image of the layout by file name, in GQA's structure."""
    interactions = _listed(path)
    for image, entry in members(path, BY_IMAGE):
        graph = _Graph(reading, f"image {image!r}")
        labels = items(entry, "labels", graph.where)
        for label in labels:
            hoi = label.get("hoi_id") if isinstance(label, Mapping) else None
            if not isinstance(hoi, int) or hoi not in interactions:
                raise DataError(f"{graph.where}: expected a label with a hoi_id of {HOI_LIST}, got {label!r:.80}")
            person = corners(label.get("human_bbox"), "human_bbox", graph.where)
            other = corners(label.get("object_bbox"), "object_bbox", graph.where)
            graph.pair(interactions[hoi], person, other)
        size = labels[0] if labels else {}
        yield image, graph.finish(size.get("width"), size.get("height"))


def parallel_hico_images(path: Path, reading: Reading) -> Iterator[tuple[str, Any]]:
    """Each image of the layout in parallel lists; several passes, since the lists come in any order."""

    def short(key: str) -> list[Any]:
        return list(elements(path, f"{key}.item", PARALLEL))

    objects, verbs = short("objects"), short("verbs")
    interactions = [_named(triple, objects, verbs) for triple in short("correspondence")]
    images, sizes = short("filenames"), short("size")
    number = 0
    for number, annotation in enumerate(elements(path, "annotation.item", PARALLEL), start=1):
        if number > min(len(images), len(sizes)):
            break
        graph = _Graph(reading, f"image {images[number - 1]!r}")
        people, others, which = (items(annotation, key, graph.where) for key in ("boxes_h", "boxes_o", "hoi"))
        if not len(people) == len(others) == len(which):
            raise DataError(
                f"{graph.where}: expected as many boxes_h and boxes_o as hoi, got {len(people)}, "
                f"{len(others)} and {len(which)}"
            )
        for person, other, hoi in zip(people, others, which, strict=True):
            interaction = name_at(interactions, hoi, "hoi", graph.where)
            graph.pair(interaction, corners(person, "boxes_h", graph.where), corners(other, "boxes_o", graph.where))
        size = sizes[number - 1]
        if not isinstance(size, list) or len(size) != 2:
            raise DataError(f"{graph.where}: expected [width, height] under 'size', got {size!r:.80}")
        yield str(images[number - 1]), graph.finish(*size)
    if not number == len(images) == len(sizes):
        raise DataError(
            f"expected as many annotations as filenames and sizes, got {number}, {len(images)} and {len(sizes)}", path
        )


@dataclass
class _Thing:
    """An object: its first box, and the boxes that each (interaction, role) drew for it."""

    name: str
    box: Box
    drawn: dict[tuple[Interaction, str], set[Box]] = field(default_factory=dict)
    relations: dict[tuple[str, int], None] = field(default_factory=dict)  # (verb, place of the object), in order


class _Graph:
    """Boxes to objects: a box is the object of its class whose first box overlaps it most, by IoU .5 or more.

    Except that two different boxes drawn for the same interaction, in the same role, are two objects: their
    annotator saw both at once.
    """

    def __init__(self, reading: Reading, where: str) -> None:
        self.reading, self.where = reading, where
        self.things: list[_Thing] = []

    def pair(self, interaction: Interaction, person: Box, other: Box) -> None:
        subject = self._place(PERSON, person, (interaction, "person"))
        object = self._place(interaction.object, other, (interaction, "object"))
        if subject == object:
            self.reading.passed["person-person pair(s) whose boxes are one person, passed over"] += 1
        elif interaction.verb == NO_INTERACTION:
            self.reading.passed[f"{NO_INTERACTION} pair(s) that give objects but no relation"] += 1
        else:
            self.things[subject].relations[interaction.verb, object] = None

    def _place(self, name: str, box: Box, drawn_for: tuple[Interaction, str]) -> int:
        best, overlap = -1, 0.0
        for place, thing in enumerate(self.things):
            if thing.name != name or thing.drawn.get(drawn_for, {box}) != {box}:
                continue
            found = iou(thing.box, box)
            if found >= LEAST_IOU and found > overlap:
                best, overlap = place, found
        if best < 0:
            best = len(self.things)
            self.things.append(_Thing(name, box))
        self.things[best].drawn.setdefault(drawn_for, set()).add(box)
        return best

    def finish(self, width: Any, height: Any) -> dict[str, Any]:
        ids = [str(next(self.reading.numbers)) for _ in self.things]
        objects = {}
        for id, thing in zip(ids, self.things, strict=True):
            left, top, right, bottom = thing.box
            objects[id] = new_object(thing.name, left, top, right - left, bottom - top)
            objects[id]["relations"] = [{"name": verb, "object": ids[place]} for verb, place in thing.relations]
        return {"width": width, "height": height, "objects": objects}


def iou(one: Box, two: Box) -> float:
    """The area that two boxes share, over the area that they cover.

    >>> iou((0, 0, 2, 2), (1, 0, 3, 2))
    0.3333333333333333
    """
    width = min(one[2], two[2]) - max(one[0], two[0])
    height = min(one[3], two[3]) - max(one[1], two[1])
    if width <= 0 or height <= 0:
        return 0.0
    areas = sum((box[2] - box[0]) * (box[3] - box[1]) for box in (one, two))
    return width * height / (areas - width * height)


def _named(triple: Any, objects: list[str], verbs: list[str]) -> Interaction:
    if not isinstance(triple, list) or len(triple) != 3:
        raise DataError(f"correspondence: expected [hoi, object, verb], got {triple!r:.80}")
    return Interaction(
        name_at(objects, triple[1], "correspondence", "object"), name_at(verbs, triple[2], "correspondence", "verb")
    )


def _listed(path: Path) -> dict[int, Interaction]:
    """hico_hoi_list.txt: number, object, verb in columns of spaces."""
    file = beside(path, HOI_LIST)
    if file is None:
        raise DataError(f"expected {HOI_LIST} beside it, which names what hoi_id stands for, got none", path)
    return dict(_rows(file, lines(file)))


def _rows(file: Path, numbered: Iterable[tuple[int, str]]) -> Iterator[tuple[int, Interaction]]:
    for number, line in numbered:
        words = line.split()
        if len(words) != 3 or not words[0].isdecimal():
            raise DataError(f"expected number, object and verb, got {line!r:.80}", file, number)
        yield int(words[0]), Interaction(words[1], words[2])
