"""Shelf: the rules of one predicate taken out of the run, with what answers about it need. Kept for the next question.

A run may have ten million rules and a predicate a million; a question about one fact needs the few thousand whose
head fits it. Taking these first makes every later step as quick as on a small run.
"""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.kb import KnowledgeBase
from ..evaluation import Answer, Predictor
from ..evaluation.ranking import Ranker
from ..explanation import Explainer
from ..explanation.firing import Firing
from ..kernel.coding import FIRST, FREE, NO_STEP, OTHER, SECOND
from ..kernel.evaluator import Evaluator
from ..kernel.ruleset import RuleSet
from ..logic.query import Query
from ..logic.rule import Rule
from .table import RuleTable

KEPT_ANSWERS = 32
"""Questions whose answers are kept: turning a page asks the same one again."""
RUN = 20
"""Rows of a run, on the average, from which on runs are copied one by one."""


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
        self.rows, self.rules, self.kb = rows, taken(rules, rows), kb
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
        lines = slice(rules.num_lines)
        can = np.ones(len(rules), bool)
        can[lines] = rules.fixed == 0
        can[lines] |= (rules.fixed == known) & (rules.head_entity == ids[0])
        can[lines] |= (rules.fixed == asked) & begins_at(rules, self.kb, ids)
        return can

    def explainer(self, entities: Sequence[int], base: Explainer, only_firing: bool = False) -> tuple[Explainer, Longs]:
        """Explains facts about these entities; and the rows, in the run, of the rules it works with."""
        rules = self.active
        is_one = np.zeros(self.kb.num_entities + 1, bool)
        is_one[[*entities, FREE]] = True
        fits = np.ones(len(rules), bool)
        fits[: rules.num_lines] = is_one[rules.head_entity]
        if only_firing:
            fits[: rules.num_lines] &= (rules.fixed == 0) | begins_at(rules, self.kb, entities)
        other = copy(base)
        other.rules = rules.take(fits)
        other.firing = Firing(other.rules, base.kb, base.firing.memory, base.firing.graph)
        # A cached property: what is put in its place is not made again.
        vars(other.firing)["evaluator"] = TogetherEvaluator(base.firing.evaluator, entities)
        return other, self.active_rows[fits]


def taken(rules: RuleSet, rows: Longs) -> RuleSet:
    """rules.take(rows) for ascending rows. Those of a predicate stand in a few runs, and a run is copied at once."""
    begins = np.flatnonzero(np.diff(rows, prepend=-2) != 1)
    lines = rows[rows < rules.num_lines]
    if len(begins) * RUN >= len(rows) or len(lines) < len(rows):
        return rules.take(rows)
    spans = [slice(int(part[0]), int(part[-1]) + 1) for part in np.split(rows, begins[1:])]
    columns = {
        name: np.concatenate([column[span] for span in spans])
        for name, column in vars(rules).items()
        if isinstance(column, np.ndarray)
    }
    return replace(rules, **columns)  # type: ignore[arg-type]


def begins_at(rules: RuleSet, kb: KnowledgeBase, entities: Sequence[int]) -> Mask:
    """Of each line whether its first step is there at one of the entities, and if it is its only one, leads to the
    line's end: where not, the line holds for none of them."""
    if kb.facts.weight is not None:
        return np.ones(rules.num_lines, bool)
    step_there = np.zeros(kb.num_codes + 1, bool)
    end_there = np.zeros(kb.num_entities + 2, bool)
    step_there[NO_STEP] = end_there[FREE] = end_there[OTHER] = True
    for entity in entities:
        span = slice(*kb.adjacency.pointer[entity : entity + 2])
        step_there[kb.adjacency.code[span]] = True
        end_there[kb.adjacency.neighbour[span]] = True
    end_there[list(entities)] = True
    # Who is in a unary predicate is not looked up: lines that begin with one are few.
    step_there[:-1] |= np.repeat([predicate.arity == 1 for predicate in kb.predicates], 2)
    can = step_there[rules.steps[:, 0]]
    is_one_step = rules.steps[:, 1] == NO_STEP if rules.steps.shape[1] > 1 else np.ones(rules.num_lines, bool)
    return can & (~is_one_step | end_there[rules.end])


def entity_ids(kb: KnowledgeBase, names: Sequence[str | None]) -> list[int]:
    return [kb.entities.id(name) for name in names if name is not None]
