"""The classes of one object, most probable first: what `explain RUN OBJECT` is about."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.arrays import Longs
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..evaluation.members import MemberScorer
from ..kernel.aggregation import SCALE, score
from ..kernel.binding import bind
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Fact, Predicate
from ..logic.text import atom_text


@dataclass(frozen=True)
class ObjectClasses:
    """`ranked` are (class, score), best first, the object's own classes hidden; `true` are those of the data.

    `probability` stands beside `ranked` where weights were fitted for it (preset=scene); else it is empty.
    """

    name: str
    ranked: tuple[tuple[Predicate, float], ...]
    true: tuple[Predicate, ...]
    probability: tuple[float, ...] = ()

    @property
    def fact(self) -> Fact:
        """That the object is of its most probable class."""
        return Fact(self.ranked[0][0], (self.name,))

    def to_dict(self, top: int = 5) -> dict[str, Any]:
        return {
            "object": self.name,
            "true": [p.name for p in self.true],
            "candidates": [
                {"class": p.name, "score": value, **chance}
                for (p, value), chance in zip(self.ranked[:top], self._chances(top))
            ],
        }

    def _chances(self, top: int) -> list[dict[str, float]]:
        return [{"probability": p} for p in self.probability[:top]] or [{}] * min(top, len(self.ranked))


def ranked_classes(
    rules: RuleSet, scorer: MemberScorer, kb: KnowledgeBase, x: int, evidence: Longs | None = None
) -> tuple[tuple[tuple[Predicate, float], ...], tuple[float, ...]]:
    """(class, score) of the scorer's targets, best first, and their probabilities where the rules give such.

    `evidence` of each target is computed unless it is given.
    """
    evidence = scorer.evidence(np.array([x], np.int32))[0] if evidence is None else evidence
    values, unit = score(evidence), rules.aggregation.unit
    classes = [kb.predicates[c] for c in scorer.targets.tolist()]
    order = sorted(range(len(classes)), key=lambda i: (-values[i], classes[i]))
    ranked = tuple((classes[i], float(values[i])) for i in order)
    if not unit:
        return ranked, ()
    odds = np.exp((evidence - evidence.max()) / SCALE / unit)
    return ranked, tuple((odds / odds.sum())[order].tolist())


def object_classes(rules: RuleSet, kb: KnowledgeBase, name: str, memory: int = 2**30) -> ObjectClasses:
    """Scores of all classes that have rules; the order of ties is that of the names."""
    rules = bind(rules, kb).rules
    x = kb.entities.id(name)
    with_rules = sorted(kb.classes.intersection(np.unique(rules.head).tolist()))
    if not with_rules:
        raise NlilError(
            f"{name}: the run has rules for no object class; learn some, or name a fact, as in "
            f"person({atom_text(name)})"
        )
    scorer = MemberScorer(rules, kb, np.asarray(with_rules, np.int32), 1, memory)
    ranked, probability = ranked_classes(rules, scorer, kb, x)
    own = kb.facts.predicate[kb.facts.is_unary & (kb.facts.subject == x)].tolist()
    return ObjectClasses(name, ranked, tuple(kb.predicates[p] for p in own if p in kb.classes), probability)
