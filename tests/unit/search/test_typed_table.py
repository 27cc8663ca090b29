"""A hash set that is emptied at no cost, also where its entries come near 64 bits."""

from __future__ import annotations

import numpy as np

from nlil.search.typed import first_visit, new_table, next_epoch


def test_epochs_begin_anew_before_an_entry_outgrows_64_bits() -> None:
    table, mark = new_table(4), np.zeros((3, 2), np.int64)
    num_keys = 10**8 * 2_000  # entities and codes of a large graph
    last = 2**62 // num_keys - 1
    assert next_epoch(last - 1, num_keys, table, mark) == last
    assert first_visit(table, 7, last, num_keys, num_keys - 1)
    assert not first_visit(table, 7, last, num_keys, num_keys - 1)
    assert next_epoch(last, num_keys, table, mark) == 1
    assert (table == -1).all()
    assert (mark == -1).all()
