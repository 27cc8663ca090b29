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
from ..evaluation import Answer, Predictor
from ..evaluation.ranking import Ranker
from ..explanation import Explainer
from ..explanation.firing import Firing
from ..kernel.bodies import NO_STEP
from ..kernel.evaluator import Evaluator
from ..kernel.ruleset import FIRST, NO_ENTITY, SECOND, RuleSet
from ..logic.query import Query
from ..logic.rule import Rule
from .table import RuleTable

KEPT_ANSWERS = 32
"""Questions whose answers are kept: turning a page asks the same one again."""


class TargetRanker(Ranker):
    """Some rules of one target over the indexes of another Ranker."""

    def __init__(self, base: Ranker, rules: RuleSet) -> None:
        vars(self).update(vars(base))
        self.rules = rules

    def rules_of(self, target: int) -> RuleSet:
        return self.rules


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

    def __init__(self, rules: RuleSet, rows: Longs, kb: KnowledgeBase) -> None:
        self.rows, self.rules, self.kb = rows, rules.take(rows), kb
        self.reject(np.zeros(len(rows), bool))

    def reject(self, rejected: Mask) -> None:
        """From now on answers rest on the other rules."""
        self.active = self.rules.take(~rejected) if rejected.any() else self.rules
        self.active_rows = self.rows[~rejected] if rejected.any() else self.rows
        self._answers: dict[tuple[str, int], list[Answer]] = {}

    @cached_property
    def table(self) -> RuleTable:
        return RuleTable(self.rules, self.rows)

    def answers(self, query: Query, top: int, base: Predictor) -> list[Answer]:
        """The best answers; `base` has the indexes."""
        key = (str(query), top)
        if key not in self._answers:
            predictor = copy(base)
            predictor.rules = self.active.take(self._can_answer(query))
            predictor.ranker = TargetRanker(base.ranker, predictor.rules)
            while len(self._answers) >= KEPT_ANSWERS:
                self._answers.pop(next(iter(self._answers)))
            self._answers[key] = predictor.predict(query, top)
        return self._answers[key]

    def _can_answer(self, query: Query) -> Mask:
        """Rules that can say something about p(a, ?) or p(?, a): their constant is a, or their body begins there."""
        rules = self.active
        ids = entity_ids(self.kb, query.arguments)
        if len(query.arguments) == 1 or len(ids) != 1:
            return np.ones(len(rules), bool)
        known, asked = (SECOND, FIRST) if query.arguments[0] is None else (FIRST, SECOND)
        can = (rules.fixed == 0) | rules.is_program
        can |= (rules.fixed == known) & (rules.head_entity == ids[0])
        return can | ((rules.fixed == asked) & begins_at(rules, self.kb, ids))

    def explainer(self, entities: Sequence[int], base: Explainer, only_firing: bool = False) -> tuple[Explainer, Longs]:
        """Explains facts about these entities; and the rows, in the run, of the rules it works with."""
        rules = self.active
        is_one = np.zeros(self.kb.num_entities + 1, bool)
        is_one[[*entities, NO_ENTITY]] = True
        fits = is_one[rules.head_entity]
        if only_firing:
            fits &= (rules.fixed == 0) | begins_at(rules, self.kb, entities)
        other = copy(base)
        other.rules = rules.take(fits)
        other.firing = Firing(other.rules, base.kb, base.firing.memory, base.firing.graph)
        # A cached property: what is put in its place is not made again.
        vars(other.firing)["evaluator"] = TogetherEvaluator(base.firing.evaluator, entities)
        return other, self.active_rows[fits]


def begins_at(rules: RuleSet, kb: KnowledgeBase, entities: Sequence[int]) -> Mask:
    """Of each rule whether the first step of its line is there at one of the entities, and if it is its only one, leads
    to the line's end: where not, the line holds for none of them. Rules of other bodies are not looked at."""
    if kb.facts.weight is not None or not len(rules):
        return np.ones(len(rules), bool)
    lines = rules.bodies.lines
    step_there = np.zeros(kb.num_codes + 1, bool)
    end_there = np.zeros(kb.num_entities + 3, bool)
    step_there[NO_STEP] = end_there[-3:] = True  # anchors that are no entity
    for entity in entities:
        span = slice(*kb.adjacency.pointer[entity : entity + 2])
        step_there[kb.adjacency.code[span]] = True
        end_there[kb.adjacency.neighbour[span]] = True
    end_there[list(entities)] = True
    # Who is in a unary predicate is not looked up: lines that begin with one are few.
    step_there[:-1] |= np.repeat([predicate.arity == 1 for predicate in kb.predicates], 2)
    can = step_there[lines.steps[:, 0]] & ((lines.lengths > 1) | end_there[lines.end])
    return np.append(can, True)[rules.line]


def entity_ids(kb: KnowledgeBase, names: Sequence[str | None]) -> list[int]:
    return [kb.entities.id(name) for name in names if name is not None]
