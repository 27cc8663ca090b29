"""The number of torch threads where results must be repeatable."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import torch


@contextmanager
def one_torch_thread() -> Iterator[None]:
    """Use one torch thread inside this block.

    Sums split over threads differ in their last bits. Small sums are faster with one thread, and work that is already
    parallel (groups of targets) needs no more.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
