"""Exclusions for many queries at once, on any device of torch: what `scoring.score_query` does for one."""

from __future__ import annotations

from torch import Tensor

from ..engine.calculus import ranges


def exclude(total: Tensor, known: Tensor, excluded: Tensor, owner: Tensor, pointer: Tensor, code: Tensor,
            neighbour: Tensor) -> Tensor:
    """total[i, b] = 0 wherever an edge from known[i] to b has a code that excluded[owner[i]] marks; changes `total`.

    (pointer, code, neighbour) are the edges of every entity.
    """
    row, edge = ranges(pointer[known], pointer[known + 1])
    out = excluded[owner[row], code[edge]]
    total[row[out], neighbour[edge[out]]] = 0
    return total
