"""Evaluator: the exact value of any rule, for given pairs, for all answers, for all members.

value(statement) = min(1, sum over groundings of the product of fact weights); and, or, not as in `calculus`.
Work is cut into blocks of queries from a byte budget. A query's value is computed from its own rows in an
order of their own, so the size of the blocks changes no bit of it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property
from typing import TypeVar

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Doubles, Longs
from ..data.kb import KnowledgeBase
from ..errors import DataError, LimitError
from ..logic.formula import And, Formula, Not, Or, Statement
from ..logic.rule import Rule
from .answers import dense_answers
from .bodies import X_NODE, Y_NODE, IdHead, IdLine, Lines, check_arity, unary_mask
from .calculus import psi, soft_and, soft_not, soft_or
from .frontier import Queries, TooManyRows, Walk, oriented
from .graph import Graph
from .hidden import Hidden

BYTES_PER_ROW = 128
"""query, node, value, and what sorting and looking up a row needs beside them, with room for a trail."""

Result = TypeVar("Result")


class Evaluator:
    """Evaluates rules on one base and one device. Rules name predicates and constants that the base must know."""

    def __init__(self, kb: KnowledgeBase, device: str | torch.device = "cpu", memory: int = 2**30) -> None:
        self.kb = kb
        self.memory = memory
        self.device = torch.device(device)
        self.graph = Graph.of(kb).to(self.device)
        self.max_rows = max(memory // BYTES_PER_ROW, 1)

    @cached_property
    def crisp(self) -> Evaluator:
        """The same evaluator over the facts that count."""
        return self if self.graph.is_crisp else Evaluator(self.kb.crisp, self.device, self.memory)

    @cached_property
    def crosses(self) -> bool:
        """Whether some edge leads from one graph to another: then it matters where a line came from."""
        return Graph.of(self.kb).crosses()

    # for given queries ---------------------------------------------------------------------------

    def values(self, rule: Rule, x: Longs, y: Longs | None = None, hide: bool = False) -> Doubles:
        """The body's value for each query (x, y), or x for a unary head; 0 where the head does not match.

        `hide` makes each query's own fact invisible in its body. A pair across two graphs is no head tuple.
        """
        check_arity(rule, y is not None)
        subject, object_ = self.ids(x), None if y is None else self.ids(y)
        fits = self._fits(rule, subject, object_).nonzero().squeeze(1)
        queries = self._pairs(subject[fits], None if object_ is None else object_[fits])
        hidden = Hidden.of(self.kb, rule) if hide else None
        result = torch.zeros(len(subject), dtype=torch.float64, device=self.device)
        result[fits] = self.formula_value(rule, rule.body, queries, hidden)
        return result.cpu().numpy()

    def members(self, rule: Rule) -> Doubles:
        """The value for every entity: all answers of p(?), nothing hidden."""
        return self.values(rule, np.arange(self.kb.num_entities))

    # all answers ------------------------------------------------------------------------------------

    def objects(self, rule: Rule, x: Longs) -> Iterator[tuple[slice, Doubles]]:
        """All answers of p(x, ?), nothing hidden: (rows of x, their values over all entities), block by block."""
        check_arity(rule, True)
        return dense_answers(self, rule, self.ids(x), X_NODE)

    def subjects(self, rule: Rule, y: Longs) -> Iterator[tuple[slice, Doubles]]:
        """All answers of p(?, y), nothing hidden."""
        check_arity(rule, True)
        return dense_answers(self, rule, self.ids(y), Y_NODE)

    def ids(self, ids: Longs) -> Tensor:
        array = np.asarray(ids, np.int64)
        if len(array) and not 0 <= array.min() <= array.max() < self.kb.num_entities:
            got = f"{array.min()} .. {array.max()}"
            raise DataError(f"entity ids must lie in 0 .. {self.kb.num_entities - 1}, got {got}")
        return torch.from_numpy(array).to(self.device)

    # how it is computed -----------------------------------------------------------------------------

    def _fits(self, rule: Rule, x: Tensor, y: Tensor | None) -> Tensor:
        """Whether each query is a tuple of the head: its constants, and one graph for both sides."""
        head, graph_of = IdHead.of(self.kb, rule), self.graph.graph_of
        fits = torch.ones_like(x, dtype=torch.bool)
        if y is None:
            return fits
        if head.subject >= 0:
            fits &= x == head.subject
        if head.object is not None and head.object >= 0:
            fits &= y == head.object
        return fits & (graph_of[x] == graph_of[y]) if len(graph_of) else fits

    def _pairs(self, x: Tensor, y: Tensor | None) -> Queries:
        return Queries(x, y, self.graph.graph_numbers(x), len(x))

    def formula_value(self, rule: Rule, formula: Formula, queries: Queries, hidden: Hidden | None) -> Tensor:
        match formula:
            case Statement():
                return self.statement_value(rule.distinct, IdLine.of(self.kb, formula), queries, hidden, rule)
            case Not(argument):
                return soft_not(self.formula_value(rule, argument, queries, hidden))
            case And(arguments):
                value = self.formula_value(rule, arguments[0], queries, hidden)
                for argument in arguments[1:]:
                    alive = value.nonzero().squeeze(1)
                    part = self.formula_value(rule, argument, queries[alive], hidden)
                    value = value.index_put((alive,), soft_and(value[alive], part))
                return value
            case Or(arguments):
                value = self.formula_value(rule, arguments[0], queries, hidden)
                for argument in arguments[1:]:
                    value = soft_or(value, self.formula_value(rule, argument, queries, hidden))
                return value
            case _:
                return torch.ones(queries.size, dtype=torch.float64, device=self.device)

    def line_values(self, lines: Lines, row: int, x: Longs, y: Longs | None, hidden: Hidden | None) -> Doubles:
        """The value of one line for each query (x, y), or x for a unary head."""
        line = lines.line(row, unary_mask(self.kb.predicates))
        queries = self._pairs(self.ids(x), None if y is None else self.ids(y))
        return self.statement_value(bool(lines.distinct[row]), line, queries, hidden).cpu().numpy()

    def statement_value(
        self, distinct: bool, line: IdLine, queries: Queries, hidden: Hidden | None, about: object = "of one line"
    ) -> Tensor:
        """Each query's value; queries that cannot differ on this line are walked once. `about` is for messages."""
        hidden = hidden if hidden is not None and hidden.touches(line) else None
        key = torch.zeros(queries.size, dtype=torch.int64, device=self.device)
        if queries.x is not None and (line.uses_x or hidden is not None):
            key = key + queries.x
        if queries.y is not None and (line.uses_y or hidden is not None):
            key = key * self.graph.num_entities + queries.y
        if queries.graph is not None and not (line.uses_x or line.uses_y or hidden is not None):
            key = queries.graph
        unique, inverse = torch.unique(key, return_inverse=True)
        first = torch.full_like(unique, queries.size)
        first.scatter_reduce_(0, inverse, torch.arange(queries.size, device=key.device), "amin")
        some = queries[first]
        line = oriented(self.graph, line)

        def block(low: int, high: int) -> Tensor:
            part = some[slice(low, high)]
            rows = Walk(self.graph, line, part, hidden, distinct, self.max_rows).run()
            return psi(rows.value, rows.query, part.size)

        parts = [value for _, value in self.blocks(about, some.size, self.max_rows, block)]
        return torch.cat(parts)[inverse] if parts else torch.zeros_like(key, dtype=torch.float64)

    def blocks(
        self, about: object, total: int, size: int, run: Callable[[int, int], Result]
    ) -> Iterator[tuple[slice, Result]]:
        """run(low, high) over 0 .. total in blocks of `size`, smaller where a block outgrows the budget."""
        low, size = 0, max(size, 1)
        while low < total:
            high = min(low + size, total)
            try:
                result = run(low, high)
            except TooManyRows as error:
                if high - low == 1:
                    need = error.rows * BYTES_PER_ROW
                    raise LimitError(
                        f"one query of the rule {about} walks {error.rows} rows at once, about {need} bytes, "
                        f"but the memory budget is {self.memory} bytes; raise --memory"
                    ) from None
                size = max(1, min((high - low) // 2, (high - low) * self.max_rows // error.rows))
                continue
            yield slice(low, high), result
            low = high
