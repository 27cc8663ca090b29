"""Collects facts by name and turns them into a KnowledgeBase. Used where rows arrive one by one;
the columnar readers hand whole Arrow columns to `columns.py` instead."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..errors import DataError
from ..logic.predicate import Fact, Predicate
from .facts import NO_OBJECT, Facts
from .kb import KnowledgeBase
from .vocabulary import Vocabulary


class FactBuilder:
    """Rows in, id columns out. Entities are numbered in order of appearance, predicates by name."""

    def __init__(self) -> None:
        self._entity_ids: dict[str, int] = {}
        self._predicate_ids: dict[Predicate, int] = {}
        self._columns: dict[str, list[list[Any]]] = {}

    def entity(self, name: str) -> int:
        return self._entity_ids.setdefault(name, len(self._entity_ids))

    def add(self, predicate: Predicate, subject: str, object: str | None = None, weight: float = 1.0,
            split: str = "train") -> None:
        if not 0.0 <= weight <= 1.0:
            raise DataError(f"a weight must lie in [0, 1], got {weight}")
        columns = self._columns.setdefault(split, [[], [], [], []])
        columns[0].append(self._predicate_ids.setdefault(predicate, len(self._predicate_ids)))
        columns[1].append(self.entity(subject))
        columns[2].append(NO_OBJECT if object is None else self.entity(object))
        columns[3].append(weight)

    def add_row(self, row: Fact | tuple[Any, ...], split: str = "train") -> None:
        if isinstance(row, Fact):
            subject, *rest = row.arguments
            self.add(row.predicate, subject, rest[0] if rest else None, split=split)
            return
        if not 2 <= len(row) <= 4 or not all(isinstance(item, str) for item in row[:2]):
            raise DataError(f"expected (entity, predicate), (subject, predicate, object) or these with a weight, got {row!r}")
        third = row[2] if len(row) > 2 else ""
        weight = float(row[3]) if len(row) > 3 else 1.0
        if third in ("", None):
            self.add(Predicate(row[1], 1), row[0], weight=weight, split=split)
        else:
            self.add(Predicate(row[1], 2), row[0], str(third), weight=weight, split=split)

    def facts(self, split: str, order: np.ndarray) -> Facts:
        """Facts of one split, once each; `order` maps builder predicate ids to sorted ones."""
        p, s, o, w = self._columns.get(split, ([], [], [], []))
        weight = np.asarray(w, np.float32)
        facts = Facts(
            order[np.asarray(p, np.int64)].astype(np.int32) if p else np.zeros(0, np.int32),
            np.asarray(s, np.int32),
            np.asarray(o, np.int32),
            None if (weight == 1.0).all() else weight,
        )
        return facts.unique()

    def predicate_order(self) -> tuple[tuple[Predicate, ...], np.ndarray]:
        predicates = tuple(sorted(self._predicate_ids))
        order = np.zeros(len(predicates), np.int64)
        for new, predicate in enumerate(predicates):
            order[self._predicate_ids[predicate]] = new
        return predicates, order

    def knowledge_base(self, split: str = "train", **rest: Any) -> KnowledgeBase:
        predicates, order = self.predicate_order()
        return KnowledgeBase(Vocabulary(self._entity_ids), predicates, self.facts(split, order), **rest)

    def splits(self) -> Mapping[str, Facts]:
        _, order = self.predicate_order()
        return {split: self.facts(split, order) for split in self._columns}
