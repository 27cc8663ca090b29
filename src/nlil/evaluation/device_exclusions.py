"""What is no candidate, for many queries at once, on any device of torch: exclusions, and answers that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Longs
from ..data.facts import Facts
from ..kernel.aggregation import compare, tie_bounds
from ..kernel.calculus import ranges, unique_pairs

if TYPE_CHECKING:
    from .device_ranking import DeviceRanker


def exclude(
    total: Tensor, known: Tensor, excluded: Tensor, owner: Tensor, pointer: Tensor, code: Tensor, neighbour: Tensor
) -> Tensor:
    """total[i, b] = 0 wherever an edge from known[i] to b has a code that excluded[owner[i]] marks; changes `total`.

    (pointer, code, neighbour) are the edges of every entity.
    """
    row, edge = ranges(pointer[known], pointer[known + 1])
    out = excluded[owner[row], code[edge]]
    total[row[out], neighbour[edge[out]]] = 0
    return total


class KnownAnswers:
    """Known answers of every target and direction, sorted by (code, entity)."""

    def __init__(self, ranker: DeviceRanker, known: Facts) -> None:
        self.ranker = ranker
        facts = known[~known.is_unary]
        n = ranker.num_entities
        p, s, o = (a.astype(np.int64) for a in (facts.predicate, facts.subject, facts.object))
        pair = np.concatenate((2 * p * n + s, (2 * p + 1) * n + o))
        self.pair, self.answer = unique_pairs(ranker.put(pair), ranker.put(np.concatenate((o, s))), n)

    def ranks(self, totals: Tensor, which: Longs, code: Longs, query: Longs, answer: Longs) -> np.ndarray:
        """Above and tied of answer[i] in totals[which[i]], other known answers left out."""
        r = self.ranker
        total = totals[r.put(which)]
        target = r.put(answer)
        own = total.gather(1, target[:, None])[:, 0]
        low, high = (r.put(bound) for bound in tie_bounds(own.cpu().numpy()))
        above, tied = (holds.sum(1) for holds in compare(total, low[:, None], high[:, None]))
        pair = r.put(code * r.num_entities + query)
        row, place = ranges(torch.searchsorted(self.pair, pair), torch.searchsorted(self.pair, pair, right=True))
        other = self.answer[place]
        keep = other != target[row]
        row, other = row[keep], other[keep]
        for count, holds in zip((above, tied), compare(total[row, other], low[row], high[row])):
            count.index_add_(0, row, -holds.to(torch.int64))
        return torch.stack((above, tied)).cpu().numpy()
