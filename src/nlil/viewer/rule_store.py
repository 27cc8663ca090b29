"""RuleStore: the rules of one predicate taken out of the run, as a table to look at and for answers about its facts.

A run may have ten million rules and a predicate a million; a query about one fact needs the few thousand whose head
fits it. Taking these first makes every later step as quick as on a small run. A page of the table is picked out by
column, without sorting the other rules.

`rules` and ids are in the names of `kb`; `target` is a predicate id.
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
from ..kernel.bodies import AND, ANY_NODE, NO_STEP, NOT, OR, X_NODE, Y_NODE, unary_mask
from ..kernel.graph import Graph
from ..kernel.ruleset import FIRST, NO_ENTITY, SECOND, RuleSet
from ..logic.query import Query

CONSTRUCTS = ("chain", "constant", "type", "prior", "conjunction", "disjunction", "negation", "unanchored")
"""What a rule is made of, as people filter by it.

chain: a path from X to Y; constant: names an entity; type: says what an entity is, by a unary predicate;
unanchored: something of the graph that no path joins to X or Y."""
SORTS = ("weight", "confidence", "support", "length")
BY_VERDICT = ("accepted", "rejected", "none")
NO_MAX_LENGTH = 10**6
"""No rule is longer."""
CACHED_ANSWERS = 32
"""Queries whose answers are cached: turning a page asks the same one again."""
SAMPLE_PER_ROW = 16
"""Rows looked at first, for each one wanted."""
Key = Callable[[Longs], np.ndarray]
"""What rows are sorted by, for some of them: a later key is computed only where the keys before it are equal."""


class RuleStore:
    """The rules of one predicate.

    Args:
        rules: All rules of the run.
        rows: Those of the predicate, ascending.
        kb: The facts that queries look at.
        rejected: Of each row whether people rejected the rule: answers do not rest on it.
    """

    def __init__(self, rules: RuleSet, rows: Longs, kb: KnowledgeBase, rejected: Mask) -> None:
        self.rows, self.rules, self.kb = rows, rules.take(rows), kb
        self.active = self.rules.take(~rejected) if rejected.any() else self.rules
        self.active_rows = rows[~rejected]
        self.answers = lru_cache(CACHED_ANSWERS)(self._answers)

    # the table ------------------------------------------------------------------------------------

    @cached_property
    def constructs(self) -> np.ndarray:
        """For each rule the bits of what it is made of."""
        return constructs(self.rules)

    @property
    def present(self) -> list[str]:
        """The constructs that some rule has: a choice of others would show nothing."""
        return construct_names(int(np.bitwise_or.reduce(self.constructs, initial=0)))

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
        """Positions of the rules to show, ascending; empty text stands for anything.

        Args:
            verdicts: By position: 0 nothing, 1 accepted, 2 rejected.
            min_support: The smallest support of a rule to show.
            min_confidence: The smallest confidence.
            min_length: The fewest atoms of a body.
            max_length: The most atoms of a body.
            construct: One of CONSTRUCTS that the rule must have.
            verdict: One of BY_VERDICT.
        """
        keep = np.ones(len(self.rows), bool)
        if min_support > 0:
            keep &= self.rules.support >= min_support
        if min_confidence > 0:
            keep &= self.rules.confidence >= min_confidence
        if min_length > 0:
            keep &= self.rules.lengths >= min_length
        if max_length < NO_MAX_LENGTH:
            keep &= self.rules.lengths <= max_length
        if construct:
            keep &= (self.constructs & bit(construct)) > 0
        if verdict:
            keep &= verdicts == (BY_VERDICT.index(verdict) + 1) % len(BY_VERDICT)
        return np.flatnonzero(keep)

    def part(self, positions: Longs, sort: str, is_rising: bool, begin: int, end: int) -> Longs:
        """Return of these `positions`, in the order of `sort`, those from begin to end - 1.

        The best first unless `is_rising`.
        """
        begin, end = min(begin, len(positions)), min(end, len(positions))
        # Best first: large numbers, or short rules; equals by weight, support, length, row.
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
        """The best answers; `base` has the indexes."""
        predictor = copy(base)
        predictor.rules = self.active.take(self.can_answer(query))
        predictor.ranker = TargetRanker(base.ranker, predictor.rules)
        return predictor.predict(query, top)

    def can_answer(self, query: Query) -> Mask:
        """Return which rules can say something about `query`, p(a, ?) or p(?, a).

        Their constant is a, or their body begins there.
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
        """Explains facts about these entities; and the rows, in the run, of the rules it works with.

        Args:
            entities: By id; rules for other constants are left out.
            base: Has the indexes.
            only_firing: Also leave out rules that can hold for none of the facts, so that misses are not known.
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
    """Some `rules` of one target over the indexes of another Ranker, `base`."""

    def __init__(self, base: Ranker, rules: RuleSet) -> None:
        vars(self).update(vars(base))
        self.rules = rules

    def rules_of(self, target: int) -> RuleSet:
        """Return the rules that it was made for."""
        return self.rules


def begins_at(rules: RuleSet, kb: KnowledgeBase, entities: Sequence[int]) -> Mask:
    """Return of each rule whether its line can hold for one of `entities`, by its first step.

    That must be there, and if it is the only one, lead to the line's end: where not, the line holds for none of them.
    Rules of other bodies are not looked at.
    """
    if kb.facts.weight is not None or not len(rules):
        return np.ones(len(rules), bool)
    lines = rules.bodies.lines
    step_there = np.zeros(kb.num_codes + 1, bool)
    end_there = np.zeros(kb.num_entities + 3, bool)
    graph = Graph.of(kb)
    step_there[NO_STEP] = end_there[-3:] = True  # anchors that are no entity
    for entity in entities:
        mine = slice(*graph.pointer[entity : entity + 2])
        step_there[graph.code[mine]] = True
        end_there[graph.neighbour[mine]] = True
    end_there[list(entities)] = True
    # Who is in a unary predicate is not looked up: lines that begin with one are few.
    step_there[:-1] |= np.repeat([predicate.arity == 1 for predicate in kb.predicates], 2)
    can = step_there[lines.steps[:, 0]] & ((lines.lengths > 1) | end_there[lines.end])
    return np.append(can, True)[rules.line]


def entity_ids(kb: KnowledgeBase, names: Sequence[str | None]) -> list[int]:
    """Return the ids of those `names` that are not None."""
    return [kb.entities.id(name) for name in names if name is not None]


# the first rows of an order, without sorting all of them ------------------------------------------------


def ranked_part(keys: Sequence[Key], rows: Longs, begin: int, end: int) -> Longs:
    """rows[np.lexsort(...)][begin:end] by the keys, the first one first, equals by row; `rows` ascend.

    >>> ranked_part([np.array([3, 1, 2, 1]).take], np.arange(4), 1, 3).tolist()
    [3, 2]
    """
    if begin + end <= len(rows):
        inside = _first(keys, np.sort(_first(keys, rows, end, 1)), end - begin, -1)
    else:  # from behind, which leaves fewer
        inside = _first(keys, np.sort(_first(keys, rows, len(rows) - begin, -1)), end - begin, 1)
    return inside[np.lexsort((inside, *(key(inside) for key in reversed(keys))))]


def _first(keys: Sequence[Key], rows: Longs, count: int, sign: int) -> Longs:
    """The `count` first of the rows, or with sign -1 the last, in any order: equals of one key are told apart by the
    next."""
    found = []
    for key in keys:
        if not 0 < count < len(rows):
            break
        values = sign * key(rows)
        # `count` of a sample are not above this, so none of those wanted is: few are left to be ordered.
        sample = values[:: max(1, len(values) // (SAMPLE_PER_ROW * count))]
        near = values[values <= np.partition(sample, count - 1)[count - 1]]
        bound = np.partition(near, count - 1)[count - 1]
        found.append(rows[values < bound])
        rows, count = rows[values == bound], count - len(found[-1])
    found.append(rows[:count] if sign > 0 else rows[len(rows) - count :])
    return np.concatenate(found)


# what rules are made of, looked up by column --------------------------------------------------------------


def bit(construct: str) -> int:
    """The bit that stands for a construct."""
    return 1 << CONSTRUCTS.index(construct)


def construct_names(bits: int) -> list[str]:
    """The constructs that the bits stand for."""
    return [construct for construct in CONSTRUCTS if bits & bit(construct)]


def constructs(rules: RuleSet) -> np.ndarray:
    """Return for each row the bits of what it is made of."""
    if not len(rules):
        return np.zeros(0, np.uint8)
    bodies, lines = rules.bodies, rules.bodies.lines
    is_unary = unary_mask(rules.predicates)
    is_filter = np.zeros(lines.num_lines, bool)
    for step in lines.steps.T:
        is_filter |= (step != NO_STEP) & is_unary[step >> 1]
    named = (lines.start != ANY_NODE) | (lines.end != ANY_NODE)
    of_body = {
        "chain": bodies.any_line(lines.uses(X_NODE) & lines.uses(Y_NODE)),
        "constant": bodies.any_line((lines.start >= 0) | (lines.end >= 0)),
        "type": bodies.any_line(is_filter),
        "prior": bodies.any_line(~named & (lines.lengths == 0)),
        "unanchored": bodies.any_line(~named & (lines.lengths > 0)),
        "conjunction": bodies.uses_operator(AND),
        "disjunction": bodies.uses_operator(OR),
        "negation": bodies.uses_operator(NOT),
    }
    found = np.zeros(len(bodies), np.uint8)
    for construct, mask in of_body.items():
        found[mask] |= bit(construct)
    return found[rules.body] | np.where(rules.head_entity != NO_ENTITY, bit("constant"), 0).astype(np.uint8)
