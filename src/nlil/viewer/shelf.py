"""Shelf: the rules of one predicate taken out of the run, with what answers about it need. Kept for the next question.

A run may have ten million rules and a predicate a million; a question about one fact needs the few thousand whose
head fits it. Taking these first makes every later step as quick as on a small run.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from functools import cached_property

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.kb import KnowledgeBase
from ..engine.evaluator import Evaluator
from ..evaluation import Answer, Predictor
from ..evaluation.plan import Plan
from ..evaluation.ranking import Ranker
from ..explanation import Explainer
from ..explanation.firing import Firing
from ..logic.query import Query
from ..logic.rule import Rule
from ..rules import RuleSet
from ..rules.coding import FREE
from .table import RuleTable

KEPT_ANSWERS = 32
"""Questions whose answers are kept: turning a page asks the same one again."""


class TargetRanker(Ranker):
    """The rules of one target over the indexes of another Ranker; a plan is made once."""

    def __init__(self, base: Ranker, rules: RuleSet) -> None:
        vars(self).update(vars(base))
        self.rules = rules
        self._plans_made: dict[tuple[int, int], tuple[Plan, RuleSet]] = {}

    def rows_of(self, target: int) -> Longs:
        return np.arange(len(self.rules))

    def target_plan(self, target: int, direction: int) -> tuple[Plan, RuleSet]:
        key = (target, direction)
        if key not in self._plans_made:
            self._plans_made[key] = super().target_plan(target, direction)
        return self._plans_made[key]


class TogetherEvaluator:
    """An Evaluator for facts about some entities: a rule that is asked for one of them is evaluated for all at once."""

    def __init__(self, evaluator: Evaluator, entities: Sequence[int]) -> None:
        self.evaluator, self.entities = evaluator, np.unique(np.asarray(entities, np.int64))
        self._found: dict[tuple[Rule, bool], Doubles] = {}

    def values(self, rule: Rule, x: Longs, y: Longs | None = None, hide: bool = False) -> Doubles:
        if y is not None or len(self.entities) < 2 or not np.isin(x, self.entities).all():
            return self.evaluator.values(rule, x, y, hide)
        if (rule, hide) not in self._found:
            self._found[rule, hide] = self.evaluator.values(rule, self.entities, None, hide)
        return self._found[rule, hide][np.searchsorted(self.entities, x)]


class Shelf:
    """`rows` are those of the predicate among all rules of the run, `rules` the rules there, rejected ones included."""

    def __init__(self, rules: RuleSet, rows: Longs) -> None:
        self.rows, self.rules = rows, rules.take(rows)
        self.reject(np.zeros(len(rows), bool))

    def reject(self, rejected: Mask) -> None:
        """From now on answers rest on the other rules."""
        self.active = self.rules.take(~rejected) if rejected.any() else self.rules
        self.active_rows = self.rows[~rejected] if rejected.any() else self.rows
        self._predictor: Predictor | None = None
        self._answers: dict[tuple[str, int], list[Answer]] = {}

    @cached_property
    def table(self) -> RuleTable:
        return RuleTable(self.rules, self.rows)

    def answers(self, query: Query, top: int, base: Predictor) -> list[Answer]:
        """The best answers; `base` has the indexes."""
        key = (str(query), top)
        if key not in self._answers:
            if self._predictor is None:
                self._predictor = copy(base)
                self._predictor.rules = self.active
                self._predictor.ranker = TargetRanker(base.ranker, self.active)
            while len(self._answers) >= KEPT_ANSWERS:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = self._predictor.predict(query, top)
        return self._answers[key]

    def explainer(self, entities: Sequence[int], base: Explainer) -> tuple[Explainer, Longs]:
        """Explains facts about these entities; and the rows, in the run, of the rules it works with."""
        rules = self.active
        fits = np.ones(len(rules), bool)
        fits[: rules.num_lines] = rules.head_entity == FREE
        for entity in entities:
            fits[: rules.num_lines] |= rules.head_entity == entity
        other = copy(base)
        other.rules = rules.take(fits)
        other.firing = Firing(other.rules, base.kb, base.firing.memory, base.firing.edges)
        # A cached property: what is put in its place is not made again.
        vars(other.firing)["evaluator"] = TogetherEvaluator(base.firing.evaluator, entities)
        return other, self.active_rows[fits]


def entity_ids(kb: KnowledgeBase, names: Sequence[str | None]) -> list[int]:
    return [kb.entities.id(name) for name in names if name is not None]
