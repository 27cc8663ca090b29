"""The cheapest cover: which candidates cover every positive example at the least cost.

Branch and bound: the example that the fewest candidates cover is covered first, by the candidates that cover most for
their cost; the lower bound charges every example its cheapest share of a candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

MAX_BRANCHES = 5_000
"""Limit of the branches; then the best cover so far is returned, which may not be the cheapest."""


class Cover(NamedTuple):
    """Numbers of the `chosen` candidates, their `cost`, and whether it `is_least`."""

    chosen: tuple[int, ...]
    cost: int
    is_least: bool


def undominated(costs: Sequence[int], masks: Sequence[int]) -> list[int]:
    """Return the candidates that are not dominated by one with the same or lower cost; ties go to the first.

    `costs` and `masks` (bit sets of examples) belong to the candidates.
    """
    best: dict[int, int] = {}
    for i, mask in enumerate(masks):
        if mask and (mask not in best or costs[i] < costs[best[mask]]):
            best[mask] = i
    order = sorted(best.values(), key=lambda i: (costs[i], -masks[i].bit_count(), i))
    kept: list[int] = []
    for i in order:
        if not any(masks[i] | masks[j] == masks[j] for j in kept):
            kept.append(i)
    return kept


def cheapest_cover(
    costs: Sequence[int], masks: Sequence[int], wanted: int, most: int, max_chosen: int = 1_000
) -> Cover | None:
    """Return the cheapest choice of candidates whose masks together contain `wanted`; None if there is none.

    Args:
        costs: What each candidate costs.
        masks: The examples that each candidate covers, as bits.
        wanted: The examples to cover.
        most: Only covers that cost less are of interest.
        max_chosen: The most candidates of a cover.
    """
    masks = [mask & wanted for mask in masks]
    kept = undominated(costs, masks)
    union = 0
    for i in kept:
        union |= masks[i]
    if union != wanted:
        return None
    return _Branches([costs[i] for i in kept], [masks[i] for i in kept], max_chosen).search(wanted, most, kept)


class _Branches:
    def __init__(self, costs: Sequence[int], masks: Sequence[int], max_chosen: int) -> None:
        self.costs, self.masks, self.max_chosen = costs, masks, max_chosen
        self.num_branches = 0
        self.best: tuple[int, ...] | None = None
        self.best_cost = 0

    def search(self, wanted: int, most: int, numbers: Sequence[int]) -> Cover | None:
        self.best_cost = most
        self.of = {
            bit: [i for i, mask in enumerate(self.masks) if mask >> bit & 1]
            for bit in range(wanted.bit_length())
            if wanted >> bit & 1
        }
        self._branch(wanted, (), 0)
        if self.best is None:
            return None
        chosen = tuple(sorted(numbers[i] for i in self.best))
        return Cover(chosen, self.best_cost, self.num_branches < MAX_BRANCHES)

    def _branch(self, left: int, chosen: tuple[int, ...], cost: int) -> None:
        if not left:
            self.best, self.best_cost = chosen, cost
            return
        self.num_branches += 1
        if self.num_branches >= MAX_BRANCHES or len(chosen) >= self.max_chosen:
            return
        if cost + self._least(left) >= self.best_cost:
            return
        rarest = min((bit for bit in self.of if left >> bit & 1), key=lambda bit: (len(self.of[bit]), bit))
        order = sorted(self.of[rarest], key=lambda i: (self.costs[i] / (self.masks[i] & left).bit_count(), i))
        for i in order:
            if cost + self.costs[i] < self.best_cost:
                self._branch(left & ~self.masks[i], (*chosen, i), cost + self.costs[i])

    def _least(self, left: int) -> int:
        """Return a lower bound of the cost of covering `left`: each example pays its cheapest share."""
        shares = [(self.costs[i] / n, n) for i, mask in enumerate(self.masks) if (n := (mask & left).bit_count())]
        if not shares:
            return self.best_cost
        total, need = 0.0, left.bit_count()
        cheapest = min(share for share, _ in shares)
        total = cheapest * need
        return int(-(-total // 1)) if total % 1 > 1e-9 else int(total)
