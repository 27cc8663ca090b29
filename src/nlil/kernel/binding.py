"""Rules over another vocabulary: translate ids by name, and leave out rules with unknown names."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Longs
from ..data.kb import KnowledgeBase
from .bodies import ANY_NODE, NO_STEP, Bodies, Lines, step_dtype
from .ruleset import RuleSet

UNKNOWN_ENTITY = ANY_NODE - 1
"""Stands for an entity that the other vocabulary does not have; no anchor has this number."""


@dataclass(frozen=True, eq=False)
class Bound:
    """`rules` in the ids of a knowledge base, and what was left out.

    `unknown_constants` and `unknown_predicates` are row numbers of the original rules; a rule with an unknown predicate
    is not listed again for an unknown constant. `unknown_exclusion` is the number of exclusions left out.
    """

    rules: RuleSet
    unknown_constants: Longs
    unknown_predicates: Longs
    unknown_exclusion: int = 0

    @property
    def kept(self) -> Longs:
        """The row numbers of the original rules that `rules` contains."""
        lost = np.concatenate((self.unknown_constants, self.unknown_predicates))
        return np.delete(np.arange(len(self.rules) + len(lost)), lost)

    @property
    def unknown_constant(self) -> int:
        """The number of rules with an unknown constant."""
        return len(self.unknown_constants)

    @property
    def unknown_predicate(self) -> int:
        """The number of rules with an unknown predicate."""
        return len(self.unknown_predicates)


def bind(rules: RuleSet, kb: KnowledgeBase) -> Bound:
    """Return the rules in the ids of `kb`; rules with a name that `kb` does not have are left out and counted."""
    if rules.predicates == kb.predicates and (rules.entities is kb.entities or rules.entities == kb.entities):
        return Bound(rules, np.zeros(0, np.int64), np.zeros(0, np.int64))
    known = frozenset(kb.predicates)
    exclusions = tuple(e for e in rules.exclusions if e.is_about(known))
    index = {p: i for i, p in enumerate(kb.predicates)}
    predicate = np.array([index.get(p, -1) for p in rules.predicates], np.int64)
    entity = kb.entities.ids_of(rules.entities)
    entity = np.concatenate((np.where(entity < 0, UNKNOWN_ENTITY, entity), [ANY_NODE, ANY_NODE + 1, ANY_NODE + 2]))
    lines, code = rules.bodies.lines, rules.bodies.lines.steps.astype(np.int64)
    steps = np.where(code == NO_STEP, NO_STEP, 2 * predicate[code >> 1] + (code & 1))
    renamed = Lines(
        entity[lines.start].astype(np.int32),
        steps.astype(step_dtype(kb.num_codes)),
        entity[lines.end].astype(np.int32),
        lines.distinct,
    )
    head_entity = np.where(rules.head_entity < 0, rules.head_entity, entity[rules.head_entity])
    lost, foreign = predicate[rules.head] < 0, head_entity == UNKNOWN_ENTITY
    if len(rules):
        lost |= rules.bodies.any_line(((code != NO_STEP) & (steps < 0)).any(axis=1))[rules.body]
        foreign |= rules.bodies.any_line(renamed.uses(UNKNOWN_ENTITY))[rules.body]
    foreign &= ~lost
    bound = replace(
        rules,
        predicates=kb.predicates,
        entities=kb.entities,
        bodies=Bodies(renamed, rules.bodies.pointer, rules.bodies.ops),
        head=predicate[rules.head].astype(np.int32),
        head_entity=head_entity.astype(np.int32),
        exclusions=exclusions,
    )
    # Bodies that are no longer used may contain invalid ids.
    kept = replace(bound.take(~(lost | foreign)).compact(), calibration=rules.calibration)
    return Bound(kept, np.flatnonzero(foreign), np.flatnonzero(lost), len(rules.exclusions) - len(exclusions))
