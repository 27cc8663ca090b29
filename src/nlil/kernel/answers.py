"""All answers of p(x, ?) and p(?, y): sparse where a statement joins X and Y, dense where none does.

`given` is the side that is asked about (X_NODE or Y_NODE); the other side is open. A statement over both
sides that stands in every way to make the body true is a guard: only the pairs it reaches can be answers.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from ..data.arrays import Doubles
from ..logic.formula import And, Formula, Not, Or, Statement, statements
from ..logic.rule import Rule
from .bodies import X_NODE, Y_NODE, IdHead, IdLine
from .calculus import soft_and, soft_not, soft_or
from .frontier import Queries, Rows, Walk, oriented

if TYPE_CHECKING:
    from .evaluator import Evaluator


def dense_answers(evaluator: Evaluator, rule: Rule, ids: Tensor, given: int) -> Iterator[tuple[slice, Doubles]]:
    """(rows of ids, value of every entity on the open side): blocks of float64 (b, N)."""
    if IdHead.of(evaluator.kb, rule).is_open and not is_guarded(evaluator, rule.body):
        for block, dense in _dense_blocks(evaluator, rule, ids, given):
            yield block, dense.cpu().numpy()
        return
    for block, found in sparse_answers(evaluator, rule, ids, given, _dense_size(evaluator, rule)):
        shape = (block.stop - block.start, evaluator.kb.num_entities)
        dense = torch.zeros(shape, dtype=torch.float64, device=ids.device)
        dense[found.query, found.node] = found.value
        yield block, dense.cpu().numpy()


def sparse_answers(
    evaluator: Evaluator, rule: Rule, ids: Tensor, given: int, size: int | None = None
) -> Iterator[tuple[slice, Rows]]:
    """(rows of ids, answers as rows): `query` counts from the start of the block, `value` is above 0."""
    size = evaluator.max_rows if size is None else size

    def block_of_constant(low: int, high: int) -> Rows:
        return _constant(evaluator, rule, ids[low:high], given)

    def block_of_guarded(low: int, high: int) -> Rows:
        return _guarded(evaluator, rule, ids[low:high], given)

    if not IdHead.of(evaluator.kb, rule).is_open:
        blocks = evaluator.blocks(rule, len(ids), size, block_of_constant)
    elif is_guarded(evaluator, rule.body):
        blocks = evaluator.blocks(rule, len(ids), size, block_of_guarded)
    else:
        blocks = ((block, _sparse(dense)) for block, dense in _dense_blocks(evaluator, rule, ids, given))
    for block, rows in blocks:
        yield block, rows.keep(rows.value > 0)


def is_guarded(evaluator: Evaluator, formula: Formula) -> bool:
    """Whether a pair can only be an answer if some statement leads from X to Y."""
    match formula:
        case Statement():
            line = IdLine.of(evaluator.kb, formula)
            return line.uses_x and line.uses_y
        case And(arguments):
            return any(is_guarded(evaluator, a) for a in arguments)
        case Or(arguments):
            return all(is_guarded(evaluator, a) for a in arguments)
        case _:
            return False


def given_queries(evaluator: Evaluator, ids: Tensor, given: int) -> Queries:
    graph = evaluator.graph.graph_numbers(ids)
    return Queries(ids, None, graph, len(ids)) if given == X_NODE else Queries(None, ids, graph, len(ids))


def _pairs(evaluator: Evaluator, ids: Tensor, other: Tensor, given: int) -> Queries:
    x, y = (ids, other) if given == X_NODE else (other, ids)
    return Queries(x, y, evaluator.graph.graph_numbers(x), len(x))


def _constant(evaluator: Evaluator, rule: Rule, ids: Tensor, given: int) -> Rows:
    """p(X, c) and p(c, Y): the one answer c of each id, or every answer of the id c."""
    head = IdHead.of(evaluator.kb, rule)
    constant = max(head.subject, -1 if head.object is None else head.object)
    fixed_side_given = (head.subject >= 0) == (given == X_NODE)
    if fixed_side_given:
        row = (ids == constant).nonzero().squeeze(1)
        everything = torch.arange(evaluator.kb.num_entities, device=ids.device)
        query, node = torch.repeat_interleave(row, len(everything)), everything.repeat(len(row))
    else:
        query, node = torch.arange(len(ids), device=ids.device), torch.full_like(ids, constant)
    x, y = (ids[query], node) if given == X_NODE else (node, ids[query])
    value = evaluator.values(rule, x.cpu().numpy(), y.cpu().numpy())
    return Rows(query, node, torch.from_numpy(value).to(ids.device))


def _guarded(evaluator: Evaluator, rule: Rule, ids: Tensor, given: int) -> Rows:
    """The pairs that the guards reach, with the value of the whole body."""
    rows = _candidates(evaluator, rule, rule.body, given_queries(evaluator, ids, given), given)
    if isinstance(rule.body, Statement):
        return Rows(rows.query, rows.node, rows.value.clamp(max=1.0))
    pairs = _pairs(evaluator, ids[rows.query], rows.node, given)
    return Rows(rows.query, rows.node, evaluator.formula_value(rule, rule.body, pairs, None))


def _candidates(evaluator: Evaluator, rule: Rule, formula: Formula, queries: Queries, given: int) -> Rows:
    match formula:
        case And(arguments):
            guard = next(a for a in arguments if is_guarded(evaluator, a))
            return _candidates(evaluator, rule, guard, queries, given)
        case Or(arguments):
            parts = [_candidates(evaluator, rule, a, queries, given) for a in arguments]
            n = evaluator.kb.num_entities
            key = torch.unique(torch.cat([p.query * n + p.node for p in parts]))
            return Rows(key // n, key % n, torch.ones_like(key, dtype=torch.float64))
        case _:
            return walk_open(evaluator, rule, formula, queries, given)


def walk_open(evaluator: Evaluator, rule: Rule, formula: Formula, queries: Queries, given: int) -> Rows:
    assert isinstance(formula, Statement), "is_guarded admits only statements at the leaves"
    line = oriented(evaluator.graph, IdLine.of(evaluator.kb, formula), first=given)
    return Walk(evaluator.graph, line, queries, None, rule.distinct, evaluator.max_rows).run()


# without a guard: every pair may be an answer ----------------------------------------------------------


def _dense_size(evaluator: Evaluator, rule: Rule) -> int:
    """Rows of a dense block: every statement may hold one (b, N) beside the result and its numpy copy."""
    matrices = 3 + sum(1 for _ in statements(rule.body))
    return max(1, evaluator.memory // (8 * matrices * max(evaluator.kb.num_entities, 1)))


def _dense_blocks(evaluator: Evaluator, rule: Rule, ids: Tensor, given: int) -> Iterator[tuple[slice, Tensor]]:
    sides = {s: _one_sided(evaluator, rule, s, ids, given) for s in set(statements(rule.body))}
    graph_of, n = evaluator.graph.graph_of, evaluator.kb.num_entities

    def dense(formula: Formula, block: slice) -> Tensor:
        match formula:
            case Statement():
                side = sides[formula]
                if side is not None:
                    return side[block] if side.shape[1] == 1 and len(side) == len(ids) else side
                part = given_queries(evaluator, ids[block], given)
                rows = walk_open(evaluator, rule, formula, part, given)
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
        if not len(graph_of):
            return value.contiguous()
        return value * (graph_of[ids[low:high], None] == graph_of[None, :])

    return evaluator.blocks(rule, len(ids), _dense_size(evaluator, rule), run)


def _one_sided(evaluator: Evaluator, rule: Rule, statement: Statement, ids: Tensor, given: int) -> Tensor | None:
    """A statement over one side: (len(ids), 1) on the given side, (1, N) on the open side; None over both."""
    line = IdLine.of(evaluator.kb, statement)
    if line.uses_x and line.uses_y:
        return None
    on_given = line.uses_x if given == X_NODE else line.uses_y
    if on_given or not (line.uses_x or line.uses_y):
        return evaluator.statement_value(rule.distinct, line, given_queries(evaluator, ids, given), None, rule)[:, None]
    everything = torch.arange(evaluator.kb.num_entities, device=ids.device)
    open_side = given_queries(evaluator, everything, Y_NODE if given == X_NODE else X_NODE)
    return evaluator.statement_value(rule.distinct, line, open_side, None, rule)[None, :]


def _sparse(dense: Tensor) -> Rows:
    query, node = dense.nonzero(as_tuple=True)
    return Rows(query, node, dense[query, node])
