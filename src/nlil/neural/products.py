"""The two sparse products of soft evaluation, with gradients: compiled loops on a CPU, Triton kernels on a GPU.

Both add in the fixed order of the plan, so the same inputs give the same bits on one type of device.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .plan import Products, Projections


def multiply_add(a: Tensor, b: Tensor, entries: Products) -> Tensor:
    """(segments, columns): out[segment] = sum of weight * a[left] * b[right]."""
    return _MultiplyAdd.apply(a, b, entries)


def project(value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
    """(pairs, R, I): out[pair] = sum over slots of value[row] (R, P) * table[choice] (R, I, P)."""
    return _Project.apply(value, table, pairs)


class _MultiplyAdd(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, a: Tensor, b: Tensor, entries: Products) -> Tensor:
        ctx.save_for_backward(a, b)
        ctx.entries = entries
        return _kernels(a).multiply_add(a, b, entries)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        a, b = ctx.saved_tensors
        want_a, want_b, _ = ctx.needs_input_grad
        grad_a, grad_b = _kernels(a).multiply_add_gradients(a, b, gradient.contiguous(), ctx.entries, want_a, want_b)
        return grad_a, grad_b, None


class _Project(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: Tensor, table: Tensor, pairs: Projections) -> Tensor:
        value, table = value.contiguous(), table.contiguous()
        ctx.save_for_backward(value, table)
        ctx.pairs = pairs
        return _kernels(value).project(value, table, pairs)

    @staticmethod
    def backward(ctx: Any, gradient: Tensor) -> tuple[Tensor | None, Tensor | None, None]:
        value, table = ctx.saved_tensors
        grad_value, grad_table = _kernels(value).project_gradients(value, table, gradient.contiguous(), ctx.pairs)
        return grad_value, grad_table, None


def _kernels(tensor: Tensor) -> Any:
    if tensor.is_cuda:
        from . import gpu_kernels

        return gpu_kernels
    from . import cpu_kernels

    return cpu_kernels
