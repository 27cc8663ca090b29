"""What is no candidate, for many queries at once, on any device of torch: exclusions, and answers that are known."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Longs
from ..data.facts import Facts
from ..kernel.calculus import ranges
from .evidence import tie_bounds

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
        both = np.concatenate(((2 * p * n + s) * n + o, ((2 * p + 1) * n + o) * n + s))
        self.key = torch.unique(ranker.put(both))

    def ranks(self, totals: Tensor, which: Longs, code: Longs, query: Longs, answer: Longs) -> np.ndarray:
        """Above and tied of answer[i] in totals[which[i]], other known answers left out."""
        r = self.ranker
        total = totals[r.put(which)]
        target = r.put(answer)
        own = total.gather(1, target[:, None])[:, 0]
        low, high = (r.put(bound) for bound in tie_bounds(own.cpu().numpy()))
        above = (total >= high[:, None]).sum(1)
        tied = ((total >= low[:, None]) & (total < high[:, None])).sum(1)
        pair = r.put(code * r.num_entities + query) * r.num_entities
        row, place = ranges(torch.searchsorted(self.key, pair), torch.searchsorted(self.key, pair + r.num_entities))
        other = self.key[place] % r.num_entities
        keep = other != target[row]
        row, other = row[keep], other[keep]
        value = total[row, other]
        above.index_add_(0, row, -(value >= high[row]).to(torch.int64))
        tied.index_add_(0, row, -((value >= low[row]) & (value < high[row])).to(torch.int64))
        return torch.stack((above, tied)).cpu().numpy()
