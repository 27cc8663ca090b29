"""A table in place of sorting gives what numpy's sort gives; the vector softmax what exp gives."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nlil.scene.fitting import softmax
from nlil.scene.patterns import numbered


@settings(deadline=None)  # the first call compiles
@given(st.lists(st.integers(0, 40), max_size=60), st.booleans())
def test_numbered_is_unique(values: list[int], sparse: bool) -> None:
    array = np.array(values, np.int64) * (10**9 if sparse else 1)
    known, place, count = numbered(array)
    expected = np.unique(array, return_inverse=True, return_counts=True)
    assert known.tolist() == expected[0].tolist()
    assert place.tolist() == expected[1].tolist()
    assert place.dtype == np.int32
    assert count.tolist() == expected[2].tolist()


def test_a_table_is_used_only_where_it_is_not_much_larger_than_the_values(monkeypatch: pytest.MonkeyPatch) -> None:
    assert numbered(np.array([7, 2**40], np.int64))[0].tolist() == [7, 2**40]  # its table would not fit in memory
    monkeypatch.setattr("nlil.scene.patterns.TABLE_SPAN", 2**50)
    with pytest.raises(MemoryError):
        numbered(np.array([7, 2**50], np.int64))


@settings(deadline=None)
@given(st.lists(st.floats(-900, 900), min_size=1, max_size=30))
def test_softmax_is_what_exp_gives(scores: list[float]) -> None:
    array = np.array(scores)
    expected = np.exp(array - array.max())
    expected /= expected.sum()
    softmax(array, np.zeros(len(array)))
    assert np.allclose(array, expected, rtol=1e-12, atol=1e-290)
