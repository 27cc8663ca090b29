"""The ways in which a rule holds that say most: each set of facts once, the most specific first."""

from __future__ import annotations

import math

from ..data.kb import KnowledgeBase
from ..kernel.grounding import Grounding, count_groundings, groundings
from ..logic.rule import Rule

MOST = 1000
"""Groundings of one rule are counted up to here: a hub can have millions."""
COMPARED = 200
"""So many are compared to find the most specific ones, where counting does not list them anyway."""


def specific_groundings(
    kb: KnowledgeBase, rule: Rule, x: int, y: int | None, limit: int, hide: bool = True
) -> tuple[tuple[Grounding, ...], int]:
    """Up to `limit` groundings, and how many there are (up to MOST)."""
    listed = groundings(kb, rule, x, y, limit=MOST if rule.distinct else max(limit, COMPARED), hide=hide)
    total = len(listed) if rule.distinct else count_groundings(kb, rule, x, y, hide=hide)
    different = unlike(listed)
    total -= len(listed) - len(different)
    return tuple(most_specific(kb, different)[: max(limit, 0)]), min(total, MOST)


def unlike(listed: list[Grounding]) -> list[Grounding]:
    """Of those that rest on the same facts and the same absences the first."""
    first: dict[object, Grounding] = {}
    for grounding in listed:
        first.setdefault((frozenset(grounding.facts), grounding.absent), grounding)
    return list(first.values())


def most_specific(kb: KnowledgeBase, listed: list[Grounding]) -> list[Grounding]:
    """More facts before fewer, then those whose entities occur in few other facts: a hub proves little.

    Equals stay in the order of ids.
    """
    if len(listed) < 2:
        return listed
    names = sorted({entity for grounding in listed for _, entity in grounding.bindings})
    degree = dict(zip(names, (_num_facts(kb, kb.entities.id(name)) for name in names)))

    def key(grounding: Grounding) -> tuple[int, float]:
        spread = sum(math.log1p(degree[entity]) for _, entity in grounding.bindings)
        return -len(grounding.facts), round(spread, 6)

    return sorted(listed, key=key)


def _num_facts(kb: KnowledgeBase, entity: int) -> int:
    return int(kb.adjacency.pointer[entity + 1] - kb.adjacency.pointer[entity])
