"""Sums over segments of any length, cut into pieces of bounded length for a GPU.

A row of an attention table may gather millions of entries while most rows gather a few. Each piece is summed
alone, in the order of its entries; the sums of the pieces of a long segment are rows behind the results, and
the next round sums those. Who adds what to what depends on the lengths alone, so results repeat to the bit.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from ..kernel.calculus import ranges

PIECE = 128


@dataclass(frozen=True, eq=False)
class Round:
    """out[row] = sum of begin .. end - 1: of entries in the first round, of rows of `out` itself in the later ones."""

    begin: Tensor  # int32 (pieces,)
    end: Tensor
    row: Tensor

    def __len__(self) -> int:
        return len(self.row)


@dataclass(frozen=True, eq=False)
class Rounds:
    rounds: tuple[Round, ...]
    num_segments: int
    num_rows: int  # the segments, then the sums of pieces that a later round sums

    @classmethod
    def of(cls, pointer: Tensor, piece: int = PIECE) -> Rounds:
        """`pointer` (segments + 1,): where the entries of each segment begin and end. Empty segments are one piece."""
        segments = len(pointer) - 1
        segment = torch.arange(segments, device=pointer.device)
        low, high = pointer[:-1], pointer[1:]
        rounds, rows = [], segments
        while len(segment):
            parts = ((high - low + piece - 1) // piece).clamp(min=1)
            which, part = ranges(torch.zeros_like(parts), parts)
            begin = low[which] + part * piece
            end = torch.minimum(begin + piece, high[which])
            partial = parts[which] > 1
            row = torch.where(partial, rows + torch.cumsum(partial, 0) - 1, segment[which])
            rounds.append(Round(begin.to(torch.int32), end.to(torch.int32), row.to(torch.int32)))
            unfinished = parts > 1
            segment, parts = segment[unfinished], parts[unfinished]
            high = rows + torch.cumsum(parts, 0)
            low = high - parts
            rows += int(parts.sum())
        return cls(tuple(rounds), segments, rows)
