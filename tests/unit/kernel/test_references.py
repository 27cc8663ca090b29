"""Named tuples are passed to compiled functions by reference; results are those of plain Python."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from nlil.kernel.compiled import compiled, interpreted


class Inner(NamedTuple):
    """Fields of several types, one of them a number of 32 bits."""

    values: Any
    count: Any


class Outer(NamedTuple):
    """A named tuple with another one inside."""

    table: Any
    inner: Inner
    scale: float
    missing: Any


class Made(NamedTuple):
    """What compiled code makes itself, and passes on."""

    number: Any
    values: Any
    outer: Any


@compiled
def _weighted(made: Made, i: int) -> float:
    return made.values[i] * made.number * made.outer.scale


@compiled
def _item(missing: Any, i: int) -> float:
    return 1.0 if missing is None else missing[i]


@compiled
def _row(outer: Outer, i: int) -> float:
    outer.inner.values[i] += 1
    weighted = _weighted(Made(outer.inner.count, outer.inner.values, outer), i)
    return weighted + outer.table[i, 1] + _item(outer.missing, i)


@compiled
def _total(outer: Outer) -> float:
    total = 0.0
    for i in range(len(outer.inner.values)):
        total += _row(outer, i)
        outer.inner.values[i] += outer.inner.count  # seen by the next call: nothing is copied
    return total


def _example(missing: Any, count: Any = 3, order: str = "C") -> Outer:
    table = np.asarray(np.arange(8.0).reshape(4, 2), order=order)  # type: ignore[call-overload]
    return Outer(table, Inner(np.arange(4), count), 0.5, missing)


@pytest.mark.parametrize("missing", [None, np.arange(4.0)])
@pytest.mark.parametrize("count", [3, np.int32(3)])
@pytest.mark.parametrize("order", ["C", "F"])
def test_compiled_code_reads_and_writes_through_references(missing: Any, count: Any, order: str) -> None:
    compiled_one, plain = _example(missing, count, order), _example(missing, count, order)
    with interpreted():
        expected = _total(plain)
    assert _total(compiled_one) == expected
    assert compiled_one.inner.values.tolist() == plain.inner.values.tolist()


def test_calls_leave_reference_counts_as_they_are() -> None:
    given = _example(None)
    _total(given)
    before = sys.getrefcount(given.table), sys.getrefcount(given.inner.values), sys.getrefcount(given)
    for _ in range(100):
        _total(given)
    assert (sys.getrefcount(given.table), sys.getrefcount(given.inner.values), sys.getrefcount(given)) == before


def test_part_of_an_array_is_passed_with_its_strides() -> None:
    wide = np.arange(24.0).reshape(4, 6)
    given = _example(None)._replace(table=wide[:, ::3])
    with interpreted():
        expected = _total(given._replace(inner=Inner(np.arange(4), 3)))
    assert _total(given) == expected
