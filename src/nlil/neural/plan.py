"""Plan: everything about a block of queries that does not depend on the attentions, enumerated once.

Soft evaluation multiplies and adds along the same edges in every epoch; only the attentions change. A plan
holds those edges as index lists. Rows are (source, node): a *source* is one start of one query (queries that
cannot differ share it), a row exists where some path of at most T operators leads.

    moves[t]   step t + 1: value of a row = sum over edges of value of the row before * attention of the operator
    meets      statement k of query q = sum over edges k between a left row and a right row of
               left value * right value, each value first projected on the argument's attention
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from .space import Shape


@dataclass(frozen=True, eq=False)
class Products:
    """out[segment] = sum of weight * a[left] * b[right] over its entries; entries are sorted by segment."""

    segment: Tensor  # int32 (E,)
    left: Tensor  # int32 (E,), rows of a
    right: Tensor  # int32 (E,), rows of b
    weight: Tensor | None  # float32 (E,)
    num_segments: int
    num_left: int
    num_right: int

    def __len__(self) -> int:
        return len(self.segment)

    @cached_property
    def pointer(self) -> Tensor:
        return _pointer(self.segment, self.num_segments)

    @cached_property
    def by_left(self) -> tuple[Tensor, Tensor]:
        """(order, pointer): the entries by row of a; gradients are summed in this order on a GPU."""
        return _order(self.left, self.num_left)

    @cached_property
    def by_right(self) -> tuple[Tensor, Tensor]:
        return _order(self.right, self.num_right)


def _pointer(ascending: Tensor, size: int) -> Tensor:
    counts = torch.bincount(ascending, minlength=size)
    return torch.cat([counts.new_zeros(1), counts.cumsum(0)])


def _order(index: Tensor, size: int) -> tuple[Tensor, Tensor]:
    order = torch.argsort(index, stable=True)
    return order.to(torch.int32), _pointer(index[order], size)


@dataclass(frozen=True, eq=False)
class Projections:
    """Pairs (row, argument choice): out[pair] = the row's values in all slots . the argument's attention over them."""

    row: Tensor  # int32 (pairs,)
    choice: Tensor  # int32 (pairs,): (target * K + predicate) * N + start
    num_rows: int
    num_choices: int

    def __len__(self) -> int:
        return len(self.row)

    @cached_property
    def by_row(self) -> tuple[Tensor, Tensor]:
        return _order(self.row, self.num_rows)

    @cached_property
    def by_choice(self) -> tuple[Tensor, Tensor]:
        return _order(self.choice, self.num_choices)


@dataclass(frozen=True, eq=False)
class Plan:
    """One block: `targets` x `queries` (each target has the same number; `real` marks those that are no padding)."""

    shape: Shape
    targets: int
    queries: int
    real: Tensor  # bool (G, B)
    start: Tensor  # float32 (rows,): the value of slot 0
    moves: tuple[Products, ...]  # left: row, right: target * O + operator
    left: Projections  # entry 0 of the projected values is the constant 1, pairs follow
    right: Projections
    meets: Products  # segment: (target * B + query) * K + predicate

    @property
    def num_rows(self) -> int:
        return len(self.start)

    @property
    def size(self) -> int:
        """Entries that one evaluation walks."""
        return sum(len(m) for m in self.moves) + len(self.meets) + len(self.left) + len(self.right)
