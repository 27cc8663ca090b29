"""Columns between Arrow, numpy and Python by their buffers.

pyarrow's own `pa.array` and `to_numpy` import pandas where it is installed, which takes longer than most commands.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import pyarrow as pa


def string_array(values: Iterable[str | None]) -> pa.Array:
    """Return `values` as large strings, None as null; a name that UTF-8 cannot spell is a UnicodeEncodeError."""
    listed = list(values)
    try:
        encoded = [b"" if value is None else value.encode() for value in listed]
    except AttributeError:  # no str: Arrow knows what else may be meant, and says so where nothing is
        return pa.array(listed, pa.large_string())
    ends = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    valid = np.array([value is not None for value in listed], bool)
    bits = None if valid.all() else pa.py_buffer(np.packbits(valid, bitorder="little"))
    return pa.Array.from_buffers(
        pa.large_string(), len(listed), [bits, pa.py_buffer(ends), pa.py_buffer(b"".join(encoded))]
    )


def string_parts(strings: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Return where each of some large `strings` begins, with the end of the last, and the bytes of all."""
    if not len(strings):
        return np.zeros(1, np.int64), np.zeros(0, np.uint8)
    _, places, data = strings.buffers()
    offsets = np.frombuffer(places, np.int64)[strings.offset : strings.offset + len(strings) + 1]
    text = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, np.uint8)[offsets[0] : offsets[-1]]
    return offsets - offsets[0], text


def number_array(values: np.ndarray) -> pa.Array:
    """Return the numbers or booleans of `values` as an Arrow array that shares their memory where it can."""
    kept = np.ascontiguousarray(values)
    data = np.packbits(kept, bitorder="little") if kept.dtype == np.bool_ else kept
    return pa.Array.from_buffers(pa.from_numpy_dtype(kept.dtype), len(kept), [None, pa.py_buffer(data)])


def to_numpy(column: pa.Array | pa.ChunkedArray, null: Any = None) -> np.ndarray:
    """Return a column of numbers or truth values; `null` stands for what is missing."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    kind = np.dtype(array.type.to_pandas_dtype())
    validity, data = array.buffers()
    if data is None:
        return np.full(len(array), null, kind)
    rows = slice(array.offset, array.offset + len(array))
    values = _bits(data)[rows] if kind == np.bool_ else np.frombuffer(data, kind, rows.stop)[rows]
    return np.where(_bits(validity)[rows], values, kind.type(null)) if array.null_count else values


def _bits(buffer: pa.Buffer) -> np.ndarray:
    return np.unpackbits(np.frombuffer(buffer, np.uint8), bitorder="little").view(bool)
