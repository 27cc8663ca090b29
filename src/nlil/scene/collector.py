"""One image becomes facts. Every reader brings its format to GQA's structure, image by image:

    {"width", "height", "objects": {id: {"name", "x", "y", "w", "h", "attributes": [text], "relations":
                                         [{"name", "object": id}]}}}

An object's name is its class (the exclusive group), attributes are unary predicates, relations binary;
each image is a graph of its own. An attribute fact whose name is also a class would tell the class that a
query hides, and names are never rewritten: such facts are left out and counted in a note.

`where` says in errors where in the data a value stands; `thing` is a JSON object, `key` a name in it.
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
"""No image is larger, and a coordinate beyond it would not fit the arrays."""
CLASS, ATTRIBUTE, RELATION = 0, 1, 2


@dataclass
class SceneCollector:
    """Objects, classes, attributes and relations by number, image after image; `finish` names and sorts them.

    Attributes:
        objects: names.
        images: names, with the number of each graph.
        graph_of: of each object, the number of its graph.
        split_of_graph: of each graph, its split.
        names: of classes, attributes and relations, by arity.
        rows: facts, as name, subject, object one after the other.
        boxes: x, y, w, h of each object, NaN where unknown.
        sizes: width, height of each image, NaN where unknown.
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
        """Take one `image`, whose objects and relations are in `graph`, into a `split`.

        Raises DataError where its structure is not GQA's.
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
        """The training facts, the splits (class facts, and context), notes."""
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
        """Object ids; where ids repeat from image to image, image/id throughout."""
        if len(set(self.objects)) == len(self.objects):
            return self.objects
        images = list(self.images)
        return [f"{images[graph]}/{id}" for graph, id in zip(self.graph_of, self.objects, strict=True)]

    def _notes(self, num_dropped: int, clashing: list[str]) -> tuple[str, ...]:
        notes = []
        if num_dropped:
            named = ", ".join(clashing[:8]) + (", ..." if len(clashing) > 8 else "")
            notes.append(f"{num_dropped} attribute fact(s) left out because a class has the same name: {named}")
        if len(set(self.objects)) != len(self.objects):
            notes.append("object ids repeat from image to image, so objects are named image/id")
        return tuple(notes)


def _table(numbers: array[float], width: int) -> Floats | None:
    """The numbers by rows; none at all where nothing is known."""
    rows = np.asarray(numbers, np.float32).reshape(-1, width)
    return None if np.isnan(rows).all() else rows


# values inside the JSON of an image: each of the expected kind, or a clear sentence; `where` names image or object


def check(holds: bool, where: str, expected: str, got: Any) -> None:
    """Refuse what the data has at a place, `got`, unless it `holds` that it is what was `expected`."""
    if not holds:
        raise DataError(f"{where}: expected {expected}, got {got!r:.80}")


def text(thing: Any, key: str, where: str) -> str:
    """Return the text under a key; it may not be empty."""
    value: Any = thing.get(key) if isinstance(thing, Mapping) else thing
    check(isinstance(thing, Mapping) and isinstance(value, str) and value != "", where, f"text under {key!r}", value)
    return value


def items(thing: Any, key: str, where: str) -> list[Any]:
    """Return the list under a key; absent is empty."""
    value = thing.get(key, []) if isinstance(thing, Mapping) else thing
    check(isinstance(thing, Mapping) and isinstance(value, list), where, f"a list under {key!r}", value)
    return value


def numbers(thing: Mapping[str, Any], keys: tuple[str, ...], where: str) -> list[float]:
    """Return the numbers under the `keys`; null or absent is NaN."""
    return [float("nan") if thing.get(key) is None else as_number(thing[key], key, where) for key in keys]


def as_number(value: Any, key: str, where: str) -> float:
    """Return `value`, a number that a pixel may have; true is no number, though Python says so."""
    is_number = type(value) in (int, float) and -MAX_PIXELS < value < MAX_PIXELS
    check(is_number, where, f"a number under {key!r}", value)
    return float(value)
