"""Make predicates from numbers: `age_over_60(X)`, `age_18_to_60(X)`.

Cuts are given, or are quantiles of the training entities, rounded to be readable. Numbers are compared with the rounded
cut, so the name of a predicate is exact:

    age_over_60      age > 60            at each cut
    age_18_to_60     18 < age <= 60      between neighbouring cuts
    age_up_to_18     age <= 18           at the lowest cut only: at others it is the negation of "over"

The numbers are a table: numbers.tsv, .csv or .parquet next to the facts; Arrow, pandas or a mapping in Python.

    entity <TAB> age <TAB> height
    ann    <TAB> 41  <TAB> 1.71
    bob    <TAB> 12  <TAB>

The first column names the entities, whatever its header; the others contain numbers or empty fields. In Python a
mapping may also be {column: {entity: number}}. Entities without facts are ignored, and counted in a note.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from decimal import ROUND_CEILING, Context
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import ConfigError, DataError, UnknownName
from ..logic.predicate import Predicate
from .arrays import Doubles, Ids, Mask
from .dataset import Dataset, checksum
from .delimited import TableRows, is_empty, parse_numbers
from .facts import NO_OBJECT, Facts
from .files import UTF8
from .tables import arrow_table, read_table, table_names
from .vocabulary import Vocabulary

FILE_STEM = "numbers"
ENDINGS = (".tsv", ".csv", ".txt", ".parquet")

NUM_BINS = 10
MIN_DIGITS, MAX_DIGITS = 2, 17
"""A rounded cut has 2 significant digits if possible; 17 distinguish any two numbers."""
READABLE_DIGITS = 4
"""Cuts with more digits are rounded up if that changes no bin."""

NUMERIC = (pa.types.is_integer, pa.types.is_floating, pa.types.is_boolean, pa.types.is_decimal, pa.types.is_null)

SHOWN_COLUMNS = 8
"""Columns that a note lists."""

Cuts = int | Sequence[float]
"""The number of quantile bins, or the cuts themselves."""
ValueFacts = Mapping[Predicate, Ids]
"""The entity ids of a unary predicate, or rows of (subject id, object id) of a binary one."""


def with_numbers(
    dataset: Dataset, table: Any, cuts: Cuts | Mapping[str, Cuts] = NUM_BINS, like: Iterable[Predicate] = ()
) -> Dataset:
    """Return the data set with the predicates of the numeric columns of a table.

    Args:
        dataset: The data set to extend.
        table: The entities and their numbers: Arrow, pandas, or a mapping {column: {entity: number}}.
        cuts: Bins or cuts, for all columns or by column; columns that it does not name get 10 quantile bins.
        like: Predicates of other data that rules refer to; columns get the cuts that occur in their names.
    """
    columns, notes = number_table(table, dataset.kb.entities)
    by_column = cuts if isinstance(cuts, Mapping) else dict.fromkeys(columns, cuts)
    for name in by_column:
        if name not in columns:
            raise UnknownName("column of numbers", name, columns)
    result = _with_columns(dataset, columns.items(), by_column, like)
    return replace(result, notes=(*result.notes, *notes))


def with_own_numbers(dataset: Dataset, cuts: Cuts = NUM_BINS, like: Iterable[Predicate] = ()) -> Dataset:
    """Return the data set with the predicates of the numbers that were read with its facts, `dataset.numbers`.

    Their names begin with that of the attribute, and so do their labels with its label. `cuts` and
    `like` as in `with_numbers`; a note names the attributes that gave no predicate.
    """
    if not dataset.numbers:
        return dataset
    size = dataset.kb.num_entities

    def columns() -> Iterator[tuple[str, Doubles]]:
        for name, (ids, numbers) in dataset.numbers.items():
            values = np.full(size, np.nan)
            values[ids] = numbers
            yield name, values

    result = _with_columns(replace(dataset, numbers={}), columns(), dict.fromkeys(dataset.numbers, cuts), like)
    made = [p.name for p in result.kb.predicates if p.arity == 1]
    constant = [name for name in dataset.numbers if not cuts_in(made, name)]
    if not constant:
        return result
    shown = ", ".join(dataset.kb.predicate_labels.get(name, name) for name in constant[:SHOWN_COLUMNS])
    more = f" and {len(constant) - SHOWN_COLUMNS} more" if len(constant) > SHOWN_COLUMNS else ""
    return replace(result, notes=(*result.notes, f"numbers that do not differ give no predicate: {shown}{more}"))


def _with_columns(
    dataset: Dataset, columns: Iterable[tuple[str, Doubles]], cuts: Mapping[str, Cuts], like: Iterable[Predicate]
) -> Dataset:
    """Return the data set with the predicates of these `columns`."""
    is_training = training_entities(dataset)
    known = {predicate.name for predicate in like}
    facts: dict[Predicate, Ids] = {}
    labels = dict(dataset.kb.predicate_labels)
    for name, values in columns:
        chosen = cuts_in(known, name) or cuts.get(name, NUM_BINS)
        for predicate, members in number_facts(name, values, is_training, chosen):
            facts[Predicate(predicate, 1)] = members
            if name in labels:
                labels[predicate] = labels[name] + predicate[len(name) :]
    result = with_predicates(dataset, facts)
    return replace(result, kb=replace(result.kb, predicate_labels=labels))


def number_facts(
    name: str, values: Doubles, is_training: Mask, cuts: Cuts = NUM_BINS, unit: str = ""
) -> list[tuple[str, Ids]]:
    """Return (predicate name, entity ids) of one number by entity.

    The order is: up to the lowest cut, bins, then over each cut, ascending. NaN gives no fact. Predicates without
    entities are left out.

    Args:
        name: the name of the column, with which the names of its predicates begin.
        values: the number of each entity, NaN if it has none.
        is_training: the entities that quantiles are computed from.
        cuts: the cuts, or the number of bins of equal frequency.
        unit: the suffix of the predicate names, such as "_percent".

    >>> number_facts("age", np.asarray([7.0, 30, 61, np.nan]), np.ones(4, bool), [18, 60])[:2]
    [('age_up_to_18', array([0], dtype=int32)), ('age_18_to_60', array([1], dtype=int32))]
    """
    if isinstance(cuts, int | np.integer):
        chosen = quantile_cuts(values[is_training], int(cuts))
    else:
        chosen = np.unique(np.asarray(cuts, np.float64)) + 0.0  # no negative zero
        if not np.isfinite(chosen).all():
            raise ConfigError(f"cuts of {name}: expected finite numbers, got {list(cuts)}")
    if not len(chosen):
        return []
    known = np.flatnonzero(~np.isnan(values)).astype(np.int32)
    cuts_below = np.searchsorted(chosen, values[known], side="left")
    text = [cut_text(cut) for cut in chosen]
    found = [(f"{name}_up_to_{text[0]}{unit}", known[cuts_below == 0])]
    found += [(f"{name}_{text[i - 1]}_to_{text[i]}{unit}", known[cuts_below == i]) for i in range(1, len(text))]
    found += [(f"{name}_over_{text[i]}{unit}", known[cuts_below > i]) for i in range(len(text))]
    return [(predicate, members) for predicate, members in found if len(members)]


def cut_text(cut: float) -> str:
    """Return `cut` as in the name of a predicate: without an exponent or trailing zeros."""
    return np.format_float_positional(cut, trim="-")


def cuts_in(names: Iterable[str], number: str, unit: str = "") -> list[float]:
    """Return the cuts of `number`, ascending, that occur in the `names` of its predicates.

    `unit` is the suffix of these names.

    >>> cuts_in(["age_18_to_60", "age_over_60", "old", "page_over_7"], "age")
    [18.0, 60.0]
    """
    value = r"(-?\d+(?:\.\d+)?)"
    made = re.compile(rf"{re.escape(number)}_(?:(?:up_to|over)_{value}|{value}_to_{value}){re.escape(unit)}")
    found = [match for match in map(made.fullmatch, names) if match]
    return sorted({float(text) for match in found for text in match.groups() if text})


def quantile_cuts(values: Doubles, num_bins: int) -> Doubles:
    """Return rounded cuts that divide the values into about `num_bins` bins of equal size; fewer if values repeat.

    Each cut has the fewest digits that keep it different from its neighbours and within a quarter of a bin of its
    quantile.

    >>> quantile_cuts(np.arange(1001.0), 4).tolist()
    [250.0, 500.0, 750.0]
    """
    if num_bins < 2:
        raise ConfigError(f"cuts: expected 2 or more bins, got {num_bins}", "cuts")
    ordered = np.sort(values[np.isfinite(values)])
    if not len(ordered) or ordered[0] == ordered[-1]:
        return np.zeros(0)
    exact = _quantiles(ordered, num_bins)
    wanted = _share_below(ordered, exact)
    digits = np.full(len(exact), MIN_DIGITS)
    while True:
        rounded = np.asarray([float(f"{cut:.{n - 1}e}") for cut, n in zip(exact, digits, strict=True)])
        same = np.isin(rounded, rounded[1:][np.diff(rounded) <= 0])
        share = _share_below(ordered, rounded)
        off = (np.abs(share - wanted) > 0.25 / num_bins) | (share == 0) | (share == 1)
        coarse = (same | off) & (digits < MAX_DIGITS)
        if not coarse.any():
            return _shortened(ordered, rounded, digits) + 0.0
        digits[coarse] += 1


def _shortened(ordered: Doubles, cuts: Doubles, digits: Ids) -> Doubles:
    """Round up cuts with many digits if no value changes its bin: 24 for 23.333333333333332."""
    result = cuts.copy()
    for i in np.flatnonzero(digits > READABLE_DIGITS):
        following = ordered[np.searchsorted(ordered, cuts[i], side="right") :][:1]
        for number in range(MIN_DIGITS, READABLE_DIGITS + 1):
            up = Context(prec=number, rounding=ROUND_CEILING).create_decimal_from_float(float(cuts[i]))
            if len(following) and float(up) < following[0]:
                result[i] = float(up)
                break
    return result


def _quantiles(ordered: Doubles, num_bins: int) -> Doubles:
    """Return values c such that about i / num_bins of the values are <= c, for 0 < i < num_bins.

    If a value repeats across a quantile, the cut is that value or the one before it, whichever is nearer to the wanted
    share: many boxes end exactly at the lower edge, and nothing is over the largest value.
    """
    wanted = np.arange(1, num_bins) / num_bins
    value = ordered[np.ceil(wanted * len(ordered)).astype(np.int64) - 1]
    first = np.searchsorted(ordered, value, side="left")
    last = np.searchsorted(ordered, value, side="right")
    before = np.abs(first / len(ordered) - wanted) < np.abs(last / len(ordered) - wanted)
    before = (before | (last == len(ordered))) & (first > 0)
    return np.unique(np.where(before, ordered[first - 1], value))


def _share_below(ordered: Doubles, cuts: Doubles) -> Doubles:
    return np.searchsorted(ordered, cuts, side="right") / len(ordered)


# facts into a data set --------------------------------------------------------------------------------


def training_entities(dataset: Dataset) -> Mask:
    """Return the entities of `dataset` that quantiles are computed from: those of its training graphs or facts."""
    kb = dataset.kb
    if kb.graph_of is not None:
        return kb.domain
    present = np.zeros(kb.num_entities, bool)
    present[kb.facts.subject] = True
    present[kb.binary.object] = True
    return present


def with_predicates(dataset: Dataset, new: ValueFacts) -> Dataset:
    """Return `dataset` with the facts of `new` predicates, which are added to `kb.geometry` and are never targets.

    Ids are positions among the sorted predicates, so every id changes. Facts of a scene are added to the split of its
    graph (a graph without facts has none), those of a plain base to the training facts.
    """
    kb = dataset.kb
    clashing = sorted(p.name for p in new if p in set(kb.predicates))
    if clashing:
        raise DataError(
            f"{dataset.name}: the data already has predicates with the names that numbers would get: "
            f"{', '.join(clashing[:3])}; rename the column"
        )
    predicates = tuple(sorted({*kb.predicates, *new}))
    id_of = {predicate: i for i, predicate in enumerate(predicates)}
    added = _joined((id_of[predicate], ids) for predicate, ids in new.items())
    old_ids = np.asarray([id_of[p] for p in kb.predicates], np.int32)
    result = dataset.over(predicates, old_ids, _by_split(dataset, added))
    geometry = result.kb.geometry | {id_of[predicate] for predicate in new}
    result = replace(result, kb=replace(result.kb, geometry=geometry))
    return replace(result, checksum=checksum(result.kb, result.splits))


def _joined(parts: Iterable[tuple[int, Ids]]) -> Facts:
    rows = [(number, ids.reshape(len(ids), -1)) for number, ids in parts]
    if not rows:
        return Facts.empty()
    predicate = np.repeat(np.asarray([number for number, _ in rows], np.int32), [len(ids) for _, ids in rows])
    subject = np.concatenate([ids[:, 0] for _, ids in rows])
    object = np.concatenate(
        [ids[:, 1] if ids.shape[1] == 2 else np.full(len(ids), NO_OBJECT, np.int32) for _, ids in rows]
    )
    return Facts(predicate, subject.astype(np.int32), object.astype(np.int32))


def _by_split(dataset: Dataset, added: Facts) -> dict[str, Facts]:
    kb, context = dataset.kb, dataset.splits.context
    if kb.graph_of is None or not context:
        return {"train": added}
    split_of_graph = np.full(kb.num_graphs, -1, np.int8)
    for number, facts in enumerate(context.values()):
        split_of_graph[kb.graph_of[facts.subject]] = number
    owner = split_of_graph[kb.graph_of[added.subject]]
    return {split: added[owner == number] for number, split in enumerate(context)}


# tables of numbers ------------------------------------------------------------------------------------


def read_numbers(path: Path, encoding: str = UTF8) -> pa.Table:
    """Read the numbers file at `path` (.tsv, .csv, .txt, also .gz, in an `encoding`, or .parquet)."""
    table = read_table(path, _number_rows, encoding=encoding)
    if not table.num_rows:
        raise DataError("expected a header line and at least one row of numbers, got none", path)
    return table


def _number_rows(rows: TableRows, header: list[str]) -> pa.Table:
    expected = f"expected an entity and {len(header) - 1} numbers, as the first line names them"
    entities = rows.column(0)
    rows.check(((rows.count != len(header)) | is_empty(entities), lambda i: f"{expected}, got {rows.row(i)}"))
    numbers = [_number_column(rows, place, name) for place, name in enumerate(header[1:], start=1)]
    return pa.Table.from_arrays([entities, *numbers], header)


def _number_column(rows: TableRows, place: int, name: str) -> pa.Array:
    texts = rows.column(place)
    values, is_number = parse_numbers(texts)
    is_blank = is_empty(pc.utf8_trim_whitespace(texts))
    rows.check((~is_number & ~is_blank, lambda i: f"expected a number for {name!r}, got {texts[i].as_py()!r}"))
    return pa.array(values)


def number_table(table: Any, entities: Vocabulary) -> tuple[dict[str, Doubles], tuple[str, ...]]:
    """Return column -> the number of each of `entities` (NaN: none), and notes.

    `table` has the names of entities in its first column, or is a mapping column -> {entity: number}.
    """
    columns = table
    if isinstance(table, Mapping) and table and all(isinstance(column, Mapping) for column in table.values()):
        names = list(dict.fromkeys(entity for column in table.values() for entity in column))
        columns = {"": names} | {name: [column.get(n) for n in names] for name, column in table.items()}
    rows = arrow_table(columns, "expected a table of numbers")
    if len(rows.column_names) < 2 or len(set(rows.column_names)) < len(rows.column_names):
        raise DataError(
            f"expected a column of entities and columns of numbers, each with a different name, got {rows.column_names}"
        )
    ids = _entity_ids(table_names(rows.column(0), "an entity"), entities)
    known = ids >= 0
    found: dict[str, Doubles] = {}
    for name in rows.column_names[1:]:
        found[name] = np.full(len(entities), np.nan)
        found[name][ids[known]] = _numbers(rows.column(name), name)[known]
    unknown = int((~known).sum())
    if unknown == len(ids):
        raise DataError(f"expected numbers of entities that have facts, got none in {len(ids)} rows")
    notes = (f"the numbers of {unknown:,} entities without facts are ignored",) if unknown else ()
    return found, notes


def _entity_ids(names: pa.DictionaryArray, entities: Vocabulary) -> Ids:
    """The id of the entity of each row, -1 if it is unknown; each entity has one row."""
    codes = names.indices.to_numpy()
    if len(names.dictionary) < len(codes):
        _, first = np.unique(codes, return_index=True)
        row = int(np.argmin(np.isin(np.arange(len(codes)), first)))
        raise DataError(f"row {row + 1}: expected each entity once, got {names[row].as_py()!r} again")
    return entities.ids_of(Vocabulary(names.dictionary))[codes]


def _numbers(column: Any, name: str) -> Doubles:
    kind = column.type
    if not any(is_kind(kind) for is_kind in NUMERIC):
        raise DataError(f"column {name!r}: expected numbers, got a column of {kind}")
    return np.asarray(pc.fill_null(column.cast(pa.float64(), safe=False), np.nan).to_numpy(), np.float64)
