"""The classes of one object, most probable first: what `explain RUN OBJECT` is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..evaluation.evidence import score
from ..evaluation.members import MemberScorer
from ..logic.predicate import Fact, Predicate
from ..logic.text import atom_text
from ..rules import RuleSet
from ..rules.binding import bind


@dataclass(frozen=True)
class ObjectClasses:
    """`ranked` are (class, score), best first, the object's own classes hidden; `true` are those of the data."""

    name: str
    ranked: tuple[tuple[Predicate, float], ...]
    true: tuple[Predicate, ...]

    @property
    def fact(self) -> Fact:
        """That the object is of its most probable class."""
        return Fact(self.ranked[0][0], (self.name,))

    def to_dict(self, top: int = 5) -> dict[str, Any]:
        return {"object": self.name, "true": [p.name for p in self.true],
                "candidates": [{"class": p.name, "score": value} for p, value in self.ranked[:top]]}


def object_classes(rules: RuleSet, kb: KnowledgeBase, name: str, memory: int = 2**30) -> ObjectClasses:
    """Scores of all classes that have rules; the order of ties is that of the names."""
    rules = bind(rules, kb).rules
    x = kb.entities.id(name)
    with_rules = sorted(kb.classes.intersection(np.unique(rules.head).tolist()))
    if not with_rules:
        raise NlilError(f"{name}: the run has rules for no object class; learn some, or name a fact, as in "
                        f"person({atom_text(name)})")
    scorer = MemberScorer(rules, kb, np.asarray(with_rules, np.int32), 1, memory)
    values = score(scorer.evidence(np.array([x], np.int32)))[0].tolist()
    ranked = sorted(zip((kb.predicates[c] for c in with_rules), values), key=lambda item: (-item[1], item[0]))
    own = kb.facts.predicate[kb.facts.is_unary & (kb.facts.subject == x)].tolist()
    return ObjectClasses(name, tuple(ranked), tuple(kb.predicates[p] for p in own if p in kb.classes))
