"""Convert names to ids: `Batch` in, `Collected` out. Readers yield batches of columns.

`FactCollector` numbers entities in order of first appearance (row by row, the subject before the object), predicates by
(name, arity).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from ..logic.predicate import Fact, Predicate, Symbol
from .arrays import Doubles, Floats, Ids, Longs, Mask
from .arrow import number_array, string_array, to_numpy
from .facts import NO_OBJECT, Facts
from .kb import KnowledgeBase
from .limits import MAX_NAME
from .vocabulary import Vocabulary
from .wide import Wide, joined

NAMES_PENDING = 1 << 22
"""Batches wait to be numbered until they have this many names, so that memory is bounded by the entities."""
ROWS_PER_BATCH = 1 << 16
NO_WEIGHT = "expected weight 1 for facts of three or more arguments"
Item = TypeVar("Item")
Row = tuple[str, str, str | None, float]
"""Subject, predicate, object or None, weight."""


@dataclass(frozen=True, eq=False)
class Batch:
    """Rows by name as dictionary-encoded columns; a null object marks a unary fact, `more` arguments a wide one.

    `labels` are display names; `notes` say what the reader skipped, and why; `prefixes` shorten names (prefix ->
    namespace).

    Attributes:
        subject: names of the first arguments.
        predicate: names of the predicates.
        object: names of the second arguments; None: all facts are unary.
        weight: weights in [0, 1]; None: all are 1.
        split: the split that the rows name themselves; empty: that of their file.
        numbers: numbers of entities, as (attribute, entity, number).
        time: when each fact held, as text; None: not given.
        more: names of the third arguments and of those that follow, by column; null where a fact has fewer.
        doubt: why other columns may have been meant; empty: no doubt. Only that about training facts becomes a note:
            other splits have the same columns, and too few facts to tell.
    """

    subject: pa.DictionaryArray
    predicate: pa.DictionaryArray
    object: pa.DictionaryArray | None
    weight: Floats | None = None
    labels: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    split: str = ""
    prefixes: Mapping[str, str] = field(default_factory=dict)
    numbers: Sequence[tuple[str, str, float]] = ()
    time: pa.Array | None = None
    more: tuple[pa.DictionaryArray, ...] = ()
    doubt: str = ""

    @classmethod
    def of(cls, subject: Any, predicate: Any, object: Any = None, weight: Any = None, **rest: Any) -> Batch:
        """Make a batch from sequences, Arrow arrays or dictionary arrays of names; None in `object` marks a unary fact.

        `rest` are the other fields. Raises DataError for a weight outside [0, 1].
        """
        third = None if object is None else encoded(object)
        values = None if weight is None else np.asarray(weight, np.float32)
        if values is not None and not (fine := (values >= 0) & (values <= 1)).all():
            raise DataError(f"a weight must lie in [0, 1], got {weight[int(np.argmin(fine))]}")
        return cls(encoded(subject), encoded(predicate), third, values, **rest)

    @classmethod
    def of_rows(cls, rows: list[Row], **rest: Any) -> Batch:
        """Make a batch from single facts.

        `rows` are (subject, predicate, object or None, weight); `rest` are the other fields.
        """
        columns = map(list, zip(*rows, strict=True)) if rows else ([], [], [], [])
        return cls.of(*columns, **rest)

    def __len__(self) -> int:
        return len(self.subject)

    def names(self) -> Iterator[tuple[str, str, str | None]]:
        """Yield subject, predicate and object (None in a unary fact) of each fact; a wide fact is a DataError."""
        if wide := self.parted()[1]:
            raise DataError(f"expected facts of one or two arguments, got {next(iter(wide))}")
        objects = [None] * len(self) if self.object is None else _decoded(self.object)
        return zip(_decoded(self.subject), _decoded(self.predicate), objects, strict=True)

    def take(self, rows: Longs, split: str) -> Batch:
        """Return these `rows` as facts of a `split`."""
        chosen = number_array(rows)
        object = None if self.object is None else self.object.take(chosen)
        weight = None if self.weight is None else self.weight[rows]
        time = None if self.time is None else self.time.take(chosen)
        parts = self.subject.take(chosen), self.predicate.take(chosen), object
        more = tuple(column.take(chosen) for column in self.more)
        columns = {"subject": parts[0], "predicate": parts[1], "object": parts[2], "weight": weight, "time": time}
        return replace(self, **columns, more=more, split=split)

    def parted(self) -> tuple[Batch, dict[Symbol, pa.Array]]:
        """Return the facts of one and two arguments, and the wide ones: their names row by row, by predicate.

        Raises DataError for a wide fact with a gap or a weight.
        """
        if not self.more:
            return self, {}
        columns = [self.subject.indices, None if self.object is None else self.object.indices]
        columns += [column.indices for column in self.more]
        given = np.stack([np.zeros(len(self), bool) if c is None else _codes(c) >= 0 for c in columns])
        arity = given.sum(axis=0)
        gaps = ~given[:-1] & given[1:]
        if gaps.any():
            raise DataError(f"expected all arguments up to the last, got a gap in a fact of {self._about(gaps.any(0))}")
        is_wide = arity > 2
        if self.weight is not None and (light := is_wide & (self.weight < 1)).any():
            raise DataError(f"{NO_WEIGHT}, got less for {self._about(light)}")
        wide: dict[Symbol, pa.Array] = {}
        predicates = _codes(self.predicate.indices)
        for width in np.unique(arity[is_wide]).tolist():
            for code in np.unique(predicates[arity == width]).tolist():
                rows = number_array(np.flatnonzero((arity == width) & (predicates == code)))
                parts = [c.take(rows).cast(pa.large_string()) for c in (self.subject, self.object, *self.more)[:width]]
                table = np.stack([part.to_numpy(zero_copy_only=False) for part in parts], axis=1)
                name = self.predicate.dictionary[code].as_py()
                wide[Symbol(name, width)] = string_array(table.ravel())
        return replace(self.take(np.flatnonzero(~is_wide), self.split), more=()), wide

    def _about(self, rows: Mask) -> str:
        """Return the predicate and the subject of the first of the `rows`."""
        row = int(np.argmax(rows))
        return f"{self.predicate[row].as_py()!r} with the subject {self.subject[row].as_py()!r}"


def _decoded(names: pa.DictionaryArray) -> list[Any]:
    """Return the values, None for gaps; `to_pylist` takes ten times as long for a dictionary array."""
    values = [*names.dictionary.to_pylist(), None]
    return [values[index] for index in to_numpy(names.indices, null=-1).tolist()]


@dataclass(frozen=True, eq=False)
class Collected:
    """The facts of each split, over the vocabulary of all splits.

    Attributes:
        entities: the names of all entities, by id.
        predicates: all predicates, sorted: the position is the id.
        facts: the facts of each split, by the name of the split.
        labels: the label of an entity or predicate, by its name.
        notes: what readers skipped or decided, one sentence each.
        prefixes: prefix -> namespace, to shorten names.
        numbers: the entities that have a number, and the number, by attribute.
        wide: facts of three and more arguments, by the name of the split.
    """

    entities: Vocabulary
    predicates: tuple[Predicate, ...]
    facts: Mapping[str, Facts]
    labels: Mapping[str, str]
    notes: tuple[str, ...]
    prefixes: Mapping[str, str] = field(default_factory=dict)
    numbers: Mapping[str, tuple[Ids, Doubles]] = field(default_factory=dict)
    wide: Mapping[str, Wide] = field(default_factory=dict)

    def of(self, split: str) -> Facts:
        """Return the facts of a split, which may be empty."""
        return self.facts.get(split, Facts.empty())

    def knowledge_base(self, split: str = "train", **rest: Any) -> KnowledgeBase:
        """Make a base of the facts of one `split`, over the vocabulary of all splits.

        `rest` are other fields of KnowledgeBase.
        """
        return KnowledgeBase(self.entities, self.predicates, self.of(split), wide=self.wide.get(split, {}), **rest)


def batched(items: Iterable[Item]) -> Iterator[list[Item]]:
    """Yield the `items` in lists of ROWS_PER_BATCH."""
    iterator = iter(items)
    while some := list(islice(iterator, ROWS_PER_BATCH)):
        yield some


def row_batches(rows: Iterable[Row]) -> Iterator[Batch]:
    """Yield the rows in batches."""
    return map(Batch.of_rows, batched(rows))


def fact_row(fact: Fact | tuple[Any, ...]) -> Row:
    """Return a `fact`, or a tuple in the order of the TSV format, as a row. Raises DataError if it is malformed."""
    if isinstance(fact, Fact):
        subject, object = (*fact.arguments, None)[:2]
        return str(subject), fact.predicate.name, object, 1.0
    if not 2 <= len(fact) <= 4 or not all(isinstance(item, str) and item for item in fact[:2]):
        expected = "(entity, predicate), (subject, predicate, object) or these with a weight"
        raise DataError(f"expected {expected}, got {fact!r}")
    if len(fact) > 2 and fact[2] != fact[2]:
        raise DataError(f"expected the name of an object, got a missing value in {fact!r}")
    try:
        weight = float(fact[3]) if len(fact) > 3 else 1.0
    except (TypeError, ValueError) as error:
        raise DataError(f"expected a weight in [0, 1] as the fourth item, got {fact!r}") from error
    return fact[0], fact[1], None if len(fact) == 2 or fact[2] in ("", None) else str(fact[2]), weight


def encoded(column: Any) -> pa.DictionaryArray:
    """Return the column as a dictionary array of large strings with 32-bit codes."""
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
    if not isinstance(column, pa.Array):
        column = string_array(column)
    by_code = pa.types.is_dictionary(column.type) and column.type.index_type == pa.int32()
    if by_code and column.dictionary.null_count == 0:  # otherwise a null may be in the dictionary itself
        return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(pa.large_string()))
    return column.cast(pa.large_string()).dictionary_encode()


def code_of_empty(column: pa.DictionaryArray) -> int:
    """Return the code of the empty name in a dictionary-encoded `column`, or -1 if there is none."""
    return int(pc.index(column.dictionary, pa.scalar("", pa.large_string())).as_py())


def _codes(column: pa.Array) -> Ids:
    """The codes of the rows; -1 for null."""
    return to_numpy(column, null=-1)


@dataclass(frozen=True, eq=False)
class _Part:
    """One batch, with predicates as ids and entities as positions in `names`; so are those of `wide` facts."""

    split: str
    names: pa.Array
    predicate: Ids
    subject: Ids
    object: Ids
    weight: Floats | None
    wide: Wide = field(default_factory=dict)


class FactCollector:
    """Collects facts by split; `finish` assigns ids."""

    def __init__(self) -> None:
        self._names = string_array([])
        self._pending: list[_Part] = []
        self._done: dict[str, list[Facts]] = {}
        self._wide: dict[str, list[Wide]] = {}
        self._predicate_ids: dict[Predicate, int] = {}
        self._labels: dict[str, str] = {}
        self._notes: list[str] = []
        self._prefixes: dict[str, str] = {}
        self._numbers: dict[str, dict[str, float]] = {}
        self._further: Counter[str] = Counter()

    def register(self, names: Sequence[str]) -> None:
        """Assign ids to the entities `names` before their facts are added; they may have none."""
        none = np.zeros(0, np.int32)
        self._pending.append(_Part("train", string_array(names), none, none, none, None))

    def add(self, batch: Batch, split: str = "train") -> None:
        """Add all facts of a batch to a split, unless the batch names its own."""
        split = batch.split or split
        self._labels.update(batch.labels)
        self._notes += batch.notes
        if batch.doubt and split == "train":
            self._notes.append(batch.doubt)
        for prefix, space in batch.prefixes.items():
            if (known := self._prefixes.setdefault(prefix, space)) != space:
                self._notes.append(f"the prefix {prefix}: stands for {known}; names in {space} are not shortened by it")
        for attribute, entity, number in batch.numbers:
            if self._numbers.setdefault(attribute, {}).setdefault(entity, number) != number:
                self._further[attribute] += 1
        _refuse_long(batch.predicate.dictionary)
        batch, wide = batch.parted()
        names, subject, object = _numbered_within(batch)
        names, tables = _with_wide(names, wide)
        _refuse_long(names)
        predicate = self._predicates(batch.predicate, object != NO_OBJECT)
        self._pending.append(_Part(split, names, predicate, subject, object, batch.weight, tables))
        if sum(len(part.names) for part in self._pending) > NAMES_PENDING:
            self._number()

    def add_rows(self, rows: Iterable[Row], split: str = "train") -> None:
        """Add single facts, `rows` of (subject, predicate, object or None, weight), to a `split`."""
        for batch in row_batches(rows):
            self.add(batch, split)

    def finish(self) -> Collected:
        """Return everything that was added, with ids. A fact that was added to a split twice has its largest weight."""
        self._number()
        predicates = tuple(sorted(self._predicate_ids))
        order = np.zeros(len(predicates), np.int32)
        for new, predicate in enumerate(predicates):
            order[self._predicate_ids[predicate]] = new
        facts = {split: _join(parts, order) for split, parts in self._done.items()}
        entities = Vocabulary(self._names)
        numbers = self._numbered(entities)
        notes = tuple(dict.fromkeys(self._notes))
        wide = {split: joined(parts) for split, parts in self._wide.items()}
        return Collected(entities, predicates, facts, self._labels, notes, self._prefixes, numbers, wide)

    def _numbered(self, entities: Vocabulary) -> dict[str, tuple[Ids, Doubles]]:
        """Return the numbers by id; entities without facts have none, and notes say what is left out."""
        numbers: dict[str, tuple[Ids, Doubles]] = {}
        without_facts: set[str] = set()
        for attribute, values in self._numbers.items():
            names = list(values)
            ids = entities.ids_of(Vocabulary(names))
            known = ids >= 0
            without_facts.update(names[i] for i in np.flatnonzero(~known))
            if known.any():
                numbers[attribute] = ids[known], np.asarray(list(values.values()), np.float64)[known]
        for attribute, count in self._further.items():
            self._notes.append(f"{attribute}: {count:,} further numbers of entities that have several are not read")
        if without_facts:
            self._notes.append(f"the numbers of {len(without_facts):,} entities without facts are ignored")
        return numbers

    def _predicates(self, column: pa.DictionaryArray, is_binary: Mask) -> Ids:
        key = _codes(column.indices) * 2 + is_binary
        number = np.zeros(2 * len(column.dictionary) + 2, np.int32)
        names = column.dictionary.to_pylist()
        for used in np.unique(key).tolist():
            predicate = Predicate(names[used >> 1], 2 if used & 1 else 1)
            number[used] = self._predicate_ids.setdefault(predicate, len(self._predicate_ids))
        return number[key]

    def _number(self) -> None:
        """Append the pending names to those that have ids; existing ids do not change."""
        if not self._pending:
            return
        parts, self._pending = self._pending, []
        joined = pa.concat_arrays([self._names, *(part.names for part in parts)]).dictionary_encode()
        ids = to_numpy(joined.indices)
        start = len(self._names)
        self._names = joined.dictionary
        for part in parts:
            table = np.append(ids[start : start + len(part.names)], np.int32(NO_OBJECT))  # [-1] is "no object"
            start += len(part.names)
            facts = Facts(part.predicate, table[part.subject], table[part.object], part.weight)
            self._done.setdefault(part.split, []).append(facts)
            if part.wide:
                wide = {symbol: table[rows] for symbol, rows in part.wide.items()}
                self._wide.setdefault(part.split, []).append(wide)


def _numbered_within(batch: Batch) -> tuple[pa.Array, Ids, Ids]:
    """The entity names of the batch in order of first appearance, and both columns as codes of them."""
    subjects, left = _codes(batch.subject.indices), batch.subject.dictionary
    objects, right = np.full(len(batch), NO_OBJECT, np.int32), left.slice(0, 0)
    if batch.object is not None:
        objects, right = _codes(batch.object.indices), batch.object.dictionary
    first = np.concatenate((2 * _first_rows(subjects, len(left)), 2 * _first_rows(objects, len(right)) + 1))
    order = np.argsort(first, kind="stable")[: int((first < 2 * len(batch)).sum())]
    names = (
        pa.concat_arrays([left, right]).take(number_array(order)).dictionary_encode()
    )  # some names are in both columns
    table = np.full(len(first) + 1, NO_OBJECT, np.int32)
    table[order] = to_numpy(names.indices)
    return names.dictionary, table[subjects], table[np.where(objects >= 0, objects + len(left), -1)]


def _with_wide(names: pa.Array, wide: Mapping[Symbol, pa.Array]) -> tuple[pa.Array, dict[Symbol, Ids]]:
    """Return `names` with those of `wide` facts behind them, and these facts as rows of positions in them."""
    if not wide:
        return names, {}
    encoded_names = pa.concat_arrays([names, *wide.values()]).dictionary_encode()
    codes, start, tables = to_numpy(encoded_names.indices), len(names), dict[Symbol, Ids]()
    for symbol, flat in wide.items():
        tables[symbol] = codes[start : start + len(flat)].reshape(-1, symbol.arity)
        start += len(flat)
    return encoded_names.dictionary, tables


def _refuse_long(names: pa.Array) -> None:
    """Raise DataError for a name that is too long."""
    length = pc.binary_length(names)
    longest = pc.max(length).as_py() or 0
    if longest > MAX_NAME:
        name = names[pc.index(length, longest).as_py()].as_py()
        raise DataError(f"expected names of at most {MAX_NAME:,} bytes, got one of {longest:,}: {name!r}")


def _first_rows(codes: Ids, num_names: int) -> Longs:
    """The first row that has each code; the number of rows if none has it."""
    first = np.full(num_names, len(codes), np.int64)
    rows = np.flatnonzero(codes >= 0)[::-1]
    first[codes[rows]] = rows  # of repeated indices the last assignment wins: the smallest row
    return first


def _join(parts: list[Facts], order: Ids) -> Facts:
    """The facts of all parts, each once; order[p] is the final id of the predicate p."""
    facts = Facts.join(parts)
    weight = facts.weight
    if weight is not None and (weight == 1.0).all():
        weight = None
    return Facts(order[facts.predicate], facts.subject, facts.object, weight).unique()
