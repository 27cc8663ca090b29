"""Rows in, batches out: for facts that arrive one by one. Columns go straight to `columns.FactCollector`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..errors import DataError
from ..logic.predicate import Fact, Predicate
from .columns import Batch, Collected, FactCollector
from .facts import Facts
from .kb import KnowledgeBase

ROWS_PER_BATCH = 1 << 16
Row = tuple[str, str, str | None, float]


def batch_of(rows: list[Row], **rest: Any) -> Batch:
    """(subject, predicate, object or None, weight) rows as one batch."""
    subject, predicate, object, weight = zip(*rows, strict=True) if rows else ((), (), (), ())
    return Batch.of(list(subject), list(predicate), list(object), list(weight), **rest)


class FactBuilder:
    """Rows in, id columns out. Entities are numbered in order of appearance, predicates by name."""

    def __init__(self) -> None:
        self._collector = FactCollector()
        self._rows: list[Row] = []
        self._split = "train"

    def add(
        self, predicate: Predicate, subject: str, object: str | None = None, weight: float = 1.0, split: str = "train"
    ) -> None:
        if not 0.0 <= weight <= 1.0:
            raise DataError(f"a weight must lie in [0, 1], got {weight}")
        if (object is None) != (predicate.arity == 1):
            raise DataError(f"{predicate} takes {predicate.arity} argument(s), got {(subject, object)}")
        if split != self._split or len(self._rows) == ROWS_PER_BATCH:
            self._flush()
            self._split = split
        self._rows.append((subject, predicate.name, object, weight))

    def add_row(self, row: Fact | tuple[Any, ...], split: str = "train") -> None:
        if isinstance(row, Fact):
            subject, *rest = row.arguments
            self.add(row.predicate, subject, rest[0] if rest else None, split=split)
            return
        if not 2 <= len(row) <= 4 or not all(isinstance(item, str) and item for item in row[:2]):
            expected = "(entity, predicate), (subject, predicate, object) or these with a weight"
            raise DataError(f"expected {expected}, got {row!r}")
        third = row[2] if len(row) > 2 else ""
        try:
            weight = float(row[3]) if len(row) > 3 else 1.0
        except (TypeError, ValueError) as error:
            raise DataError(f"expected a weight in [0, 1] in fourth place, got {row!r}") from error
        if third in ("", None):
            self.add(Predicate(row[1], 1), row[0], weight=weight, split=split)
        else:
            self.add(Predicate(row[1], 2), row[0], str(third), weight=weight, split=split)

    def _flush(self) -> None:
        if self._rows:
            self._collector.add(batch_of(self._rows), self._split)
            self._rows = []

    def finish(self) -> Collected:
        self._flush()
        return self._collector.finish()

    def knowledge_base(self, split: str = "train", **rest: Any) -> KnowledgeBase:
        return self.finish().knowledge_base(split, **rest)

    def splits(self) -> Mapping[str, Facts]:
        return self.finish().facts
