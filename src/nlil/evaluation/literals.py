"""Unary rules that are no lines, for many entities at once: conjunctions, disjunctions, negations of simple statements.

Each different statement is walked once per entity, however many rules say it. Simple are lines from X to anywhere,
`k(X, Z1), u(Z1)`, and unanchored sets, `u(Z1)`: X's own graph has a u. Other formulas are left to the evaluator.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from ..data.arrays import Ids, Mask, offsets
from ..data.kb import KnowledgeBase
from ..kernel.coding import NO_STEP
from ..kernel.graph import Graph
from ..kernel.kernels import compiled
from ..kernel.pool import Pool
from ..kernel.walk import WalkSpace, reach
from ..logic.formula import And, Anything, Formula, Not, Or, Statement, Truth, X, statements
from ..logic.rule import Rule

BLOCK = 512
"""Entities of one task of a thread."""


def is_simple(rule: Rule) -> bool:
    """Whether every statement of the body is a line from X to anywhere, or one unanchored set."""
    return all(isinstance(s.end, Anything) and (s.start == X or _is_set(s)) for s in statements(rule.body))


def _is_set(statement: Statement) -> bool:
    return isinstance(statement.start, Anything) and len(statement.steps) == 1 and statement.steps[0].is_filter


@compiled
def _mark(graph, first, steps, length, distinct, column, is_unary, entities, hidden_group, walk, out):
    """out[i, column[s]]: the line s holds for entities[i]; lines are sorted by their first step."""
    for i in range(len(entities)):
        x = entities[i]
        for k in range(graph.node_code_pointer[x], graph.node_code_pointer[x + 1]):
            code = graph.node_code[k]
            for s in range(first[code], first[code + 1]):
                out[i, column[s]] = (
                    reach(graph, walk, steps[s], length[s], is_unary, x, distinct[s], -1, -1, hidden_group, 1) > 0
                )
        for k in range(graph.unary_pointer[x], graph.unary_pointer[x + 1]):
            code = 2 * graph.unary_predicate[k]
            for s in range(first[code], first[code + 1]):
                out[i, column[s]] = (
                    reach(graph, walk, steps[s], length[s], is_unary, x, distinct[s], -1, -1, hidden_group, 1) > 0
                )


class Literals:
    """Which of the given simple rules hold for which entities of a crisp base."""

    def __init__(self, rules: list[Rule], kb: KnowledgeBase, graph: Graph, is_unary: Mask) -> None:
        self.rules, self.kb, self.graph, self.is_unary = rules, kb, graph, is_unary
        self.column: dict[tuple[Statement, bool], int] = {}
        for rule in rules:
            for statement in statements(rule.body):
                self.column.setdefault((statement, rule.distinct), len(self.column))
        lines = [
            (tuple(kb.code(step) for step in s.steps), distinct, column)
            for (s, distinct), column in self.column.items()
            if s.start == X
        ]
        lines.sort()
        self.width = max((len(steps) for steps, _, _ in lines), default=1)
        self.steps = np.full((len(lines), self.width), NO_STEP, np.int64)
        for i, (steps, _, _) in enumerate(lines):
            self.steps[i, : len(steps)] = steps
        self.length = np.array([len(steps) for steps, _, _ in lines], np.int32)
        self.distinct = np.array([distinct for _, distinct, _ in lines], np.bool_)
        self.line_column = np.array([column for _, _, column in lines], np.int64)
        self.first = offsets(self.steps[:, 0].astype(np.int32), graph.num_codes)
        self.sets = [
            (kb.predicate_id(s.steps[0].predicate), column) for (s, _), column in self.column.items() if s.start != X
        ]

    def blocks(self, entities: Ids, hidden_group: np.ndarray, pool: Pool[WalkSpace]) -> Iterator[tuple[slice, list]]:
        """(entities of the block, for each rule whether it holds), block after block."""
        in_graph = self._in_graph(entities, hidden_group)

        def run(walk: WalkSpace, begin: int) -> tuple[slice, list]:
            some = entities[begin : begin + BLOCK]
            held = np.zeros((len(some), len(self.column)), np.bool_)
            _mark(
                self.graph,
                self.first,
                self.steps,
                self.length,
                self.distinct,
                self.line_column,
                self.is_unary,
                some,
                hidden_group,
                walk,
                held,
            )
            place = slice(begin, begin + len(some))
            for (_, column), present in zip(self.sets, in_graph):
                held[:, column] = present[place]
            columns = np.ascontiguousarray(held.T)
            return place, [self._value(rule.body, rule.distinct, columns) for rule in self.rules]

        yield from pool.map(run, range(0, len(entities), BLOCK))

    def _in_graph(self, entities: Ids, hidden_group: np.ndarray) -> list[Mask]:
        """For each unanchored set whether the entity's graph has a member, a hidden own membership not counted."""
        kb = self.kb
        graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of
        found = []
        for predicate, _ in self.sets:
            members = kb.members(predicate)
            count = np.bincount(graph[members], minlength=kb.num_graphs)[graph[entities]]
            if hidden_group[predicate]:
                count = count - np.isin(entities, members)
            found.append(count > 0)
        return found

    def _value(self, formula: Formula, distinct: bool, held: np.ndarray) -> Mask:
        match formula:
            case Statement():
                return held[self.column[formula, distinct]]
            case Not(argument):
                return ~self._value(argument, distinct, held)
            case And(arguments):
                return np.logical_and.reduce([self._value(a, distinct, held) for a in arguments])
            case Or(arguments):
                return np.logical_or.reduce([self._value(a, distinct, held) for a in arguments])
            case Truth():
                return np.ones(held.shape[1], np.bool_)
