"""How many threads torch may use where results must repeat."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Sums split over threads differ in their last bits; one thread gives one result, and small sums no overhead.

    Work that runs in parallel of its own accord (groups of targets) needs no threads of torch beside it.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
