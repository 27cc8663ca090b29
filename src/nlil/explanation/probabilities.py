"""From scores to probabilities: by a calibration, or for jointly fitted classes by a softmax."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..data.kb import KnowledgeBase
from ..evaluation.members import MemberScorer, class_chances
from ..kernel.calibration import Calibration, Probability
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Fact, Predicate
from ..logic.rule import Head, Rule


class Probabilities:
    """Maps scores to probabilities, over one base.

    Args:
        rules: The rules that score; those of all classes, since classes compete.
        kb: The facts that the rules are evaluated on.
        calibration: The map for other predicates; by default that of the rules.
        memory: Bytes that one evaluation may take.
    """

    def __init__(
        self, rules: RuleSet, kb: KnowledgeBase, calibration: Calibration | None = None, memory: int = 2**30
    ) -> None:
        self.rules, self.kb, self.memory = rules, kb, memory
        self.calibration = rules.calibration if calibration is None else calibration
        self._known: tuple[str, dict[Predicate, float]] = ("", {})

    def over(self, kb: KnowledgeBase) -> Probabilities:
        """Return the same over another base."""
        return Probabilities(self.rules, kb, self.calibration, self.memory)

    def probability(self, fact: Fact, score: float) -> Probability | None:
        """Return the probability of `fact` with this `score`; None if unknown."""
        if self.is_joint(fact.predicate):
            chances = self.of_classes(fact.arguments[0])
            return Probability(chances[fact.predicate]) if fact.predicate in chances else None
        return None if self.calibration is None else self.calibration.estimate(score, fact.predicate.arity)

    def is_joint(self, predicate: Predicate) -> bool:
        """Return whether `predicate` is a class whose weights were fitted jointly with those of other classes."""
        return bool(self.rules.aggregation.unit) and self.kb.predicate_id(predicate) in self.kb.classes

    def of_classes(self, name: str) -> dict[Predicate, float]:
        """Return the probability of every class that has rules for the entity `name`, most probable first."""
        if self._scorer is None:
            return {}
        if self._known[0] == name:
            return self._known[1]
        evidence = self._scorer.evidence(np.array([self.kb.entities.id(name)], np.int32))[0]
        chances = class_chances(evidence, self.rules.aggregation.unit)
        classes = [self.kb.predicates[c] for c in self._scorer.targets.tolist()]
        order = sorted(range(len(classes)), key=lambda i: (-evidence[i], classes[i]))
        self._known = name, {classes[i]: float(chances[i]) for i in order}
        return self._known[1]

    def rival(self, fact: Fact, rule: Rule) -> Predicate | None:
        """Return the most probable class, other than that of `fact`, that the absence in `rule` counts against.

        The rule must not support that class as well.
        """
        if not self.is_joint(fact.predicate):
            return None
        for other in self.of_classes(fact.arguments[0]):
            same = replace(rule, head=Head(other, rule.head.arguments))
            if other != fact.predicate and not len(self.rules.rows_of(same)):
                return other
        return None

    @cached_property
    def _scorer(self) -> MemberScorer | None:
        classes = sorted(self.kb.classes.intersection(np.unique(self.rules.head).tolist()))
        return MemberScorer(self.rules, self.kb, np.asarray(classes, np.int32), 1, self.memory) if classes else None
