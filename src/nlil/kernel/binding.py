"""Rules over another vocabulary: translate ids by name, leave out what the other side cannot say."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ..data.kb import KnowledgeBase
from .coding import NO_STEP
from .ruleset import RuleSet, step_dtype


@dataclass(frozen=True)
class Bound:
    """`rules` in the ids of a knowledge base, and how many rules and exclusions could not be said there."""

    rules: RuleSet
    unknown_constant: int
    unknown_predicate: int
    unknown_exclusion: int = 0


def bind(rules: RuleSet, kb: KnowledgeBase) -> Bound:
    """The same rules in the ids of `kb`; rules with a name unknown there are left out and counted."""
    if rules.predicates == kb.predicates and (rules.entities is kb.entities or rules.entities == kb.entities):
        return Bound(rules, 0, 0)
    known = frozenset(kb.predicates)
    exclusions = tuple(e for e in rules.exclusions if e.is_about(known))
    index = {p: i for i, p in enumerate(kb.predicates)}
    predicate = np.array([index.get(p, -1) for p in rules.predicates], np.int64)
    # Slots -1 and -2 keep their meaning (FREE, OTHER); an unknown entity becomes -3.
    entity = kb.entities.ids_of(rules.entities).astype(np.int64)
    entity[entity < 0] = -3
    entity = np.concatenate((entity, [-2, -1]))
    lines = rules.num_lines
    head = predicate[rules.head]
    code = rules.steps.astype(np.int64)
    mapped = np.where(code == NO_STEP, NO_STEP, 2 * predicate[code >> 1] + (code & 1))
    lost = head < 0
    lost[:lines] |= ((code != NO_STEP) & (mapped < 0)).any(axis=1)
    head_entity, end = entity[rules.head_entity], entity[rules.end]
    foreign = np.zeros(len(rules), bool)
    foreign[:lines] = (head_entity == -3) | (end == -3)
    for i, rule in enumerate(rules.general):
        lost[lines + i] |= any(p not in index for p in rule.predicates)
        foreign[lines + i] = any(name not in kb.entities for name in rule.constants)
    foreign &= ~lost
    renamed = replace(
        rules,
        predicates=kb.predicates,
        entities=kb.entities,
        head=head.astype(np.int32),
        head_entity=head_entity.astype(np.int32),
        end=end.astype(np.int32),
        steps=mapped.astype(step_dtype(kb.num_codes)),
        exclusions=exclusions,
    )
    return Bound(
        renamed.take(~(lost | foreign)), int(foreign.sum()), int(lost.sum()), len(rules.exclusions) - len(exclusions)
    )
