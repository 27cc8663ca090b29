"""RuleStore: the rules of one predicate, as a table to browse and for answers about its facts.

A run may have ten million rules and a predicate a million; a query about one fact needs the few thousand whose head
matches it. Selecting these first makes every later step as fast as on a small run. A page of the table is selected by
column, without sorting the other rules.

`rules` and ids refer to `kb`; `target` is a predicate id.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from copy import copy
from functools import cached_property, lru_cache, partial

import numpy as np

from ..data.arrays import Doubles, Longs, Mask
from ..data.kb import KnowledgeBase
from ..evaluation.prediction import Answer, Predictor
from ..evaluation.ranking import Ranker
from ..explanation.firing import Firing
from ..explanation.why import Explainer
from ..kernel.bodies import NO_STEP
from ..kernel.constructs import construct_names, constructs, matching_rows
from ..kernel.graph import Graph
from ..kernel.ruleset import FIRST, NO_ENTITY, SECOND, RuleSet
from ..logic.query import Query

SORTS = ("weight", "confidence", "support", "length")
BY_VERDICT = ("accepted", "rejected", "none")
NO_MAX_LENGTH = 10**6
"""Longer than any rule."""
CACHED_ANSWERS = 32
"""Queries whose answers are cached; turning a page repeats the query."""
SAMPLE_PER_ROW = 16
"""Sampled rows per wanted row."""
Key = Callable[[Longs], np.ndarray]
"""Returns the sort key of some rows; a later key is computed only for ties of the keys before it."""


class RuleStore:
    """The rules of one predicate.

    Args:
        rules: All rules of the run.
        rows: The rows of the predicate, ascending.
        kb: The facts that queries are evaluated on.
        rejected: Which rows were rejected; answers do not use them.
    """

    def __init__(self, rules: RuleSet, rows: Longs, kb: KnowledgeBase, rejected: Mask) -> None:
        self.rows, self.rules, self.kb = rows, rules.take(rows), kb
        self.active = self.rules.take(~rejected) if rejected.any() else self.rules
        self.active_rows = rows[~rejected]
        self.answers = lru_cache(CACHED_ANSWERS)(self._answers)

    # the table ------------------------------------------------------------------------------------

    @cached_property
    def present(self) -> list[str]:
        """The constructs that occur; other choices would show nothing."""
        return construct_names(int(np.bitwise_or.reduce(constructs(self.rules), initial=0)))

    @cached_property
    def weights(self) -> Doubles:
        """The weight of each rule."""
        return self.rules.weights

    def matching(
        self,
        verdicts: np.ndarray,
        *,
        min_support: int = 0,
        min_confidence: float = 0.0,
        min_length: int = 0,
        max_length: int = NO_MAX_LENGTH,
        construct: str = "",
        verdict: str = "",
    ) -> Longs:
        """Return the positions of the rules to show, ascending; empty text matches everything.

        Args:
            verdicts: By position: 0 none, 1 accepted, 2 rejected.
            min_support: The least support.
            min_confidence: The least confidence.
            min_length: The fewest body atoms.
            max_length: The most body atoms.
            construct: One of CONSTRUCTS that the rule must have.
            verdict: One of BY_VERDICT.
        """
        length = None if (min_length, max_length) == (0, NO_MAX_LENGTH) else (min_length, max_length)
        some = matching_rows(
            self.rules, min_support=min_support, min_confidence=min_confidence, length=length, kind=construct
        )
        return some[verdicts[some] == (BY_VERDICT.index(verdict) + 1) % len(BY_VERDICT)] if verdict else some

    def part(self, positions: Longs, sort: str, is_rising: bool, begin: int, end: int) -> Longs:
        """Return these `positions` in the order of `sort`, from `begin` to `end` - 1.

        The best come first unless `is_rising`.
        """
        begin, end = min(begin, len(positions)), min(end, len(positions))
        # Best first means large numbers or short rules; ties by weight, support, length, row.
        keys = [partial(self._key, name) for name in dict.fromkeys((sort, "weight", "support", "length"))]
        if is_rising == (sort == "length"):
            return ranked_part(keys, positions, begin, end)
        return ranked_part(keys, positions, len(positions) - end, len(positions) - begin)[::-1]

    def _key(self, name: str, rows: Longs) -> np.ndarray:
        rules = self.rules
        match name:
            case "weight":
                return -self.weights[rows]
            case "confidence":
                return -(rules.support[rows] / np.maximum(rules.body_size[rows], 1))
            case "support":
                return -rules.support[rows]
            case _:
                return self.rules.lengths[rows]

    # answers --------------------------------------------------------------------------------------

    def _answers(self, query: Query, top: int, base: Predictor) -> list[Answer]:
        """Return the best answers; `base` has the indexes."""
        predictor = copy(base)
        predictor.rules = self.active.take(self.can_answer(query))
        predictor.ranker = TargetRanker(base.ranker, predictor.rules)
        return predictor.predict(query, top)

    def can_answer(self, query: Query) -> Mask:
        """Return which rules can contribute to `query`, p(a, ?) or p(?, a).

        Their head constant is a, or their body can begin at a.
        """
        rules = self.active
        ids = entity_ids(self.kb, query.arguments)
        if len(query.arguments) == 1 or len(ids) != 1:
            return np.ones(len(rules), bool)
        known, wanted = (SECOND, FIRST) if query.arguments[0] is None else (FIRST, SECOND)
        can = (rules.fixed == 0) | rules.is_program
        can |= (rules.fixed == known) & (rules.head_entity == ids[0])
        return can | ((rules.fixed == wanted) & begins_at(rules, self.kb, ids))

    def explainer(self, entities: Sequence[int], base: Explainer, only_firing: bool = False) -> tuple[Explainer, Longs]:
        """Return an Explainer for facts about these entities, and the rows of its rules in the run.

        Args:
            entities: Entity ids; rules for other constants are left out.
            base: An Explainer with the indexes.
            only_firing: Also leave out rules that hold for none of the facts, so misses are unknown.
        """
        rules = self.active
        is_one = np.zeros(self.kb.num_entities + 1, bool)
        is_one[[*entities, NO_ENTITY]] = True
        fits = is_one[rules.head_entity]
        if only_firing:
            fits &= (rules.fixed == 0) | begins_at(rules, self.kb, entities)
        other = copy(base)
        other.rules = rules.take(fits)
        other.firing = Firing(other.rules, base.kb, base.firing.memory, together=entities)
        return other, self.active_rows[fits]


class TargetRanker(Ranker):
    """Ranks with some `rules` of one target, using the indexes of another Ranker, `base`."""

    def __init__(self, base: Ranker, rules: RuleSet) -> None:
        vars(self).update(vars(base))
        self.rules = rules

    def rules_of(self, target: int) -> RuleSet:
        """Return its rules."""
        return self.rules


def begins_at(rules: RuleSet, kb: KnowledgeBase, entities: Sequence[int]) -> Mask:
    """Return which rules can hold for one of `entities`, by the first step of their line.

    The step must exist and, if it is the only one, lead to the end of the line. Bodies of several lines are not
    checked.
    """
    if kb.facts.weight is not None or not len(rules):
        return np.ones(len(rules), bool)
    lines = rules.bodies.lines
    step_there = np.zeros(kb.num_codes + 1, bool)
    end_there = np.zeros(kb.num_entities + 3, bool)
    graph = Graph.of(kb)
    step_there[NO_STEP] = end_there[-3:] = True  # anchors other than entities
    for entity in entities:
        edges = slice(*graph.pointer[entity : entity + 2])
        step_there[graph.code[edges]] = True
        end_there[graph.neighbour[edges]] = True
    end_there[list(entities)] = True
    # Unary predicates are not looked up; few lines begin with one.
    step_there[:-1] |= np.repeat([predicate.arity == 1 for predicate in kb.predicates], 2)
    can = step_there[lines.steps[:, 0]] & ((lines.lengths > 1) | end_there[lines.end])
    return np.append(can, True)[rules.line]


def entity_ids(kb: KnowledgeBase, names: Sequence[str | None]) -> list[int]:
    """Return the ids of those `names` that are not None."""
    return [kb.entities.id(name) for name in names if name is not None]


# the first rows of an order, without sorting all of them ------------------------------------------------


def ranked_part(keys: Sequence[Key], rows: Longs, begin: int, end: int) -> Longs:
    """Return rows[np.lexsort(...)][begin:end] by the `keys`, most significant first, ties by row; `rows` ascend.

    >>> ranked_part([np.array([3, 1, 2, 1]).take], np.arange(4), 1, 3).tolist()
    [3, 2]
    """
    if begin + end <= len(rows):
        inside = _first(keys, np.sort(_first(keys, rows, end, 1)), end - begin, -1)
    else:  # from the end, which leaves fewer rows
        inside = _first(keys, np.sort(_first(keys, rows, len(rows) - begin, -1)), end - begin, 1)
    return inside[np.lexsort((inside, *(key(inside) for key in reversed(keys))))]


def _first(keys: Sequence[Key], rows: Longs, count: int, sign: int) -> Longs:
    """Return the first `count` rows, or with sign -1 the last ones, in any order.

    Ties of a key are broken by the next.
    """
    found = []
    for key in keys:
        if not 0 < count < len(rows):
            break
        values = sign * key(rows)
        # A bound from a sample: all wanted rows are at or below it, so few are left to be ordered.
        sample = values[:: max(1, len(values) // (SAMPLE_PER_ROW * count))]
        near = values[values <= np.partition(sample, count - 1)[count - 1]]
        bound = np.partition(near, count - 1)[count - 1]
        found.append(rows[values < bound])
        rows, count = rows[values == bound], count - len(found[-1])
    found.append(rows[:count] if sign > 0 else rows[len(rows) - count :])
    return np.concatenate(found)
