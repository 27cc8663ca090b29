"""A data set as one file of arrays that is mapped into memory.

Facts, names and labels are arrays; predicates, targets and notes are in the header. An array that the data set uses
twice (the training facts are in the base and in the splits) is written once, and shared again when it is opened.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..logic.predicate import Predicate, Symbol
from .array_file import damaged, open_arrays, write_arrays
from .arrays import Doubles, Ids, Longs
from .arrow import string_array, string_parts
from .dataset import Dataset
from .facts import NO_OBJECT, Facts, Splits
from .kb import KnowledgeBase
from .vocabulary import LabelTable, Vocabulary
from .wide import Wide

COLUMNS = ("predicate", "subject", "object", "weight")
PLAIN_SPLITS = ("train", "valid", "test")
ARRAYS_OF_BASE = ("graph_of", "boxes", "graph_sizes")
STORED_FIELDS = frozenset(
    (
        "entities",
        "predicates",
        "facts",
        "classes",
        "geometry",
        "entity_labels",
        "predicate_labels",
        "graph_names",
        "prefixes",
        "wide",
    )
) | frozenset(ARRAYS_OF_BASE)
"""All fields of KnowledgeBase. A new one must be written and read here."""


def write_dataset(path: Path, dataset: Dataset, about: Mapping[str, Any]) -> None:
    """Write a `dataset` atomically to `path`, with the description `about` as JSON.

    Planted rules are not stored: data sets that have them are generated.
    """
    kb, splits = dataset.kb, dataset.splits
    assert {field.name for field in fields(KnowledgeBase)} == STORED_FIELDS, "a field of KnowledgeBase is not stored"
    file = _Writer()
    facts = {"base": kb.facts} | {split: splits[split] for split in PLAIN_SPLITS}
    facts |= {f"negatives {split}": found for split, found in splits.negatives.items()}
    facts |= {f"context {split}": found for split, found in splits.context.items()}
    places = {name: file.facts(f"facts {name}", found) for name, found in facts.items()}
    file.names("entities", kb.entities)
    if kb.graph_names is not None:
        file.names("graph names", kb.graph_names)
    if kb.entity_labels:
        labels = kb.entity_labels
        names = labels.names if isinstance(labels, LabelTable) else Vocabulary(labels)
        file.names("labels", names)
        file.strings("label texts", labels.texts if isinstance(labels, LabelTable) else string_array(labels.values()))
    for name in ARRAYS_OF_BASE:
        if (array := getattr(kb, name)) is not None:
            file.add(name, array)
    for place, (ids, values) in enumerate(dataset.numbers.values()):
        file.add(f"numbers {place} entities", ids)
        file.add(f"numbers {place} values", values)
    wide = {"train": kb.wide, **splits.wide}
    content = {
        "about": dict(about),
        "wide": {split: file.wide(f"wide {split}", tables) for split, tables in wide.items()},
        "facts": places,
        "predicates": _plain(kb.predicates),
        "predicate labels": dict(kb.predicate_labels),
        "prefixes": dict(kb.prefixes),
        "numbers": list(dataset.numbers),
        "classes": sorted(kb.classes),
        "geometry": sorted(kb.geometry),
        "targets": _plain(dataset.targets),
        "checksum": dataset.checksum,
        "notes": list(dataset.notes),
    }
    write_arrays(path, content, file.arrays)


def open_dataset(path: Path, name: str) -> tuple[Dataset, dict[str, Any]]:
    """Return the data set that `write_dataset` wrote to `path`, under the name `name`, and its description.

    Raises DataError if the file is damaged, of another version, or contains invalid ids.
    """
    content, arrays = open_arrays(path)
    file = _Reader(path, arrays)
    try:
        return _dataset(file, content, name), content["about"]
    except (KeyError, TypeError, ValueError, IndexError, pa.ArrowException) as error:
        raise damaged(path, f"{type(error).__name__}: {error}") from error


def _dataset(file: _Reader, content: dict[str, Any], name: str) -> Dataset:
    predicates = _predicates(content["predicates"])
    entities = file.names("entities", "entity")
    limits = (len(predicates), len(entities), len(entities))
    facts = {key: file.facts(place, limits) for key, place in content["facts"].items()}
    ids = {key: frozenset(file.numbers(content[key], len(predicates))) for key in ("classes", "geometry")}
    graphs = file.names("graph names", "image") if "graph names offsets" in file.arrays else None
    labels: Mapping[str, str] = {}
    if "labels offsets" in file.arrays:
        names, texts = file.names("labels", "label"), file.strings("label texts")
        file.expect(len(names) == len(texts), f"{len(names)} names have {len(texts)} labels")
        labels = LabelTable(names, texts)
    wide = {split: file.wide(tables, len(entities)) for split, tables in content["wide"].items()}
    kb = KnowledgeBase(
        entities,
        predicates,
        facts["base"],
        wide=wide.pop("train"),
        classes=ids["classes"],
        geometry=ids["geometry"],
        entity_labels=labels,
        predicate_labels=content["predicate labels"],
        prefixes=content["prefixes"],
        graph_names=graphs,
        **{key: file.arrays.get(key) for key in ARRAYS_OF_BASE},
    )
    if kb.graph_of is not None:
        file.expect(kb.graph_of.shape == (len(entities),) and kb.graph_of.min(initial=0) >= 0, "graph_of")
        for each in (kb.graph_names, kb.graph_sizes):
            file.expect(each is None or len(each) >= kb.num_graphs, "graphs without a name or a size")
    negatives, context = (_parts(facts, f"{kind} ") for kind in ("negatives", "context"))
    splits = Splits(facts["train"], facts["valid"], facts["test"], negatives, context, wide)
    numbers = {column: file.numbers_of(place, len(entities)) for place, column in enumerate(content["numbers"])}
    targets, notes = _predicates(content["targets"]), tuple(content["notes"])
    return Dataset(name, kb, splits, targets, content["checksum"], (), notes, numbers)


def _parts(facts: Mapping[str, Facts], begin: str) -> dict[str, Facts]:
    return {key.removeprefix(begin): found for key, found in facts.items() if key.startswith(begin)}


def _plain(predicates: Sequence[Predicate]) -> list[tuple[str, bool]]:
    return [(predicate.name, predicate.arity == 2) for predicate in predicates]


def _predicates(plain: list[tuple[str, bool]]) -> tuple[Predicate, ...]:
    return tuple(Predicate(name, 2 if is_binary else 1) for name, is_binary in plain)


class _Writer:
    """Collects arrays, each once."""

    def __init__(self) -> None:
        self.arrays: dict[str, np.ndarray] = {}
        self._name_of: dict[int, str] = {}

    def add(self, name: str, array: np.ndarray) -> str:
        """Add an array as `name`; return its name in the file, which is another one if it was added before."""
        known = self._name_of.setdefault(id(array), name)
        self.arrays[known] = array
        return known

    def facts(self, name: str, facts: Facts) -> list[str | None]:
        columns = [getattr(facts, column) for column in COLUMNS]
        return [None if a is None else self.add(f"{name} {c}", a) for c, a in zip(COLUMNS, columns)]

    def wide(self, name: str, wide: Wide) -> list[tuple[str, int, str]]:
        return [(symbol.name, symbol.arity, self.add(f"{name} {symbol}", rows)) for symbol, rows in wide.items()]

    def strings(self, name: str, strings: pa.Array) -> None:
        offsets, text = string_parts(strings)
        self.add(f"{name} offsets", offsets)
        self.add(f"{name} text", text)

    def names(self, name: str, names: Vocabulary) -> None:
        self.strings(name, names.array)
        self.add(f"{name} order", names.order)


class _Reader:
    """Returns arrays after checking what compiled loops rely on."""

    def __init__(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        self.path, self.arrays = path, arrays

    def expect(self, fine: bool | np.bool_, otherwise: str) -> None:
        if not fine:
            raise damaged(self.path, otherwise)

    def numbers(self, values: list[int], limit: int) -> list[int]:
        self.expect(all(0 <= value < limit for value in values), "ids of predicates")
        return values

    def facts(self, places: list[str | None], limits: tuple[int, int, int]) -> Facts:
        predicate, subject, object = (self.arrays[str(place)] for place in places[:3])
        for name, column, least, limit in zip(COLUMNS, (predicate, subject, object), (0, 0, NO_OBJECT), limits):
            self.expect(column.dtype == np.int32 and column.shape == (predicate.size,), f"{name} of facts")
            inside = not len(column) or (column.min() >= least and column.max() < limit)
            self.expect(inside, f"{name} of facts outside {least} .. {limit - 1}")
        weight = None if places[3] is None else self.arrays[places[3]]
        if weight is not None:
            self.expect(weight.dtype == np.float32 and weight.shape == predicate.shape, "weights of facts")
            self.expect(not len(weight) or (weight.min() >= 0 and weight.max() <= 1), "weights outside [0, 1]")
        return Facts(predicate, subject, object, weight)

    def wide(self, tables: list[tuple[str, int, str]], num_entities: int) -> Wide:
        wide: dict[Symbol, Ids] = {}
        for name, arity, place in tables:
            rows = self.arrays[place]
            fine = arity > 2 and rows.dtype == np.int32 and rows.ndim == 2 and rows.shape[1] == arity
            inside = fine and rows.size > 0 and rows.min() >= 0 and rows.max() < num_entities
            self.expect(inside, f"facts of {name}/{arity}")
            wide[Symbol(str(name), arity)] = rows
        return wide

    def numbers_of(self, place: int, num_entities: int) -> tuple[Ids, Doubles]:
        ids, values = (self.arrays[f"numbers {place} {part}"] for part in ("entities", "values"))
        fine = ids.dtype == np.int32 and values.dtype == np.float64 and ids.shape == values.shape == (ids.size,)
        self.expect(fine and (not ids.size or (ids.min() >= 0 and ids.max() < num_entities)), "numbers of entities")
        return ids, values

    def strings(self, name: str) -> pa.Array:
        offsets: Longs = self.arrays[f"{name} offsets"]
        text = self.arrays[f"{name} text"]
        fine = offsets.dtype == np.int64 and offsets.ndim == 1 and len(offsets) > 0 and text.dtype == np.uint8
        self.expect(fine and offsets[0] == 0 and offsets[-1] == text.size, name)
        buffers = [None, pa.py_buffer(offsets), pa.py_buffer(text)]
        strings = pa.Array.from_buffers(pa.large_string(), len(offsets) - 1, buffers)
        strings.validate(full=True)  # offsets ascend, the text is UTF-8
        return strings

    def names(self, name: str, kind: str) -> Vocabulary:
        strings, order = self.strings(name), self.arrays[f"{name} order"]
        self.expect(order.dtype == np.int32 and order.shape == (len(strings),), f"order of {name}")
        self.expect(not len(order) or (order.min() >= 0 and order.max() < len(order)), f"order of {name}")
        return Vocabulary(strings, kind, order)
