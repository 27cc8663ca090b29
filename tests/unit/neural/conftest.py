"""Shared by the tests of the room `neural`."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from nlil.kernel.threads import one_torch_thread


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """As in the search: sums do not depend on the machine, and tensors this small only wait for a second thread."""
    with one_torch_thread():
        yield
