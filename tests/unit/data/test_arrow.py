"""Columns between Arrow, numpy and Python: the same as by pyarrow's own conversions."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from nlil.data.arrow import number_array, string_array, to_numpy
from nlil.errors import DataError

NUMBERS = [
    np.arange(11, dtype=np.int32),
    np.arange(11, dtype=np.int8)[::2],
    np.linspace(0, 1, 5),
    np.linspace(0, 1, 5, dtype=np.float32),
    np.array([True, False, True] * 7),
    np.zeros(0, np.int64),
    np.zeros(0, bool),
]


@pytest.mark.parametrize("names", [[], ["a"], ["", "Éric", "日本", "b c"], ["a", None, "", None], [None] * 9])
def test_strings(names: list[str | None]) -> None:
    assert string_array(names).equals(pa.array(names, pa.large_string()))
    string_array(names).validate(full=True)


def test_strings_that_are_none() -> None:
    assert string_array(iter(np.array(["a", "bc"]))).to_pylist() == ["a", "bc"]
    with pytest.raises(DataError, match="valid Unicode"):
        string_array(["\ud800"])
    with pytest.raises(pa.ArrowException):
        string_array(["a", 1])  # type: ignore[list-item]


@pytest.mark.parametrize("values", NUMBERS, ids=str)
def test_numbers_and_back(values: np.ndarray) -> None:
    array = number_array(values)
    array.validate(full=True)
    assert array.equals(pa.array(np.ascontiguousarray(values)))
    for column in (array, pa.chunked_array([array[:2], array[2:]]), pa.chunked_array([], array.type)):
        found = to_numpy(column)
        assert found.dtype == values.dtype
        assert found.tolist() == column.to_pylist()
    assert to_numpy(array[1:3]).tolist() == values[1:3].tolist()


def test_nulls() -> None:
    array = pa.array([1, None, 3, None, 5], pa.int32())
    assert to_numpy(array, null=-1).tolist() == [1, -1, 3, -1, 5]
    assert to_numpy(array[1:4], null=-1).tolist() == [-1, 3, -1]
    assert to_numpy(array, null=-1).dtype == np.int32
    assert to_numpy(pa.nulls(2, pa.int32()), null=-1).tolist() == [-1, -1]
    assert to_numpy(pa.array([True, None]), null=False).tolist() == [True, False]
