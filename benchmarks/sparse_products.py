"""Time and memory of the sparse product of soft evaluation, forward and backward, beside plain torch.

    python benchmarks/sparse_products.py --device cuda --entries 8000000

`plain` gathers both factors, multiplies, and adds by index_add: arrays as long as the list of entries.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable

import torch
from torch import Tensor

from nlil.neural.products import Products, multiply_add

COLUMNS = 32
RUNS = 5


def case(entries: int, device: str) -> tuple[Tensor, Tensor, Products]:
    """Five entries for each segment and each left row, 400 for each right row; everything from one seed."""
    source = torch.Generator().manual_seed(0)
    segments, right = max(entries // 5, 1), max(entries // 400, 1)
    sizes = (segments, segments, right)
    columns = [torch.randint(0, size, (entries,), generator=source).to(device) for size in sizes]
    a, b = (torch.randn(size, COLUMNS, generator=source).to(device).requires_grad_() for size in (segments, right))
    return a, b, Products.of(*columns, None, *sizes)


def plain(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    products = a[entries.left.long()] * b[entries.right.long()]
    out = torch.zeros(entries.num_segments, a.shape[1], device=a.device)
    return out.index_add(0, entries.segment.long(), products)


def run(product: Callable[[Tensor, Tensor, Products], Tensor], a: Tensor, b: Tensor, entries: Products) -> None:
    a.grad = b.grad = None
    product(a, b, entries).square().sum().backward()
    if a.is_cuda:
        torch.cuda.synchronize()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--entries", type=int, default=1_000_000)
    options = parser.parse_args()
    given = case(options.entries, options.device)
    for product in (multiply_add, plain):
        run(product, *given)  # compiles
        before = torch.cuda.memory_allocated() if given[0].is_cuda else 0
        if given[0].is_cuda:
            torch.cuda.reset_peak_memory_stats()
        begin = time.perf_counter()
        for _ in range(RUNS):
            run(product, *given)
        seconds = (time.perf_counter() - begin) / RUNS
        peak = (torch.cuda.max_memory_allocated() - before) / 2**20 if given[0].is_cuda else float("nan")
        print(f"{product.__name__:12} {1e3 * seconds:9.2f} ms {peak:8.0f} MiB")


if __name__ == "__main__":
    main()
