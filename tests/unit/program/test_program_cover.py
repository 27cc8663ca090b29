"""The cheapest cover, against all subsets."""

from __future__ import annotations

import random
from itertools import combinations

import pytest

from nlil.program.cover import cheapest_cover


def by_hand(costs: list[int], masks: list[int], wanted: int, most: int, max_chosen: int) -> int | None:
    best: int | None = None
    for size in range(max_chosen + 1):
        for chosen in combinations(range(len(costs)), size):
            union, cost = 0, sum(costs[i] for i in chosen)
            for i in chosen:
                union |= masks[i]
            if union & wanted == wanted and cost < most and (best is None or cost < best):
                best = cost
    return best


@pytest.mark.parametrize("seed", range(60))
def test_cheapest_of_all_subsets(seed: int) -> None:
    rng = random.Random(seed)
    count, bits = rng.randint(1, 9), rng.randint(1, 7)
    costs = [rng.randint(1, 6) for _ in range(count)]
    masks = [rng.getrandbits(bits) for _ in range(count)]
    wanted, most, max_chosen = (1 << bits) - 1, rng.choice((8, 1_000)), rng.choice((2, 9))
    found = cheapest_cover(costs, masks, wanted, most, max_chosen)
    best = by_hand(costs, masks, wanted, most, max_chosen)
    assert (None if found is None else found.cost) == best
    if found is not None:
        assert found.is_least
        assert sum(costs[i] for i in found.chosen) == found.cost


def test_no_cover() -> None:
    assert cheapest_cover([1, 1], [0b01, 0b01], 0b11, 100) is None


def test_no_more_than_so_many() -> None:
    """Three candidates that each cover one example, and one that costs more than all of them."""
    masks = [0b001, 0b010, 0b100, 0b111]
    assert cheapest_cover([1, 1, 1, 9], masks, 0b111, 100, max_chosen=3) == ((0, 1, 2), 3, True)
    assert cheapest_cover([1, 1, 1, 9], masks, 0b111, 100, max_chosen=2) == ((3,), 9, True)
    assert cheapest_cover([1, 1, 1], masks[:3], 0b111, 100, max_chosen=2) is None
