"""Convert columns between Arrow, numpy and Python through their buffers; columns in Parquet files.

pyarrow's own `pa.array` and `to_numpy` import pandas if it is installed, which takes longer than most commands.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError
from .files import replacing

THREADED_VALUES = 1_000_000
"""Values of a Parquet file from which on threads read it faster than one does."""


def string_array(values: Iterable[str | None]) -> pa.Array:
    """Return `values` as large strings, None as null. Raises DataError for text that is not valid Unicode."""
    listed = list(values)
    try:
        encoded = [b"" if value is None else value.encode() for value in listed]
    except UnicodeEncodeError as error:
        raise DataError(f"expected names that are valid Unicode, got {error.object!r}") from error
    except AttributeError:  # not strings: Arrow converts other types, or raises an error that names the type
        return pa.array(listed, pa.large_string())
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    valid = np.array([value is not None for value in listed], bool)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        pa.large_string(), len(listed), [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def string_parts(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return the offsets of large `strings`, from 0 to the end of the last one, and the bytes of all."""
    if not len(strings):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    _, places, data = strings.buffers()
    offsets = np.frombuffer(places, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0], text


def number_array(values: np.ndarray) -> pa.Array:
    """Return the numbers or booleans of `values` as an Arrow array, which shares their memory if possible."""
    kept = np.ascontiguousarray(values)
    data = np.packbits(kept, bitorder="little") if kept.dtype == np.bool_ else kept
    return pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(data)])


def to_numpy(column: pa.Array | pa.ChunkedArray, null: Any = None) -> np.ndarray:
    """Return a column of numbers or booleans; missing values become `null`."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = np.dtype(array.type.to_pandas_dtype())
    validity, data = array.buffers()
    if data is None:
        return np.full(len(array), null, kind)
    rows = slice(array.offset, array.offset + len(array))
    values = _bits(data)[rows] if kind == np.bool_ else np.frombuffer(data, kind, rows.stop)[rows]
    return np.where(_bits(validity)[rows], values, kind.type(null)) if array.null_count else values


def integers(table: pa.Table, name: str, low: int, high: int, dtype: Any = None) -> np.ndarray:
    """Return the column `name` of `table` as numbers of `dtype` (None: its own type); nothing about it is trusted.

    Raises ValueError unless it exists and has whole numbers from `low` to `high`, without gaps.
    """
    column = _one_column(table, name)
    if not pa.types.is_integer(column.type) or column.null_count:
        raise ValueError(f"{name}: expected whole numbers without gaps, got {column.type}")
    values = to_numpy(column)
    if len(values) and not low <= int(values.min()) <= int(values.max()) <= high:
        raise ValueError(f"{name}: expected {low:,} to {high:,}, got {int(values.min()):,} to {int(values.max()):,}")
    return values if dtype is None else values.astype(dtype)


def numbers(table: pa.Table, name: str, allow_nan: bool = False) -> np.ndarray:
    """Return the column `name` of `table` as float64.

    Raises ValueError unless all are finite, or nan if `allow_nan`.
    """
    column = _one_column(table, name)
    if not pa.types.is_floating(column.type) or column.null_count:
        raise ValueError(f"{name}: expected numbers without gaps, got {column.type}")
    values = to_numpy(column).astype(np.float64)
    if not (np.isfinite(values) | (allow_nan & np.isnan(values))).all():
        raise ValueError(f"{name}: expected finite numbers")
    return values


def booleans(table: pa.Table, name: str) -> np.ndarray:
    """Return the column `name` of `table` as truth values; raise ValueError for other values or gaps."""
    column = _one_column(table, name)
    if not pa.types.is_boolean(column.type) or column.null_count:
        raise ValueError(f"{name}: expected true or false without gaps, got {column.type}")
    return to_numpy(column)


def strings(table: pa.Table, name: str, has_gaps: bool = False) -> pa.Array:
    """Return the column `name` of `table` as large strings.

    Raises ValueError unless it is valid UTF-8; gaps are allowed if `has_gaps`.
    """
    column = _one_column(table, name)
    kinds = (pa.types.is_string, pa.types.is_large_string, *([pa.types.is_null] if has_gaps else []))
    if not any(fits(column.type) for fits in kinds) or (column.null_count and not has_gaps):
        raise ValueError(f"{name}: expected text{'' if has_gaps else ' without gaps'}, got {column.type}")
    found = column.combine_chunks().cast(pa.large_string())
    found.validate(full=True)
    return found


def _one_column(table: pa.Table, name: str) -> pa.ChunkedArray:
    if table.column_names.count(name) != 1:
        raise ValueError(f"expected one column {name}, got {table.column_names.count(name)}")
    return table[name]


def write_columns(path: Path, columns: Mapping[str, pa.Array], about: Mapping[str, Any]) -> None:
    """Write `columns` atomically to a Parquet file at `path`, with the description `about` in its metadata."""
    import pyarrow.parquet as pq

    table = pa.table(dict(columns)).replace_schema_metadata({"nlil": json.dumps(about)})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd", row_group_size=2**20)


def read_columns(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    """Return the columns and the description that `write_columns` wrote to `path`."""
    table = read_whole_table(path)
    return table, json.loads((table.schema.metadata or {})[b"nlil"])


def read_whole_table(path: Path) -> pa.Table:
    """Return the Parquet file at `path`; a small one is read without threads, which would take longer."""
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:  # pq.read_table would import pandas if it is installed
        return file.read(use_threads=file.metadata.num_rows * file.metadata.num_columns > THREADED_VALUES)


def _bits(buffer: pa.Buffer) -> np.ndarray:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little").view(bool)
