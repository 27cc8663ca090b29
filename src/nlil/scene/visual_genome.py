"""Visual Genome in its own two formats: `scene_graphs.json` and `relationships.json`, each a list of images.

    {"image_id", "width"?, "height"?, "objects"?: [OBJECT], "attributes"?: [OBJECT with "attributes"],
     "relationships": [{"predicate", "subject": OBJECT, "object": OBJECT} or {..., "subject_id", "object_id"}]}
    OBJECT: {"object_id", "x", "y", "w", "h", "names": [text] or "name": text, "attributes"?: [text] or null}

What its annotators left open is decided here and counted in notes:
- Names, predicates and attributes were typed freely (`ON`, `on`, `on `): all are put in lower case, with single
  spaces. This is the one place of nlil that rewrites names; `on` and `on a` stay two predicates.
- An object with several names has the class of the first; the others would tell its class and are passed over.
- An object without a name and a relation without a predicate are passed over.
- An image without an image_id is named by its place in the file (`image_50`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from ..errors import DataError
from .json_files import elements
from .values import BOX, SIZE, Reading, items

EXPECTED = "[{'image_id', 'relationships', 'objects'?}]"


def visual_genome_images(path: Path, reading: Reading) -> Iterator[tuple[str, Any]]:
    """Each image in GQA's structure."""
    for place, image in enumerate(elements(path, "item", EXPECTED), start=1):
        if not isinstance(image, Mapping):
            raise DataError(f"image {place} of the list: expected {{'image_id', 'relationships'}}, got {image!r:.80}")
        id = image.get("image_id")
        if id is None:
            id = f"image_{place}"
            reading.passed["image(s) without image_id, named by their place in the file"] += 1
        graph = _Graph(reading, f"image {str(id)!r}")
        for thing in items(image, "objects", graph.where):
            graph.object(thing)
        for thing in items(image, "attributes", graph.where):
            graph.object(thing)
        for relation in items(image, "relationships", graph.where):
            graph.relation(relation)
        yield str(id), {**{key: image.get(key) for key in SIZE}, "objects": graph.objects}


class _Graph:
    """The objects of one image by their ids; what is said of an object a second time only adds attributes."""

    def __init__(self, reading: Reading, where: str) -> None:
        self.reading, self.where = reading, where
        self.objects: dict[str, dict[str, Any]] = {}
        self._nameless: set[str] = set()
        self._said: set[tuple[str, str, str]] = set()

    def object(self, thing: Any) -> str | None:
        """The id of an object, known from now on; None where it has no name."""
        if not isinstance(thing, Mapping) or thing.get("object_id") is None:
            raise DataError(f"{self.where}: expected an object with 'object_id', got {thing!r:.80}")
        id = str(thing["object_id"])
        if id not in self.objects:
            names = thing["names"] if "names" in thing else [thing.get("name")]
            if not isinstance(names, list) or not all(isinstance(name, str | None) for name in names):
                raise DataError(
                    f"{self.where}, object {id!r}: expected text under 'name' or a list under 'names', "
                    f"got {names!r:.80}"
                )
            name = self._plain(names[0] or "") if names else ""
            if not name:
                self.reading.passed["object(s) without a name passed over"] += id not in self._nameless
                self._nameless.add(id)
                return None
            if len(names) > 1:
                self.reading.passed["object(s) with several names, of which the first is the class"] += 1
            self.objects[id] = {"name": name, **{key: thing.get(key) for key in BOX}, "attributes": [], "relations": []}
        self._attributes(self.objects[id]["attributes"], thing)
        return id

    def _attributes(self, known: list[str], thing: Mapping[str, Any]) -> None:
        for attribute in items({"attributes": thing.get("attributes") or []}, "attributes", self.where):
            if not isinstance(attribute, str):
                raise DataError(f"{self.where}: expected text as an attribute, got {attribute!r:.80}")
            plain = self._plain(attribute)
            if plain and plain not in known:
                known.append(plain)

    def relation(self, relation: Any) -> None:
        if not isinstance(relation, Mapping) or not isinstance(relation.get("predicate"), str):
            raise DataError(f"{self.where}: expected a relation with text under 'predicate', got {relation!r:.80}")
        name = self._plain(relation["predicate"])
        subject, other = self._end(relation, "subject"), self._end(relation, "object")
        if not name:
            self.reading.passed["relation(s) without a predicate passed over"] += 1
        elif subject is None or other is None:
            self.reading.passed["relation(s) of an object without a name passed over"] += 1
        elif (subject, name, other) in self._said:
            self.reading.passed["repeated relation(s) passed over"] += 1
        else:
            self._said.add((subject, name, other))
            self.objects[subject]["relations"].append({"name": name, "object": other})

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
            self.reading.passed["name(s) put in lower case with single spaces"] += 1
        return plain
