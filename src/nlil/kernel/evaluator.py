"""Evaluator: the exact value of any rule, for given pairs or for all answers.

value(statement) = min(1, sum over groundings of the product of fact weights); and, or, not as in `calculus`.
Queries are evaluated in blocks that fit into a memory budget. The value of a query depends on its own rows only, in
an order of their own, so the block size does not change a single bit of it.

`evaluator` determines the base and the device.
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
from ..logic.formula import And, Formula, Not, Or, Statement, statements
from ..logic.rule import Rule
from .bodies import X_NODE, Y_NODE, IdHead, Line, check_arity
from .calculus import psi, soft_and, soft_not, soft_or
from .frontier import Queries, Rows, TooManyRows, Walk, oriented
from .graph import Graph
from .hidden import Hidden

BYTES_PER_ROW = 128
"""Bytes for query, node and value of a row, for sorting and looking it up, and for a trail."""

Result = TypeVar("Result")


class Evaluator:
    """Evaluates rules on the facts of `kb`, on one `device`.

    The base must know all predicates and constants of a rule. `memory` bounds the rows of a walk, in bytes; a single
    query that needs more raises LimitError.
    """

    def __init__(self, kb: KnowledgeBase, device: str | torch.device = "cpu", memory: int = 2**30) -> None:
        self.kb = kb
        self.memory = memory
        self.device = torch.device(device)
        self.graph = Graph.of(kb).to(self.device)
        self.max_rows = max(memory // BYTES_PER_ROW, 1)

    @cached_property
    def crisp(self) -> Evaluator:
        """The same evaluator over the facts of weight >= .5."""
        return self if self.graph.is_crisp else Evaluator(self.kb.crisp, self.device, self.memory)

    @cached_property
    def crosses(self) -> bool:
        """Whether some edge leads from one graph to another; then the path of a walk matters."""
        return Graph.of(self.kb).crosses()

    # for given queries ---------------------------------------------------------------------------

    def values(self, rule: Rule, x: Longs, y: Longs | None = None, hide: bool = False) -> Doubles:
        """Return the value of the body of `rule` for each query (x, y), or x for a unary head; float64 in [0, 1].

        `x` and `y` are entity ids. The value is 0 if the head does not match; a pair across two graphs is no head
        tuple. `hide` hides each query's own fact from its body.
        """
        check_arity(rule, y is not None)
        subject, object_ = self.ids(x), None if y is None else self.ids(y)
        fits = self._fits(rule, subject, object_).nonzero().squeeze(1)
        queries = self.pairs(subject[fits], None if object_ is None else object_[fits])
        hidden = Hidden.of(self.kb, rule) if hide else None
        result = torch.zeros(len(subject), dtype=torch.float64, device=self.device)
        result[fits] = self.formula_value(rule, rule.body, queries, hidden)
        return result.cpu().numpy()

    def ids(self, ids: Longs) -> Tensor:
        """Return entity `ids` as a tensor on the device. Raises DataError for an id that the base does not have."""
        array = np.asarray(ids, np.int64)
        if len(array) and not 0 <= array.min() <= array.max() < self.kb.num_entities:
            got = f"{array.min()} .. {array.max()}"
            raise DataError(f"entity ids must lie in 0 .. {self.kb.num_entities - 1}, got {got}")
        return torch.from_numpy(array).to(self.device)

    # details --------------------------------------------------------------------------------------

    def _fits(self, rule: Rule, x: Tensor, y: Tensor | None) -> Tensor:
        """Return which queries match the head: its constants, and one graph for both sides."""
        head, graph_of = IdHead.of(self.kb, rule), self.graph.graph_of
        fits = torch.ones_like(x, dtype=torch.bool)
        if y is None:
            return fits
        if head.subject >= 0:
            fits &= x == head.subject
        if head.object is not None and head.object >= 0:
            fits &= y == head.object
        return fits & (graph_of[x] == graph_of[y]) if len(graph_of) else fits

    def pairs(self, x: Tensor, y: Tensor | None) -> Queries:
        """Return queries about the entities `x` and, for a binary head, `y`."""
        return Queries(x, y, self.graph.graph_numbers(x), len(x))

    def formula_value(self, rule: Rule, formula: Formula, queries: Queries, hidden: Hidden | None) -> Tensor:
        """Return the value of `formula`, a part of the body of `rule`, for each of `queries`.

        `hidden` is what the queries may not see (None: nothing).
        """
        match formula:
            case Statement():
                return self.statement_value(rule.distinct, Line.of(self.kb, formula), queries, hidden, rule)
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

    def statement_value(
        self, distinct: bool, line: Line, queries: Queries, hidden: Hidden | None, about: object = "of one line"
    ) -> Tensor:
        """Return the value of `line` for each of `queries`; queries that cannot differ on this line are walked once.

        With `distinct`, variables stand for different entities; `hidden` is what the queries may not see (None:
        nothing). `about` names the rule in messages.
        """
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
        unique_queries = queries[first]
        line = oriented(self.graph, line)

        def block(low: int, high: int) -> Tensor:
            part = unique_queries[slice(low, high)]
            rows = Walk(self.graph, line, part, hidden, distinct, self.max_rows).run()
            return psi(rows.value, rows.query, part.size)

        parts = [value for _, value in self.blocks(about, unique_queries.size, self.max_rows, block)]
        return torch.cat(parts)[inverse] if parts else torch.zeros_like(key, dtype=torch.float64)

    def blocks(
        self, about: object, total: int, size: int, run: Callable[[int, int], Result]
    ) -> Iterator[tuple[slice, Result]]:
        """Yield run(low, high) over 0 .. `total` in blocks of `size`; a block that exceeds the budget is made smaller.

        Raises LimitError, naming `about`, if a single query exceeds it.
        """
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


# all answers of p(x, ?) ---------------------------------------------------------------------------------
#
# A statement over X and Y without which the body cannot hold is a guard: only the pairs that it reaches can be answers.
# Without a guard every pair can be one, and the answers of a block are computed as a matrix.


def sparse_answers(evaluator: Evaluator, rule: Rule, ids: Tensor) -> Iterator[tuple[slice, Rows]]:
    """Yield (slice of `ids`, answers) in blocks: all y for which the body of `rule` holds with x in `ids`.

    Answers are rows with a `value` above 0; their `query` counts from the start of the block. Nothing is hidden.
    """
    if not IdHead.of(evaluator.kb, rule).is_open:
        answers = _constant_answers
    elif is_guarded(evaluator, rule.body):
        answers = _guarded_answers
    else:
        for block, dense in _dense_blocks(evaluator, rule, ids):
            query, node = dense.nonzero(as_tuple=True)
            yield block, Rows(query, node, dense[query, node])
        return

    def run(low: int, high: int) -> Rows:
        return answers(evaluator, rule, ids[low:high])

    for block, rows in evaluator.blocks(rule, len(ids), evaluator.max_rows, run):
        yield block, rows.keep(rows.value > 0)


def is_guarded(evaluator: Evaluator, formula: Formula) -> bool:
    """Return whether `formula` can only hold for pairs that some statement joins."""
    match formula:
        case Statement():
            line = Line.of(evaluator.kb, formula)
            return line.uses_x and line.uses_y
        case And(arguments):
            return any(is_guarded(evaluator, a) for a in arguments)
        case Or(arguments):
            return all(is_guarded(evaluator, a) for a in arguments)
        case _:
            return False


def given_queries(evaluator: Evaluator, ids: Tensor, given: int = X_NODE) -> Queries:
    """Return a query for each of `ids`: values of X, or of Y if `given` is Y_NODE. The other side is open."""
    graph = evaluator.graph.graph_numbers(ids)
    return Queries(ids, None, graph, len(ids)) if given == X_NODE else Queries(None, ids, graph, len(ids))


def _constant_answers(evaluator: Evaluator, rule: Rule, ids: Tensor) -> Rows:
    """Return the answer c of each id for p(X, c), or every answer of the id c for p(c, Y)."""
    head = IdHead.of(evaluator.kb, rule)
    if head.subject >= 0:
        row = (ids == head.subject).nonzero().squeeze(1)
        everything = torch.arange(evaluator.kb.num_entities, device=ids.device)
        query, node = torch.repeat_interleave(row, len(everything)), everything.repeat(len(row))
    else:
        assert head.object is not None, "a unary head has no answers"
        query, node = torch.arange(len(ids), device=ids.device), torch.full_like(ids, head.object)
    value = evaluator.values(rule, ids[query].cpu().numpy(), node.cpu().numpy())
    return Rows(query, node, torch.from_numpy(value).to(ids.device))


def _guarded_answers(evaluator: Evaluator, rule: Rule, ids: Tensor) -> Rows:
    """Return the pairs that the guards reach, with the value of the whole body."""
    rows = _candidates(evaluator, rule, rule.body, given_queries(evaluator, ids))
    if isinstance(rule.body, Statement):
        return Rows(rows.query, rows.node, rows.value.clamp(max=1.0))
    pairs = evaluator.pairs(ids[rows.query], rows.node)
    return Rows(rows.query, rows.node, evaluator.formula_value(rule, rule.body, pairs, None))


def _candidates(evaluator: Evaluator, rule: Rule, formula: Formula, queries: Queries) -> Rows:
    match formula:
        case And(arguments):
            guard = next(a for a in arguments if is_guarded(evaluator, a))
            return _candidates(evaluator, rule, guard, queries)
        case Or(arguments):
            parts = [_candidates(evaluator, rule, a, queries) for a in arguments]
            n = evaluator.kb.num_entities
            key = torch.unique(torch.cat([p.query * n + p.node for p in parts]))
            return Rows(key // n, key % n, torch.ones_like(key, dtype=torch.float64))
        case _:
            return walk_from_x(evaluator, rule, formula, queries)


def walk_from_x(evaluator: Evaluator, rule: Rule, formula: Formula, queries: Queries) -> Rows:
    """Return rows of the entities Y for which `formula`, a statement of `rule`, holds for `queries`."""
    assert isinstance(formula, Statement), "is_guarded admits only statements at the leaves"
    line = oriented(evaluator.graph, Line.of(evaluator.kb, formula), first=X_NODE)
    return Walk(evaluator.graph, line, queries, None, rule.distinct, evaluator.max_rows).run()


def _dense_blocks(evaluator: Evaluator, rule: Rule, ids: Tensor) -> Iterator[tuple[slice, Tensor]]:
    """Yield (slice of `ids`, values of all entities as answers)."""
    sides = {s: _one_sided(evaluator, rule, s, ids) for s in set(statements(rule.body))}
    graph_of, n = evaluator.graph.graph_of, evaluator.kb.num_entities

    def dense(formula: Formula, block: slice) -> Tensor:
        match formula:
            case Statement():
                side = sides[formula]
                if side is not None:
                    return side[block] if side.shape[1] == 1 and len(side) == len(ids) else side
                part = given_queries(evaluator, ids[block])
                rows = walk_from_x(evaluator, rule, formula, part)
                empty = torch.zeros((part.size, n), dtype=torch.float64, device=ids.device)
                return empty.index_put((rows.query, rows.node), rows.value.clamp(max=1.0))
            case Not(argument):
                return soft_not(dense(argument, block))
            case And(arguments) | Or(arguments):
                combine = soft_and if isinstance(formula, And) else soft_or
                value = dense(arguments[0], block)
                for argument in arguments[1:]:
                    value = combine(value, dense(argument, block))
                return value
            case _:
                return torch.ones((1, 1), dtype=torch.float64, device=ids.device)

    def run(low: int, high: int) -> Tensor:
        value = dense(rule.body, slice(low, high)).expand(high - low, n)
        return value * (graph_of[ids[low:high], None] == graph_of[None, :]) if len(graph_of) else value

    # Every statement may need a matrix, in addition to the result and its copy.
    matrices = 3 + sum(1 for _ in statements(rule.body))
    return evaluator.blocks(rule, len(ids), evaluator.memory // (8 * matrices * max(n, 1)), run)


def _one_sided(evaluator: Evaluator, rule: Rule, statement: Statement, ids: Tensor) -> Tensor | None:
    """Return the values of a statement over one side: (len(ids), 1) over X, (1, N) over Y; None over both."""
    line = Line.of(evaluator.kb, statement)
    if line.uses_x and line.uses_y:
        return None
    if not line.uses_y:
        return evaluator.statement_value(rule.distinct, line, given_queries(evaluator, ids), None, rule)[:, None]
    everything = torch.arange(evaluator.kb.num_entities, device=ids.device)
    queries = given_queries(evaluator, everything, Y_NODE)
    return evaluator.statement_value(rule.distinct, line, queries, None, rule)[None, :]
