"""Readers of scene graphs: the format of each file, the split of each file of a folder, and the formats.

The common form (that of GQA) is recognised by its file name, the original files of Visual Genome, VRD and HICO-DET by
their beginning. Every reader streams its file and yields the structure of GQA (collector.py), image by image, so a file
is never in memory as a whole.

`reading` collects what a reader skips; a reader yields (name of the image, its graph in the structure of GQA).
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from ..data.facts import Splits
from ..data.files import lines, present, readable, stem, stem_of_gzip
from ..data.kb import KnowledgeBase
from ..data.limits import ShallowJson
from ..errors import DataError, in_file, require
from .canvas import Box
from .collector import BOX, SIZE, SceneCollector, as_number, check, items

FILE_MARK = "_sceneGraphs.json"
SPLITS = {"train": "train", "val": "valid", "valid": "valid", "test": "test"}
"""Beginning of the file name -> split."""

ORIGINALS: tuple[Mapping[str, str], ...] = (
    {"scene_graphs": "train"},
    {"relationships": "train"},
    {"annotations_train": "train", "annotations_val": "valid", "annotations_test": "test"},
    {r"instances_train\d*|hico-det-train.*": "train", r"instances_test\d*|hico-det-test.*": "test"},
)
"""Original files that belong together: name without ending -> split. The first group with a training file is read."""

Name = TypeVar("Name")
Images = Iterator[tuple[str, Any]]
"""(name of an image, its graph in the structure of GQA)."""


@dataclass(frozen=True)
class ReaderState:
    """Shared by the files of one data set: `ids` for objects without ids, and counts of what was `skipped`."""

    ids: Iterator[int] = field(default_factory=lambda: count(1))
    skipped: Counter[str] = field(default_factory=Counter)

    def notes(self) -> tuple[str, ...]:
        """Return what was skipped, one sentence each."""
        return tuple(f"{number:,} {what}" for what, number in self.skipped.items())


def read_scenes(paths: Mapping[str, Path]) -> tuple[KnowledgeBase, Splits, tuple[str, ...]]:
    """Read scene graphs from `paths`, split -> file.

    Returns the base of the training graphs, the splits with their context, and notes.
    """
    collector, reading = SceneCollector(), ReaderState()
    for split, path in paths.items():
        with in_file(path):
            for image, graph in format_of(path)(path, reading):
                collector.add(image, graph, split)
    kb, splits, notes = collector.finish()
    return kb, splits, (*reading.notes(), *notes)


def common_files(files: list[Path]) -> dict[str, Path]:
    """Return split -> file of the common form among `files`, or nothing.

    `val` is the validation split if there is a test split, otherwise the test split.

    >>> sorted(common_files([Path("train_sceneGraphs.json"), Path("val_sceneGraphs.json")]))
    ['test', 'train']
    """
    scenes = [file for file in files if stem_of_gzip(file).endswith(FILE_MARK)]
    got = f"got {', '.join(file.name for file in scenes)}"
    splits: dict[str, Path] = {}
    for file in scenes:
        split = SPLITS.get(stem_of_gzip(file).removesuffix(FILE_MARK))
        if split is None or split in splits:
            raise DataError(f"expected one each of train{FILE_MARK}, val{FILE_MARK}, test{FILE_MARK}, {got}", file)
        splits[split] = file
    if "valid" in splits and "test" not in splits:
        splits["test"] = splits.pop("valid")
    if splits and "train" not in splits:
        raise DataError(f"expected train{FILE_MARK}, {got}")
    return _in_order(splits)


def original_files(files: list[Path]) -> dict[str, Path]:
    """Return split -> file of the first group of original files among `files` that has a training file, or nothing."""
    for group in ORIGINALS:
        found: dict[str, Path] = {}
        for pattern, split in group.items():
            for file in files:
                if re.fullmatch(rf"(?:{pattern})\.json", stem_of_gzip(file)):
                    if split in found:
                        raise DataError(
                            f"expected one original for {split}, got {found[split].name} and {file.name}", file.parent
                        )
                    found[split] = file
        if "train" in found:
            return _in_order(found)
    return {}


def files_beside(path: Path) -> list[Path]:
    """Return the files next to the original annotations at `path` that define its numbers."""
    names = ("objects.json", "predicates.json", HOI_LIST, _sizes_name(path))
    return [file for file in (present(path.parent, name) for name in names) if file is not None]


def _in_order(splits: Mapping[str, Path]) -> dict[str, Path]:
    return {split: splits[split] for split in ("train", "valid", "test") if split in splits}


def format_of(path: Path) -> Callable[[Path, ReaderState], Images]:
    """Return the reader of a file; that of the common form if it does not begin like an original file."""
    if stem_of_gzip(path).endswith(FILE_MARK):
        return gqa_images
    events = _parsed(path, None, "basic_parse")
    if next(events, ("", None))[0] == "start_array":
        return visual_genome_images
    event, key = next(events, ("", None))
    if event != "map_key":
        return gqa_images
    event, _ = next(events, ("", None))
    if event == "start_array":
        return parallel_hico_images if key in HICO_LISTS else vrd_images
    return hico_images if event == "start_map" and "labels" in _keys(events) else gqa_images


def _keys(events: Iterator[tuple[str, Any]]) -> Iterator[str]:
    """Yield the keys of the object whose beginning was just read, without nested ones."""
    depth = 1
    for event, value in events:
        depth += event.startswith("start_") - event.startswith("end_")
        if depth == 0:
            return
        if depth == 1 and event == "map_key":
            yield value


# streaming JSON -----------------------------------------------------------------------------------------


def _parsed(path: Path, expected: str | None, method: str, *place: str) -> Iterator[Any]:
    """Yield what a method of ijson yields. `expected` is for the error; None: ignore damaged JSON."""
    ijson = require("ijson", "scene", "reading scene graphs")
    with readable(path) as stream:
        try:
            yield from getattr(ijson, method)(ShallowJson(stream, path), *place, use_float=True)
        except (ijson.JSONError, ValueError) as error:  # the latter: bytes that are not text, too long numbers
            if expected is None:
                return
            reason = " ".join(str(error).split())
            raise DataError(f"expected JSON {expected}, got: {reason:.160}", path) from error


def _members(path: Path, expected: str) -> Images:
    """Yield the items (key, value) of the object in the file."""
    return _parsed(path, expected, "kvitems", "")


def _elements(path: Path, place: str, expected: str) -> Iterator[Any]:
    """Yield the values at a path such as `item` (of a list) or `annotation.item`; "" is the whole file."""
    return _parsed(path, expected, "items", place)


def _box(value: Any, key: str, where: str) -> Box:
    """Return a list of four numbers as a box."""
    check(isinstance(value, list) and len(value) == 4, where, f"four numbers under {key!r}", value)
    a, b, c, d = (as_number(v, key, where) for v in value)
    return a, b, c, d


def _name_at(names: list[Name], index: Any, key: str, where: str) -> Name:
    """Return the name with this index."""
    is_number = type(index) is int and 0 <= index < len(names)  # a boolean is an int too
    check(is_number, where, f"a number from 0 to {len(names) - 1} under {key!r}", index)
    return names[index]


class _Image:
    """The objects of one image in the structure of GQA; each relation is listed once."""

    def __init__(self, reading: ReaderState, name: Any) -> None:
        self.reading, self.where = reading, f"image {name!r}"
        self.objects: dict[str, dict[str, Any]] = {}
        self._related: set[tuple[str, str, str]] = set()

    def graph(self, size: Mapping[str, Any]) -> dict[str, Any]:
        """Return the image in the structure of GQA; `size` may have its width and height."""
        return {**{key: size.get(key) for key in SIZE}, "objects": self.objects}

    def skip(self, what: str) -> None:
        self.reading.skipped[what] += 1

    def new_object(self, name: str, left: float, top: float, right: float, bottom: float) -> str:
        """Add an object without an id; return its new id."""
        id = str(next(self.reading.ids))
        box = dict(zip(BOX, (left, top, right - left, bottom - top)))
        self.objects[id] = {"name": name, **box, "attributes": [], "relations": []}
        return id

    def relate(self, subject: str, name: str, object: str) -> bool:
        """Add a relation; return False if it is already there."""
        is_new = (subject, name, object) not in self._related
        if is_new:
            self._related.add((subject, name, object))
            self.objects[subject]["relations"].append({"name": name, "object": object})
        return is_new


# GQA ----------------------------------------------------------------------------------------------------


def gqa_images(path: Path, reading: ReaderState) -> Images:
    """Yield the images of the common form, unchanged."""
    return _members(path, "{image: {'objects': ...}}")


# Visual Genome ------------------------------------------------------------------------------------------


def visual_genome_images(path: Path, reading: ReaderState) -> Images:
    """Yield the images of Visual Genome, from `scene_graphs.json` or `relationships.json`, each a list of images.

        {"image_id", "width"?, "height"?, "objects"?: [OBJECT], "attributes"?: [OBJECT with "attributes"],
         "relationships": [{"predicate", "subject": OBJECT, "object": OBJECT} or {..., "subject_id", "object_id"}]}
        OBJECT: {"object_id", "x", "y", "w", "h", "names": [text] or "name": text, "attributes"?: [text] or null}

    Irregular annotations are handled as follows, and counted in notes: - Names, predicates and attributes were typed
    freely (`ON`, `on`, `on `): all are converted to lower case with single
      spaces. This is the only place where nlil changes names; `on` and `on a` remain two predicates.
    - An object with several names has the class of the first; the others would reveal its class and are skipped.
    - An object without a name and a relation without a predicate are skipped.
    - An image without an image_id is named by its position in the file (`image_50`).
    """
    expected = "[{'image_id', 'relationships', 'objects'?}]"
    for place, given in enumerate(_elements(path, "item", expected), start=1):
        check(isinstance(given, Mapping), f"image {place} of the list", "{'image_id', 'relationships'}", given)
        id = given.get("image_id")
        name = f"image_{place}" if id is None else str(id)
        image = _VisualGenomeImage(reading, name)
        if id is None:
            image.skip("image(s) without image_id, named by their position in the file")
        for thing in (*items(given, "objects", image.where), *items(given, "attributes", image.where)):
            image.object(thing)
        for relation in items(given, "relationships", image.where):
            image.relation(relation)
        yield name, image.graph(given)


class _VisualGenomeImage(_Image):
    """An image whose objects have ids; an object that occurs again only adds attributes."""

    def __init__(self, reading: ReaderState, name: str) -> None:
        super().__init__(reading, name)
        self._nameless: set[str] = set()

    def object(self, thing: Any) -> str | None:
        """Add an object; return its id, or None if it has no name."""
        has_id = isinstance(thing, Mapping) and thing.get("object_id") is not None
        check(has_id, self.where, "an object with 'object_id'", thing)
        id = str(thing["object_id"])
        if id not in self.objects:
            names = thing["names"] if "names" in thing else [thing.get("name")]
            are_names = isinstance(names, list) and all(isinstance(name, str | None) for name in names)
            check(are_names, f"{self.where}, object {id!r}", "text under 'name' or a list under 'names'", names)
            name = self._plain(names[0] or "") if names else ""
            if not name:
                if id not in self._nameless:
                    self.skip("object(s) without a name skipped")
                self._nameless.add(id)
                return None
            if len(names) > 1:
                self.skip("object(s) with several names, of which the first is the class")
            self.objects[id] = {"name": name, **{key: thing.get(key) for key in BOX}, "attributes": [], "relations": []}
        known = self.objects[id]["attributes"]
        for attribute in items({"attributes": thing.get("attributes") or []}, "attributes", self.where):
            check(isinstance(attribute, str), self.where, "text as an attribute", attribute)
            plain = self._plain(attribute)
            if plain and plain not in known:
                known.append(plain)
        return id

    def relation(self, relation: Any) -> None:
        is_named = isinstance(relation, Mapping) and isinstance(relation.get("predicate"), str)
        check(is_named, self.where, "a relation with text under 'predicate'", relation)
        name = self._plain(relation["predicate"])
        subject, object = self._end(relation, "subject"), self._end(relation, "object")
        if not name:
            self.skip("relation(s) without a predicate skipped")
        elif subject is None or object is None:
            self.skip("relation(s) of an object without a name skipped")
        elif not self.relate(subject, name, object):
            self.skip("repeated relation(s) skipped")

    def _end(self, relation: Mapping[str, Any], role: str) -> str | None:
        if role in relation:
            return self.object(relation[role])
        id = str(relation.get(f"{role}_id"))
        if id in self._nameless:
            return None
        if id not in self.objects:
            raise DataError(f"{self.where}: expected a relation between objects of the image, got {role}_id {id}")
        return id

    def _plain(self, name: str) -> str:
        plain = " ".join(name.lower().split())
        if plain != name:
            self.skip("name(s) converted to lower case with single spaces")
        return plain


# VRD ----------------------------------------------------------------------------------------------------


def vrd_images(path: Path, reading: ReaderState) -> Images:
    """Yield the images of VRD as published (Lu 2016): relations between boxes that have no ids.

        annotations_SPLIT.json       {file name: [{"predicate": int, "subject": {"category": int, "bbox"}, "object"}]}
        objects.json, predicates.json     names by index, next to it
        SPLIT_image_metadata.json    {file name: {"width", "height"}}; optional

    A bbox is [ymin, ymax, xmin, xmax]. An object is one (class, box) of an image; relations that are repeated, or
    that relate an object to itself, are skipped and counted.
    """
    classes, predicates, sizes = _vrd_names(path, "objects.json"), _vrd_names(path, "predicates.json"), _vrd_sizes(path)
    for name, relations in _members(path, "{file name: [{'predicate', 'subject', 'object'}]}"):
        image = _VrdImage(reading, name, classes)
        for relation in items({"relations": relations}, "relations", image.where):
            check(isinstance(relation, Mapping), image.where, "{'predicate', 'subject', 'object'}", relation)
            predicate = _name_at(predicates, relation.get("predicate"), "predicate", image.where)
            subject, object = image.end(relation, "subject"), image.end(relation, "object")
            if subject == object:
                image.skip("relation(s) of an object to itself skipped")
            elif not image.relate(subject, predicate, object):
                image.skip("repeated relation(s) skipped")
        yield name, image.graph(sizes.get(name, {}))


class _VrdImage(_Image):
    """An image whose objects are identified by class and box."""

    def __init__(self, reading: ReaderState, name: str, classes: list[str]) -> None:
        super().__init__(reading, name)
        self._classes = classes
        self._id_of: dict[tuple[str, Box], str] = {}

    def end(self, relation: Mapping[str, Any], role: str) -> str:
        thing = relation.get(role)
        check(isinstance(thing, Mapping), self.where, f"{{'category', 'bbox'}} under {role!r}", thing)
        assert isinstance(thing, Mapping)
        name = _name_at(self._classes, thing.get("category"), "category", self.where)
        box = _box(thing.get("bbox"), "bbox", self.where)
        if (name, box) not in self._id_of:
            top, bottom, left, right = box
            self._id_of[name, box] = self.new_object(name, left, top, right, bottom)
        return self._id_of[name, box]


def _vrd_names(path: Path, name: str) -> list[str]:
    file = _beside(path, name, "each number")
    names = next(_elements(file, "", "list of names"))
    if not isinstance(names, list) or not all(isinstance(n, str) and n for n in names):
        raise DataError(f"expected a list of names, got {names!r:.80}", file)
    return names


def _beside(path: Path, name: str, numbers: str) -> Path:
    """Return the file `name` next to another one, in which it defines `numbers`."""
    file = present(path.parent, name)
    if file is None:
        raise DataError(f"expected {name} next to it, which says what {numbers} means, got none", path)
    return file


def _sizes_name(path: Path) -> str:
    return f"{stem(path).removeprefix('annotations_')}_image_metadata.json"


def _vrd_sizes(path: Path) -> Mapping[str, Mapping[str, Any]]:
    file = present(path.parent, _sizes_name(path))
    if file is None:
        return {}
    sizes = next(_elements(file, "", "{file name: {'width', 'height'}}"))
    if not isinstance(sizes, Mapping) or not all(isinstance(size, Mapping) for size in sizes.values()):
        raise DataError(f"expected {{file name: {{'width', 'height'}}}}, got {sizes!r:.80}", file)
    return sizes


# HICO-DET -----------------------------------------------------------------------------------------------
#
# Published in two layouts, both with pairs of a person's box and an object's box:
#
#     {file name: {"labels": [{"hoi_id": 1..600, "human_bbox", "object_bbox", "width", "height"}]}}
#                                         with hico_hoi_list.txt (hoi_id, object, verb) beside it
#     {"filenames": [...], "annotation": [{"boxes_h", "boxes_o", "hoi": [0..599]}], "size": [[width, height]],
#      "objects": [...], "verbs": [...], "correspondence": [[hoi, object, verb]]}          parallel lists
#
# A box is [x1, y1, x2, y2]. Every interaction was annotated separately, with new boxes; `_HicoImage` says how boxes
# become objects. `no_interaction` gives objects but no relation.

HOI_LIST = "hico_hoi_list.txt"
HICO_LISTS = frozenset(
    {"annotation", "filenames", "empty", "objects", "verbs", "correspondence", "size", "rare", "non_rare"}
)
PERSON, NO_INTERACTION = "person", "no_interaction"
MIN_IOU = 0.5


class Interaction(NamedTuple):
    """A `verb`, what a person does with an `object`."""

    object: str
    verb: str


def hico_images(path: Path, reading: ReaderState) -> Images:
    """Yield the images of HICO-DET in the layout by file name."""
    interactions = _listed(path)
    for name, entry in _members(path, "{file name: {'labels': [{'hoi_id', 'human_bbox', 'object_bbox'}]}}"):
        image = _HicoImage(reading, name)
        labels = items(entry, "labels", image.where)
        for label in labels:
            hoi: Any = label.get("hoi_id") if isinstance(label, Mapping) else None
            is_listed = isinstance(hoi, int) and hoi in interactions
            check(is_listed, image.where, f"a label with a hoi_id of {HOI_LIST}", label)
            image.pair(interactions[hoi], *(_box(label.get(k), k, image.where) for k in ("human_bbox", "object_bbox")))
        yield name, image.graph(labels[0] if labels else {})


def parallel_hico_images(path: Path, reading: ReaderState) -> Images:
    """Yield the images of HICO-DET in the layout of parallel lists.

    This takes several passes, since the lists may be in any order.
    """
    expected = "{'filenames': [...], 'annotation': [...]}"
    objects, verbs, triples, images, sizes = (
        list(_elements(path, f"{key}.item", expected))
        for key in ("objects", "verbs", "correspondence", "filenames", "size")
    )
    for key, names in (("objects", objects), ("verbs", verbs)):
        for name in names:
            check(isinstance(name, str), f"{key} of {path.name}", "names", name)
    interactions = [_named(triple, objects, verbs) for triple in triples]
    number = 0
    for number, annotation in enumerate(_elements(path, "annotation.item", expected), start=1):
        if number > min(len(images), len(sizes)):
            break
        image = _HicoImage(reading, images[number - 1])
        people, others, which = (items(annotation, key, image.where) for key in ("boxes_h", "boxes_o", "hoi"))
        if not len(people) == len(others) == len(which):
            raise DataError(
                f"{image.where}: expected as many boxes_h and boxes_o as hoi, got {len(people)}, "
                f"{len(others)} and {len(which)}"
            )
        for person, other, hoi in zip(people, others, which, strict=True):
            interaction = _name_at(interactions, hoi, "hoi", image.where)
            image.pair(interaction, _box(person, "boxes_h", image.where), _box(other, "boxes_o", image.where))
        size = sizes[number - 1]
        check(isinstance(size, list) and len(size) == len(SIZE), image.where, "[width, height] under 'size'", size)
        yield str(images[number - 1]), image.graph(dict(zip(SIZE, size)))
    if not number == len(images) == len(sizes):
        raise DataError(
            f"expected as many annotations as filenames and sizes, got {number}, {len(images)} and {len(sizes)}", path
        )


@dataclass
class _Drawn:
    """An object: its first box, and its box for each (interaction, role)."""

    id: str
    name: str
    box: Box
    drawn: dict[tuple[Interaction, str], Box] = field(default_factory=dict)


class _HicoImage(_Image):
    """Maps boxes to objects: a box belongs to the object of its class whose first box overlaps it most, with IoU >= .5.

    But two different boxes for the same interaction and role are two objects, since they were annotated together.
    """

    def __init__(self, reading: ReaderState, name: Any) -> None:
        super().__init__(reading, name)
        self._known: list[_Drawn] = []

    def pair(self, interaction: Interaction, person: Box, other: Box) -> None:
        subject = self._object(PERSON, person, (interaction, "person"))
        object = self._object(interaction.object, other, (interaction, "object"))
        if subject is object:
            self.skip("person-person pair(s) whose boxes are one person, skipped")
        elif interaction.verb == NO_INTERACTION:
            self.skip(f"{NO_INTERACTION} pair(s) that give objects but no relation")
        else:
            self.relate(subject.id, interaction.verb, object.id)

    def _object(self, name: str, box: Box, drawn_for: tuple[Interaction, str]) -> _Drawn:
        alike = [t for t in self._known if t.name == name and t.drawn.get(drawn_for, box) == box]
        best = max(alike, key=lambda thing: iou(thing.box, box), default=None)
        if best is None or iou(best.box, box) < MIN_IOU:
            best = _Drawn(self.new_object(name, *box), name, box)
            self._known.append(best)
        best.drawn[drawn_for] = box
        return best


def iou(one: Box, two: Box) -> float:
    """Return the area that two boxes, `one` and `two`, share, over the area that they cover.

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
    check(isinstance(triple, list) and len(triple) == 3, "correspondence", "[hoi, object, verb]", triple)
    return Interaction(
        _name_at(objects, triple[1], "correspondence", "object"), _name_at(verbs, triple[2], "correspondence", "verb")
    )


def _listed(path: Path) -> dict[int, Interaction]:
    """Read hico_hoi_list.txt: number, object and verb, separated by spaces."""
    file = _beside(path, HOI_LIST, "hoi_id")
    found: dict[int, Interaction] = {}
    for number, line in lines(file):
        words = line.split()
        if len(words) != 3 or not words[0].isdecimal() or len(words[0]) > 9:
            raise DataError(f"expected number, object and verb, got {line!r:.80}", file, number)
        found[int(words[0])] = Interaction(words[1], words[2])
    return found
