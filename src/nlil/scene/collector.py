"""Make facts from images. Every reader converts its format to the structure of GQA, image by image:

    {"width", "height", "objects": {id: {"name", "x", "y", "w", "h", "attributes": [text], "relations":
                                         [{"name", "object": id}]}}}

The name of an object is its class (the exclusive group), attributes are unary predicates, relations are binary; each
image is a separate graph. An attribute with the name of a class would reveal the class that a query hides, and names
are never changed, so such facts are left out and counted in a note.

`where` says in errors where a value is in the data; `thing` is a JSON object, `key` a key of it.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..data.arrays import Floats, Ids
from ..data.facts import NO_OBJECT, Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..errors import DataError
from ..logic.predicate import Predicate

BOX, SIZE = ("x", "y", "w", "h"), ("width", "height")
MAX_PIXELS = 1e9
"""Limit of a coordinate; no image is larger."""
CLASS, ATTRIBUTE, RELATION = 0, 1, 2


@dataclass
class SceneCollector:
    """Collects objects, classes, attributes and relations by number, image by image; `finish` assigns ids.

    Attributes:
        objects: the names of the objects.
        images: the names of the images, with the number of each graph.
        graph_of: the number of the graph of each object.
        split_of_graph: the split of each graph.
        names: the numbers of classes, attributes and relations, by kind and name.
        rows: facts as name, subject, object, in one flat array.
        boxes: x, y, w, h of each object, NaN if unknown.
        sizes: width, height of each image, NaN if unknown.
    """

    objects: list[str] = field(default_factory=list)
    images: dict[str, int] = field(default_factory=dict)
    graph_of: array[int] = field(default_factory=lambda: array("i"))
    split_of_graph: list[str] = field(default_factory=list)
    names: dict[tuple[int, str], int] = field(default_factory=dict)
    rows: array[int] = field(default_factory=lambda: array("i"))
    boxes: array[float] = field(default_factory=lambda: array("f"))
    sizes: array[float] = field(default_factory=lambda: array("f"))

    def add(self, image: str, graph: Any, split: str) -> None:
        """Add one `image`, whose objects and relations are in `graph`, to a `split`.

        Raises DataError if it does not have the structure of GQA.
        """
        if image in self.images:
            raise DataError(f"image {image!r}: expected each image once, got it again")
        objects = graph.get("objects") if isinstance(graph, Mapping) else None
        check(isinstance(objects, Mapping), f"image {image!r}", "{'objects': {id: object}}", graph)
        assert isinstance(objects, Mapping)
        start = len(self.objects)
        number = {id: start + i for i, id in enumerate(objects)}
        for id, thing in objects.items():
            where = f"image {image!r}, object {id!r}"
            self._row(CLASS, text(thing, "name", where), number[id])
            self.boxes.extend(numbers(thing, BOX, where))
            for attribute in items(thing, "attributes", where):
                self._row(ATTRIBUTE, text({"attribute": attribute}, "attribute", where), number[id])
            for relation in items(thing, "relations", where):
                other = text(relation, "object", where)
                check(other in number, where, "a relation to an object of the same image", other)
                self._row(RELATION, text(relation, "name", where), number[id], number[other])
        self.objects += map(str, objects)
        self.graph_of.extend([len(self.images)] * len(objects))
        self.images[image] = len(self.images)
        self.split_of_graph.append(split)
        self.sizes.extend(numbers(graph, SIZE, f"image {image!r}"))

    def _row(self, kind: int, name: str, subject: int, object: int = NO_OBJECT) -> None:
        self.rows.extend((self.names.setdefault((kind, name), len(self.names)), subject, object))

    def finish(self) -> tuple[KnowledgeBase, Splits, tuple[str, ...]]:
        """Return the base of training facts, the splits (class facts and context), and notes."""
        columns = np.frombuffer(self.rows, np.int32).reshape(-1, 3) if self.rows else np.zeros((0, 3), np.int32)
        graph_of = np.asarray(self.graph_of, np.int32)
        predicates, table, classes, clashing = self._predicates()
        kept = columns[table[columns[:, 0]] >= 0]
        facts = Facts(table[kept[:, 0]], kept[:, 1].copy(), kept[:, 2].copy()).unique()
        notes = self._notes(len(columns) - len(kept), clashing)
        parts = self._context(facts, graph_of)
        is_class = {split: np.isin(part.predicate, list(classes)) for split, part in parts.items()}
        queries = {split: part[is_class[split]] for split, part in parts.items()}
        train = parts.get("train", Facts.empty())
        kb = KnowledgeBase(
            Vocabulary(self._entity_names()),
            predicates,
            train,
            graph_of,
            classes,
            boxes=_table(self.boxes, len(BOX)),
            graph_sizes=_table(self.sizes, len(SIZE)),
            graph_names=Vocabulary(self.images, "image"),
        )
        empty = Facts.empty()
        splits = Splits(train, queries.get("valid", empty), queries.get("test", empty), context=parts)
        return kb, splits, notes

    def _predicates(self) -> tuple[tuple[Predicate, ...], Ids, frozenset[int], list[str]]:
        """Sorted predicates; a table from name numbers to their ids (-1: left out); class ids; clashing names."""
        clashing = sorted(name for kind, name in self.names if kind == ATTRIBUTE and (CLASS, name) in self.names)
        wanted = {
            key: Predicate(key[1], 2 if key[0] == RELATION else 1)
            for key in self.names
            if key[0] != ATTRIBUTE or (CLASS, key[1]) not in self.names
        }
        predicates = tuple(sorted(wanted.values()))
        ids = {predicate: i for i, predicate in enumerate(predicates)}
        table = np.array([ids[wanted[key]] if key in wanted else -1 for key in self.names], np.int32)
        classes = frozenset(ids[predicate] for key, predicate in wanted.items() if key[0] == CLASS)
        return predicates, table, classes, clashing

    def _context(self, facts: Facts, graph_of: Ids) -> dict[str, Facts]:
        splits = list(dict.fromkeys(self.split_of_graph))
        code = np.asarray([splits.index(split) for split in self.split_of_graph], np.int32)
        owner = code[graph_of[facts.subject]]
        return {split: facts[owner == i] for i, split in enumerate(splits)}

    def _entity_names(self) -> list[str]:
        """Return the ids of objects, or image/id for all if ids repeat in different images."""
        if len(set(self.objects)) == len(self.objects):
            return self.objects
        images = list(self.images)
        return [f"{images[graph]}/{id}" for graph, id in zip(self.graph_of, self.objects, strict=True)]

    def _notes(self, num_dropped: int, clashing: list[str]) -> tuple[str, ...]:
        notes = []
        if num_dropped:
            named = ", ".join(clashing[:8]) + (", ..." if len(clashing) > 8 else "")
            notes.append(f"{num_dropped} attribute fact(s) are left out because a class has the same name: {named}")
        if len(set(self.objects)) != len(self.objects):
            notes.append("object ids repeat in different images, so objects are named image/id")
        return tuple(notes)


def _table(numbers: array[float], width: int) -> Floats | None:
    """Return the numbers as rows; None if all are unknown."""
    rows = np.asarray(numbers, np.float32).reshape(-1, width)
    return None if np.isnan(rows).all() else rows


# values in the JSON of an image: of the expected type, or a DataError; `where` names the image or object


def check(holds: bool, where: str, expected: str, got: Any) -> None:
    """Raise DataError unless the condition `holds`: what was `expected`, and what the data has instead, `got`."""
    if not holds:
        raise DataError(f"{where}: expected {expected}, got {got!r:.80}")


def text(thing: Any, key: str, where: str) -> str:
    """Return the text under a key, which must not be empty."""
    value: Any = thing.get(key) if isinstance(thing, Mapping) else thing
    check(isinstance(thing, Mapping) and isinstance(value, str) and value != "", where, f"text under {key!r}", value)
    return value


def items(thing: Any, key: str, where: str) -> list[Any]:
    """Return the list under a key; an empty one if the key is missing."""
    value = thing.get(key, []) if isinstance(thing, Mapping) else thing
    check(isinstance(thing, Mapping) and isinstance(value, list), where, f"a list under {key!r}", value)
    return value


def numbers(thing: Mapping[str, Any], keys: tuple[str, ...], where: str) -> list[float]:
    """Return the numbers under the `keys`; NaN if one is null or missing."""
    return [float("nan") if thing.get(key) is None else as_number(thing[key], key, where) for key in keys]


def as_number(value: Any, key: str, where: str) -> float:
    """Return `value`, a number in the range of coordinates; booleans are not numbers here."""
    is_number = type(value) in (int, float) and -MAX_PIXELS < value < MAX_PIXELS
    check(is_number, where, f"a number under {key!r}", value)
    return float(value)
