"""Target scores: the output of a classifier as a table `entity, class, score` (.tsv, .csv, .parquet).

    entity <TAB> class   <TAB> score
    img7_3 <TAB> person  <TAB> 0.81
    img7_3 <TAB> statue  <TAB> 0.19

Scores are in [0, 1]. The scores of an entity are divided by their sum, so a file may list only its k best classes. If
(entity, class) occurs twice, the larger score counts. The first line of a text file may be a header.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, in_file
from ..logic.predicate import Predicate
from .arrays import Doubles, Ids, Longs, Mask, offsets, run_starts
from .delimited import SEPARATOR_NAMES, TableRows, parse_numbers
from .kb import KnowledgeBase
from .tables import arrow_table, read_table, table_names
from .vocabulary import Vocabulary

COLUMNS = ("entity", "class", "score")
EXPECTED = "expected a table of entity, class, score"
ROUNDING = 1e-6
"""Computed probabilities may exceed [0, 1] by this much."""


@dataclass(frozen=True, eq=False)
class TargetScores:
    """The classes of entities[i] (ascending) are label[pointer[i] .. pointer[i + 1]], each with its `share`.

    The shares of an entity sum to 1. `classes` are predicate ids, the one with the largest total share first; a label
    is a position in `classes`.
    """

    entities: Ids
    classes: Ids
    pointer: Longs
    label: Ids
    share: Doubles

    def __len__(self) -> int:
        return len(self.entities)

    @property
    def owner(self) -> Longs:
        """The row of each share."""
        return np.repeat(np.arange(len(self)), np.diff(self.pointer))

    @cached_property
    def top(self) -> Ids:
        """The class with the largest share of each entity; ties go to the more frequent class."""
        order = np.lexsort((self.label, -self.share, self.owner))
        return self.label[order[self.pointer[:-1]]]

    def says(self, predicate: int) -> Mask:
        """Return which entities have `predicate` as their top class."""
        return np.asarray(self.classes[self.top] == predicate)

    def take(self, chosen: Mask) -> TargetScores:
        """Return the scores of the chosen entities."""
        kept = chosen[self.owner]
        pointer = np.concatenate(([0], np.cumsum(np.diff(self.pointer)[chosen])))
        return TargetScores(self.entities[chosen], self.classes, pointer, self.label[kept], self.share[kept])

    def dense(self) -> Doubles:
        """Return the shares as an array (entities, classes)."""
        table = np.zeros((len(self), len(self.classes)))
        table[self.owner, self.label] = self.share
        return table


def read_target_scores(path: Path, kb: KnowledgeBase) -> TargetScores:
    """Read the scores in the file at `path` for entities and classes of `kb`."""
    with in_file(path):
        return target_scores(read_table(path, _score_rows, COLUMNS), kb)


def target_scores(table: Any, kb: KnowledgeBase) -> TargetScores:
    """Read the scores in `table` (Arrow, pandas or a mapping of columns) for entities and classes of `kb`."""
    rows = arrow_table(table, EXPECTED)
    names = [str(name).strip().lower() for name in rows.column_names]
    if len(names) != len(COLUMNS):
        raise DataError(f"{EXPECTED}, got the columns {rows.column_names}")
    at = [names.index(name) for name in COLUMNS] if set(names) == set(COLUMNS) else range(len(COLUMNS))
    entity, of_class = (table_names(rows.column(i), f"a name in the column {name}") for i, name in zip(at[:2], COLUMNS))
    return _scores(entity, of_class, _numbers(rows.column(at[2])), kb)


def matrix_scores(matrix: Any, entities: Sequence[str], classes: Sequence[str], kb: KnowledgeBase) -> TargetScores:
    """Read scores from an array: matrix[i, j] is the score of classes[j] for entities[i].

    Both are names of `kb`.
    """
    values = np.asarray(matrix, np.float64)
    if values.shape != (len(entities), len(classes)):
        raise DataError(
            f"expected a score for each of {len(entities):,} entities and {len(classes):,} classes, got an "
            f"array of shape {values.shape}"
        )
    if np.all((values > -ROUNDING) & (values < 1 + ROUNDING)):
        values = np.clip(values, 0.0, 1.0)
    row, column = (index.reshape(-1) for index in np.indices(values.shape))
    names = pa.array([str(name) for name in entities], pa.large_string())
    kinds = pa.array([str(name) for name in classes], pa.large_string())
    return _scores(
        pa.DictionaryArray.from_arrays(row, names),
        pa.DictionaryArray.from_arrays(column, kinds),
        values.reshape(-1),
        kb,
    )


def _scores(
    entity: pa.DictionaryArray, of_class: pa.DictionaryArray, score: Doubles, kb: KnowledgeBase
) -> TargetScores:
    if not len(score):
        raise DataError(f"{EXPECTED}, got no rows")
    good = (score >= 0) & (score <= 1)
    if not good.all():
        row = int(np.argmin(good))
        raise DataError(f"row {row + 1}: expected a score in [0, 1], got {score[row]}")
    subject = kb.entities.ids_of(Vocabulary(entity.dictionary))
    _refuse_unknown("entities", entity.dictionary, subject, kb)
    predicate = _class_ids(of_class.dictionary, kb)
    _refuse_unknown("classes", of_class.dictionary, predicate, kb)
    subject, predicate = subject[entity.indices.to_numpy()], predicate[of_class.indices.to_numpy()]
    order = np.lexsort((-score, predicate, subject))
    subject, predicate, score = subject[order], predicate[order], score[order]
    first = run_starts(subject, predicate)
    return _shares(subject[first], predicate[first], score[first], kb)


def _shares(subject: Ids, predicate: Ids, score: Doubles, kb: KnowledgeBase) -> TargetScores:
    """Make the scores from sorted rows, in which each (entity, class) occurs once."""
    entities, owner = np.unique(subject, return_inverse=True)
    total = np.bincount(owner, weights=score)
    if not total.all():
        name = kb.entities.name(int(entities[int(np.argmin(total))]))
        raise DataError(
            f"expected a score above 0 for each entity, got none for {int((total == 0).sum()):,}, "
            f"{name!r} among them; leave such entities out"
        )
    share = score / total[owner]
    kept = share > 0
    weight = np.bincount(predicate, weights=share, minlength=kb.num_predicates)
    present = np.unique(predicate)
    classes = present[np.lexsort((present, -weight[present]))].astype(np.int32)
    position = np.zeros(kb.num_predicates, np.int32)
    position[classes] = np.arange(len(classes), dtype=np.int32)
    return TargetScores(
        entities.astype(np.int32),
        classes,
        offsets(owner[kept].astype(np.int32), len(entities)),
        position[predicate[kept]],
        share[kept],
    )


def _class_ids(names: pa.Array, kb: KnowledgeBase) -> Ids:
    """The ids of object classes in scene graphs, of unary predicates otherwise; -1: unknown."""
    known = {p: i for i, p in enumerate(kb.predicates) if p.arity == 1 and (i in kb.classes or not kb.classes)}
    return np.array([known.get(Predicate(name, 1), -1) for name in names.to_pylist()], np.int32)


def _refuse_unknown(what: str, names: pa.Array, ids: Ids, kb: KnowledgeBase) -> None:
    unknown = np.flatnonzero(ids < 0)
    if not len(unknown):
        return
    if what == "entities":
        known = list(kb.entities.array[:1].to_pylist())
    else:
        known = [p.name for i, p in enumerate(kb.predicates) if i in kb.classes or (p.arity == 1 and not kb.classes)]
    such = f", such as {known[0]!r}" if known else ""
    raise DataError(
        f"expected {what} that the data has{such}, got {len(unknown):,} unknown ones of {len(names):,}, "
        f"{names[int(unknown[0])].as_py()!r} among them; leave them out or name them as the data does"
    )


# tables -----------------------------------------------------------------------------------------------


def _score_rows(rows: TableRows, header: list[str]) -> pa.Table:
    entity, of_class, text = map(rows.column, range(3))
    score, is_number = parse_numbers(text)
    expected = f"{EXPECTED} with {SEPARATOR_NAMES[rows.separator]}s between"
    rows.check(
        (rows.count != len(header), lambda i: f"{expected}, got {rows.count[i]} fields: {rows.text(i)!r}"),
        (
            ~(is_number & (score >= 0) & (score <= 1)),
            lambda i: f"expected a score in [0, 1], got {text[i].as_py()!r}",
        ),
    )
    return pa.Table.from_arrays([entity, of_class, pa.array(score)], header)


def _numbers(column: Any) -> Doubles:
    try:
        return np.asarray(pc.fill_null(column.cast(pa.float64()), np.nan).to_numpy(), np.float64)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"column score: expected numbers in [0, 1], got: {error}") from error
