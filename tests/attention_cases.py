"""Attentions of a target as a run keeps them, with a path that is known."""

from __future__ import annotations

import numpy as np

from nlil import KnowledgeBase
from nlil.logic.predicate import Predicate
from nlil.neural.space import Kind, Space, Start, operators_of

MAIN = 0.75
"""The weight of each choice that the rule takes; the others share the rest."""


def distribution(size: int, taken: int) -> np.ndarray:
    found = np.full(size, (1 - MAIN) / max(size - 1, 1), np.float32)
    found[taken] = MAIN
    return found


FAMILY = ("father", "mother", "married")


def uncle_attentions(kb: KnowledgeBase, names: tuple[str, str, str] = FAMILY) -> dict[str, np.ndarray]:
    """uncle(X, Y) :- father(Z1, X), father(Z1, Z2), mother(Z2, Y), and not married(X, Y): two steps, one level.

    Formula 1.1 joins mother(X after father⁻¹ and father, Y) and not married(X, Y), and is the rule. Formula 1.2 is not
    used. One start is padding. `names` are those of the three predicates.
    """
    ids = np.array([kb.predicate_id(Predicate(name, 2)) for name in names], np.int32)
    space = Space(
        kb.predicate_id(Predicate("uncle", 2)),
        2,
        operators_of(kb, ids),
        ids,
        (Start(Kind.X), Start(Kind.Y), Start(Kind.ANY), None),
    )
    operators = np.stack([distribution(6, 1), distribution(6, 0)])[None]  # against father, then along it
    slots, starts = 3, 4
    plain_x, plain_y, walked = 0, slots, 2

    def arguments(*taken: int) -> np.ndarray:
        found = np.stack([distribution(starts * slots, one) for one in taken]).reshape(-1, starts, slots)
        found[:, 3] = 0  # padding
        return found

    level = {"first.1": np.stack([distribution(6, 1), distribution(6, 0)])}
    level["second.1"] = np.stack([distribution(6, 3 + 2), distribution(6, 0)])
    named = {
        "operators": operators,
        "left": arguments(plain_x, walked, plain_x),
        "right": arguments(plain_y, plain_y, plain_y),
        **level,
        "output": distribution(2 * (3 + 2), 6),
        **space.arrays(),
    }
    return {f"uncle/2|{name}": array for name, array in named.items()}
