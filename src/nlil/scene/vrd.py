"""VRD as its authors publish it (Lu 2016): relations between boxes that have no ids.

    annotations_SPLIT.json       {file name: [{"predicate": int, "subject": {"category": int, "bbox"}, "object"}]}
    objects.json, predicates.json     names by index, beside it
    SPLIT_image_metadata.json    {file name: {"width", "height"}}; optional

A bbox is [ymin, ymax, xmin, xmax]. An object is one (class, box) of an image; relations that are repeated, or that
relate an object to itself, are passed over and counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data.files import beside, stem
from ..errors import DataError
from .json_files import members, whole
from .values import Reading, corners, items, name_at, new_object

PREFIX = "annotations_"
EXPECTED = "{file name: [{'predicate', 'subject', 'object'}]}"


def vrd_images(path: Path, reading: Reading) -> Iterator[tuple[str, Any]]:
    """Each image in GQA's structure."""
    names, predicates = _names(path, "objects.json"), _names(path, "predicates.json")
    sizes = _sizes(path)
    for image, relations in members(path, EXPECTED):
        size = sizes.get(image, {})
        graph = _Graph(names, predicates, reading, f"image {image!r}")
        for relation in items({"relations": relations}, "relations", graph.where):
            graph.add(relation)
        yield image, {"width": size.get("width"), "height": size.get("height"), "objects": graph.objects}


class _Graph:
    """The objects of one image, numbered as they come."""

    def __init__(self, names: list[str], predicates: list[str], reading: Reading, where: str) -> None:
        self.names, self.predicates, self.reading, self.where = names, predicates, reading, where
        self.objects: dict[str, dict[str, Any]] = {}
        self._id_of: dict[tuple[Any, ...], str] = {}
        self._said: set[tuple[str, str, str]] = set()

    def add(self, relation: Any) -> None:
        if not isinstance(relation, Mapping):
            raise DataError(f"{self.where}: expected {{'predicate', 'subject', 'object'}}, got {relation!r:.80}")
        name = name_at(self.predicates, relation.get("predicate"), "predicate", self.where)
        subject, other = self._id(relation, "subject"), self._id(relation, "object")
        if subject == other:
            self.reading.passed["relation(s) of an object to itself passed over"] += 1
        elif (subject, name, other) in self._said:
            self.reading.passed["repeated relation(s) passed over"] += 1
        else:
            self._said.add((subject, name, other))
            self.objects[subject]["relations"].append({"name": name, "object": other})

    def _id(self, relation: Mapping[str, Any], role: str) -> str:
        thing = relation.get(role)
        if not isinstance(thing, Mapping):
            raise DataError(f"{self.where}: expected {{'category', 'bbox'}} under {role!r}, got {thing!r:.80}")
        name = name_at(self.names, thing.get("category"), "category", self.where)
        top, bottom, left, right = corners(thing.get("bbox"), "bbox", self.where)
        key = (name, top, bottom, left, right)
        if key not in self._id_of:
            self._id_of[key] = str(next(self.reading.numbers))
            self.objects[self._id_of[key]] = new_object(name, left, top, right - left, bottom - top)
        return self._id_of[key]


def _names(path: Path, name: str) -> list[str]:
    file = beside(path, name)
    if file is None:
        raise DataError(f"expected {name} beside it, which names what its numbers stand for, got none", path)
    names = whole(file, "list of names")
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise DataError(f"expected a list of names, got {names!r:.80}", file)
    return names


def _sizes(path: Path) -> Mapping[str, Mapping[str, Any]]:
    file = beside(path, f"{stem(path).removeprefix(PREFIX)}_image_metadata.json")
    if file is None:
        return {}
    sizes = whole(file, "{file name: {'width', 'height'}}")
    if not isinstance(sizes, Mapping) or not all(isinstance(size, Mapping) for size in sizes.values()):
        raise DataError(f"expected {{file name: {{'width', 'height'}}}}, got {sizes!r:.80}", file)
    return sizes
