"""Soft evaluation: the value of every formula of a stack of attentions, for the queries of a block.   [paper §3]

paths        v^(t) = sum over operators k of s_phi,t[k] * M_k^T v^(t-1): one sparse product per step
statements   psi_k = squash( (s_psi,k . v_left) M_k (s_psi',k . v_right) )
formulas     f_l = (s_f . f_hat_(l-1)) * (s_f' . f_hat_(l-1)),  f_hat = both signs
score        s_o . f_hat over all levels
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from ..kernel.calculus import soft_and, soft_not
from .paths import GivenStatements, QueryPaths
from .products import Products, multiply_add
from .space import Attentions

Squash = Callable[[Tensor], Tensor]


def clamp(count: Tensor) -> Tensor:
    """Return min(1, count): 0 and 1 are unchanged, so one-hot attentions give the exact value."""
    return count.clamp(max=1.0)


def sigmoid(count: Tensor) -> Tensor:
    """Squash a `count` by the sigmoid, as in the paper: no path gives .5."""
    return torch.sigmoid(count)


@dataclass(frozen=True)
class Lifted:
    """The clamp, after each statement is divided by its largest value over the queries of the block (if below 1).

    Near-uniform attentions make every statement small, so that its negation, near 1 everywhere, dominates. The divisor
    is a constant for the gradient, and at least `floor`; with floor = 1 this is the clamp itself.
    """

    floor: float

    def __call__(self, count: Tensor) -> Tensor:
        with torch.no_grad():
            factor = 1.0 / count.amax(1, keepdim=True).clamp(min=self.floor, max=1.0)
        return (count * factor).clamp(max=1.0)


def path_values(paths: QueryPaths, attentions: Attentions) -> Tensor:
    """Return (rows, P, R): the value of every row in every slot."""
    shape = paths.shape
    restarts = attentions.members // paths.targets
    heads = shape.heads
    # (G * O, H * R) for each step: the attention of operator o for all heads and restarts
    table = attentions.operators.reshape(paths.targets, restarts, heads, shape.steps, shape.operators)
    table = table.permute(3, 0, 4, 2, 1).reshape(shape.steps, paths.targets * shape.operators, heads * restarts)
    start = paths.start.to(table.dtype)
    value = start[:, None].expand(-1, heads * restarts)
    slots = [start[:, None, None].expand(-1, 1, restarts)]
    for t, move in enumerate(paths.moves):
        value = multiply_add(value, table[t], move)
        slots.append(value.view(-1, heads, restarts))
    return torch.cat(slots, 1)


def statements(paths: QueryPaths | GivenStatements, attentions: Attentions, squash: Squash) -> Tensor:
    """Return (G, B, R, I * K): psi of every statement for every query."""
    if isinstance(paths, GivenStatements):
        return paths.values[:, :, None].expand(-1, -1, attentions.members // paths.targets, -1)
    return squash(statement_counts(paths, attentions))


def statement_counts(paths: QueryPaths, attentions: Attentions) -> Tensor:
    """Return what is squashed: the weighted number of groundings of every statement."""
    shape = paths.shape
    restarts = attentions.members // paths.targets
    value = path_values(paths, attentions)
    if shape.instances > 1:
        value = value.repeat(1, 1, shape.instances)

    def argument(attention: Tensor, pairs: Products) -> Tensor:
        """Return (pairs, I * R): the value of each pair's row, with slots weighted by the attention of its start."""
        split = attention.reshape(paths.targets, restarts, shape.instances, shape.predicates, shape.starts, shape.slots)
        table = split.permute(0, 3, 4, 5, 2, 1).reshape(-1, shape.slots, shape.instances * restarts)
        return multiply_add(value, table, pairs)

    left, right = argument(attentions.left, paths.left), argument(attentions.right, paths.right)
    left = torch.cat([left.new_ones(1, left.shape[1]), left])
    count = multiply_add(left, right, paths.meets)
    count = count.reshape(paths.targets, paths.queries, shape.predicates, shape.instances, restarts)
    return count.permute(0, 1, 4, 3, 2).reshape(paths.targets, paths.queries, restarts, shape.statements)


def formulas(psi: Tensor, attentions: Attentions) -> Tensor:
    """Return (G, B, R, outputs): both signs of every formula of every level, in the order of s_o.

    `psi` are the values of statements.
    """
    targets, _, restarts, _ = psi.shape
    signed = torch.cat([psi, soft_not(psi)], -1)
    every = [signed]
    for first, second in zip(attentions.first, attentions.second):
        one, two = (s.reshape(targets, restarts, *s.shape[1:]) for s in (first, second))
        value = soft_and(torch.einsum("gbrf,grcf->gbrc", signed, one), torch.einsum("gbrf,grcf->gbrc", signed, two))
        signed = torch.cat([value, soft_not(value)], -1)
        every.append(signed)
    return torch.cat(every, -1)


def scores(paths: QueryPaths | GivenStatements, attentions: Attentions, squash: Squash = clamp) -> Tensor:
    """Return (G, B, R): the score of every query under every restart of its target."""
    every = formulas(statements(paths, attentions, squash), attentions)
    output = attentions.output.reshape(paths.targets, -1, paths.shape.outputs)
    return torch.einsum("gbrf,grf->gbr", every, output)
