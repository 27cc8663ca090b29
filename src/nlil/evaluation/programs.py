"""Where the rules fire that have no loop in `scoring`: programs, and lines of uncommon shape.

For a batch of queries each distinct line is evaluated once, as (queries, candidates) or an array that broadcasts to it;
a body is a program over these values, and a rule that holds to degree v counts with v times its weight.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, offsets
from ..data.kb import KnowledgeBase
from ..kernel.aggregation import evidence
from ..kernel.bodies import X_NODE, Y_NODE
from ..kernel.graph import Graph
from ..kernel.line_answers import LineAnswers
from ..kernel.ruleset import SECOND, RuleSet
from ..kernel.walk import walk_space


class Fires(NamedTuple):
    """Where a rule fires: the position of a `query`, ascending, a `candidate`, and the `evidence` for it."""

    query: Longs
    candidate: Longs
    evidence: Longs


def program_evidence(
    rules: RuleSet, kb: KnowledgeBase, code: int, known: Ids, hidden: Ids, memory: int
) -> Iterator[np.ndarray]:
    """Yield for each query, in order, its rows (candidate, evidence), rule by rule.

    Args:
        rules: rules of one binary target.
        code: the step code of the target in the direction of the queries.
        known: the known entity of each query.
        hidden: the other end of its hidden fact, or -1.
        memory: bytes for the values of lines.
    """
    for begin, end, found in _blocks(rules, kb, code, known, hidden, memory):
        query, candidate, power = (np.concatenate(column) for column in zip(*found))
        order = np.argsort(query, kind="stable")
        rows = np.stack((candidate, power), axis=1)[order]
        for low, high in pairwise(offsets(query[order], end - begin)):
            yield rows[low:high]


def rule_firings(
    rules: RuleSet, kb: KnowledgeBase, code: int, known: Ids, memory: int, hidden: Ids | None = None
) -> list[Fires]:
    """Return where each rule fires; without `hidden`, nothing is hidden.

    `code` and the others as in `program_evidence`.
    """
    parts: list[list[Fires]] = []
    hidden = np.full(len(known), -1, np.int32) if hidden is None else hidden
    for begin, _, found in _blocks(rules, kb, code, known, hidden, memory):
        parts.append([fires._replace(query=fires.query + begin) for fires in found])
    return [Fires(*(np.concatenate(column) for column in zip(*of_rule))) for of_rule in zip(*parts)]


def _blocks(
    rules: RuleSet, kb: KnowledgeBase, code: int, known: Ids, hidden: Ids, memory: int
) -> Iterator[tuple[int, int, list[Fires]]]:
    """Yield (begin, end, where each rule fires among queries begin .. end - 1); one empty rule if there are none."""
    if not len(rules):
        none = np.zeros(0, np.int64)
        yield 0, len(known), [Fires(none, none, none)]
        return
    rules = rules.compact()
    graph = Graph.of(kb)
    joins = rules.bodies.lines.uses(X_NODE) & rules.bodies.lines.uses(Y_NODE)
    bytes_per_query = kb.num_entities * (1 if graph.is_crisp else 8) * (4 + int(np.count_nonzero(joins)))
    size = max(1, memory // (4 * max(bytes_per_query, 1)))
    space = walk_space(kb.num_entities, rules.bodies.lines.width)
    for begin in range(0, len(known), size):
        some = slice(begin, begin + size)
        group = np.zeros_like(graph.is_unary)
        batch = LineAnswers(graph, rules.bodies, code, known[some], hidden[some], group, space, memory // 2)
        yield begin, begin + len(batch.known), _firings(rules, batch)


def _firings(rules: RuleSet, batch: LineAnswers) -> list[Fires]:
    """Return where each rule fires."""
    same_graph = None
    if len(batch.graph.graph_of):
        same_graph = batch.number[:, None] == batch.graph.graph_of[None, :]
    found, last, value = [], -1, np.zeros((1, 1))
    order = np.argsort(rules.body, kind="stable")  # rules with the same body are consecutive
    for row in order.tolist():
        if rules.body[row] != last:
            last = int(rules.body[row])
            value = batch.body(last) if same_graph is None else batch.body(last) * same_graph
        found.append(_fires(batch, value, int(rules.fixed[row]), int(rules.head_entity[row]), rules.weights[row]))
    return [found[place] for place in np.argsort(order).tolist()]


def _fires(batch: LineAnswers, value: np.ndarray, fixed: int, entity: int, weight: float) -> Fires:
    """Return where a body with this value fires for a head with this constant (fixed = 0: none)."""
    value = np.broadcast_to(value, (len(batch.known), batch.graph.num_entities))
    if fixed and (fixed == SECOND) == (batch.known_node == X_NODE):  # the constant is the answer
        query = np.flatnonzero(value[:, entity])
        candidate = np.full(len(query), entity)
    else:
        rows = np.flatnonzero(batch.known == entity) if fixed else np.arange(len(batch.known))
        # numpy finds the few places of a flat array several times as fast as those of a matrix.
        place, candidate = np.divmod(np.flatnonzero(value[rows]), value.shape[1])
        query = rows[place]
    return Fires(query, candidate, evidence(value[query, candidate].astype(np.float64) * weight))
