"""Wrong facts, planted on purpose: facts of a base replaced by random ones of the right type.

    p(a, b)   becomes p(a, c) or p(c, b), where c stands at that place of another fact of p
    class(x)  becomes another class of x
    p(x)      becomes p(y), where y is in some unary fact

No planted fact is known, and none relates an entity to itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase

TRIES = 20
"""How often another entity is drawn before a fact is left as it is: its predicate may hold of nearly all pairs."""


class PlantedFacts(NamedTuple):
    """The base `kb` with `wrong` facts in place of others."""

    kb: KnowledgeBase
    wrong: Facts


def plant(kb: KnowledgeBase, rows: Longs, known: Facts, random: np.random.Generator) -> PlantedFacts:
    """Replace facts by wrong ones.

    Args:
        kb: The facts. With many graphs in one base, binary facts stay as they are.
        rows: The rows of `kb.facts` to replace.
        known: Facts that are true, beside those of `kb`.
        random: Draws the wrong facts.
    """
    known, left = kb.facts + known, np.sort(rows)
    replaced, parts = np.zeros(len(kb.facts), bool), [Facts.empty()]
    for _ in range(TRIES):
        drawn, is_drawn = _draw(kb, kb.facts[left], random)
        taken = Facts.join([known, *parts])
        good = is_drawn & ~drawn.isin(taken) & (drawn.subject != drawn.object) & _is_first(drawn)
        parts.append(drawn[good])
        replaced[left[good]] = True
        left = left[~good]
        if not len(left):
            break
    wrong = Facts.join(parts)
    return PlantedFacts(kb.with_facts(kb.facts[~replaced] + wrong), wrong.unique())


def _draw(kb: KnowledgeBase, facts: Facts, random: np.random.Generator) -> tuple[Facts, Mask]:
    """A replacement for each of `facts`, and whether there is one."""
    predicate, ends = facts.predicate.copy(), (facts.subject.copy(), facts.object.copy())
    is_drawn = np.zeros(len(facts), bool)
    classes = np.array(sorted(kb.classes), np.int32)
    anybody = np.unique(kb.unary.subject)
    for target in np.unique(facts.predicate).tolist():
        mine = np.flatnonzero(facts.predicate == target)
        if facts.object[mine[0]] < 0:
            if target in kb.classes:
                predicate[mine] = classes[random.integers(len(classes), size=len(mine))]
            elif kb.graph_of is None:
                ends[0][mine] = anybody[random.integers(len(anybody), size=len(mine))]
            else:
                continue
        elif kb.graph_of is None:
            of_target = kb.facts.of(target)
            pools: list[Ids] = [np.unique(of_target.subject), np.unique(of_target.object)]
            side = random.integers(2, size=len(mine))
            for which in (0, 1):
                some = mine[side == which]
                ends[which][some] = pools[which][random.integers(len(pools[which]), size=len(some))]
        else:
            continue
        is_drawn[mine] = True
    return Facts(predicate, *ends), is_drawn


def _is_first(facts: Facts) -> Mask:
    """Which facts are not the same as an earlier one."""
    columns = np.stack((facts.predicate, facts.subject, facts.object))
    first = np.zeros(len(facts), bool)
    first[np.unique(columns, axis=1, return_index=True)[1]] = True
    return first
