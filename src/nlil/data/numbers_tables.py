"""Tables of numbers by entity: numbers.tsv, .csv, .parquet beside the facts; Arrow, pandas or a mapping in Python.

    entity <TAB> age <TAB> height
    ann    <TAB> 41  <TAB> 1.71
    bob    <TAB> 12  <TAB>

The first column names the entities, whatever it is called; the others are numbers, an empty field none. In Python a
mapping may also be {column: {entity: number}}. Rows of entities that no fact names are counted in a note.
"""

from __future__ import annotations

import csv
from array import array
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from .arrays import Doubles, Ids
from .files import ending, lines
from .vocabulary import Vocabulary

FILE_STEM = "numbers"
ENDINGS = (".tsv", ".csv", ".txt", ".parquet")
NAN = float("nan")


def read_numbers(path: Path) -> pa.Table:
    """The table of a numbers file (.tsv, .csv, .txt, also .gz, or .parquet)."""
    if ending(path) != ".parquet":
        return _read_delimited(path)
    import pyarrow.parquet as pq

    try:
        return pq.read_table(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise DataError(f"expected a Parquet file, got: {error}", path) from error


def number_table(table: Any, entities: Vocabulary) -> tuple[dict[str, Doubles], tuple[str, ...]]:
    """Column -> its number for each entity (NaN: none); notes."""
    rows = _arrow(table)
    if len(rows.column_names) < 2 or len(set(rows.column_names)) < len(rows.column_names):
        raise DataError(
            f"expected a column of entities and columns of numbers, each with a name of its own, "
            f"got {rows.column_names}"
        )
    ids = _entity_ids(rows.column(0), entities)
    known = ids >= 0
    columns: dict[str, Doubles] = {}
    for name in rows.column_names[1:]:
        values = np.full(len(entities), NAN)
        values[ids[known]] = _numbers(rows.column(name), name)[known]
        columns[name] = values
    unknown = int((~known).sum())
    if unknown == len(ids):
        raise DataError(f"expected numbers of entities that the facts name, got none among {len(ids)} rows")
    notes = (f"numbers of {unknown:,} entities that no fact names are not read",) if unknown else ()
    return columns, notes


def _arrow(table: Any) -> pa.Table:
    if isinstance(table, pa.Table):
        return table
    try:
        if isinstance(table, Mapping):
            columns = dict(table)
            if columns and all(isinstance(column, Mapping) for column in columns.values()):
                names = list(dict.fromkeys(entity for column in columns.values() for entity in column))
                columns = {
                    "": names,
                    **{name: [column.get(entity) for entity in names] for name, column in columns.items()},
                }
            return pa.table(columns)
        return pa.Table.from_pandas(table, preserve_index=False)
    except (pa.ArrowInvalid, pa.ArrowTypeError, AttributeError) as error:
        raise DataError(f"expected a table of numbers (Arrow, pandas or a mapping), got: {error}") from error


def _entity_ids(column: Any, entities: Vocabulary) -> Ids:
    """The id of each row's entity, -1 where it is unknown; each entity has one row."""
    try:
        names = column.combine_chunks().cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DataError(f"expected entities in the first column, got: {error}") from error
    if names.null_count:
        raise DataError(f"row {pc.index(pc.is_null(names), True).as_py() + 1}: expected an entity, got none")
    _, first = np.unique(pc.dictionary_encode(names).indices.to_numpy(), return_index=True)
    if len(first) < len(names):
        row = int(np.argmin(np.isin(np.arange(len(names)), first)))
        raise DataError(f"row {row + 1}: expected each entity once, got {names[row].as_py()!r} again")
    return entities.ids_of(Vocabulary(names))


def _numbers(column: Any, name: str) -> Doubles:
    kind = column.type
    if not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_boolean(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise DataError(f"column {name!r}: expected numbers, got a column of {kind}")
    return np.asarray(pc.fill_null(column.cast(pa.float64()), NAN).to_numpy(), np.float64)


# files ------------------------------------------------------------------------------------------------


def _read_delimited(path: Path) -> pa.Table:
    split = _comma_fields if ending(path) == ".csv" else _tab_fields
    header: list[str] = []
    names: list[str] = []
    columns: list[array[float]] = []
    for number, line in lines(path):
        try:
            fields = split(line)
            if not header:
                header, columns = fields, [array("d") for _ in fields[1:]]
                continue
            _add_row(header, fields, names, columns)
        except DataError as error:
            raise DataError(str(error), path, number) from error
    if not names:
        raise DataError("expected a header line and at least one row of numbers, got none", path)
    return pa.Table.from_arrays([pa.array(names), *(pa.array(np.asarray(column)) for column in columns)], header)


def _add_row(header: list[str], fields: list[str], names: list[str], columns: list[array[float]]) -> None:
    if len(fields) != len(header) or not fields[0]:
        raise DataError(f"expected an entity and {len(header) - 1} numbers, as the first line names them, got {fields}")
    names.append(fields[0])
    for name, column, text in zip(header[1:], columns, fields[1:], strict=True):
        try:
            column.append(float(text) if text.strip() else NAN)
        except ValueError as error:
            raise DataError(f"expected a number for {name!r}, got {text!r}") from error


def _tab_fields(line: str) -> list[str]:
    return line.split("\t")


def _comma_fields(line: str) -> list[str]:
    try:
        return next(csv.reader([line], strict=True)) if '"' in line else line.split(",")
    except csv.Error as error:
        raise DataError(f"expected balanced double quotes ({error}), got {line!r}") from error
