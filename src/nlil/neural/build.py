"""build_plan: from queries and spaces to a Plan."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from ..data.kb import KnowledgeBase
from .meets import Entries, Meeting
from .plan import Plan, Products, Projections
from .roads import Roads
from .sources import Limits, Queries, Rows, Sources, Tables, find_sources, reach_rows
from .space import Shape, Space


def build_plan(
    kb: KnowledgeBase,
    roads: Roads,
    spaces: Sequence[Space],
    shape: Shape,
    queries: Queries,
    limits: Limits | None = None,
    linked: bool = False,
) -> Plan:
    """The plan of a block: row g of `queries` belongs to `spaces[g]`.

    `linked`: only statements between X and Y count (with L = 0 no other can tell two answers apart).
    Beyond `limits` the plan is a sample of the groundings, taken depth by depth; below them it is exact.
    """
    limits = limits or Limits()
    padded = [space.padded(shape) for space in spaces]
    tables = Tables.of(kb, padded, roads.device)
    sources, hidden_x, hidden_y = find_sources(roads, tables, queries)
    rows = reach_rows(roads, tables, sources, shape, limits)
    meeting = Meeting(roads, tables, sources, rows, (hidden_x, hidden_y), limits, linked)
    return _assemble(shape, queries, roads, sources, rows, meeting.entries())


def _assemble(shape: Shape, queries: Queries, roads: Roads, sources: Sources, rows: Rows, entries: Entries) -> Plan:
    """Drop rows that lead to no statement, number the rest, sort the lists."""
    count, block = queries.x.shape
    width = roads.num_entities + 1
    used = _used(rows, entries)
    number = torch.cumsum(used, 0) - 1
    owner = rows.key[used] // width
    target, start = sources.target[owner], sources.start[owner]
    total = len(owner)
    moves = []
    for t in range(1, shape.steps + 1):
        lists = rows.edges[:t]  # step t leaves from every row within t - 1 steps
        first, second, operator = (torch.cat(column) for column in list(zip(*lists))[:3])
        weights = [e[3] for e in lists if e[3] is not None]
        weight = torch.cat(weights) if weights else None
        keep = used[second]
        first, second, operator = number[first[keep]], number[second[keep]], operator[keep]
        choice = target[first] * shape.operators + operator
        moves.append(
            _products(
                second, first, choice, None if weight is None else weight[keep], total, total, count * shape.operators
            )
        )
    choices = count * shape.predicates * shape.starts
    k = shape.predicates

    def project(row: Tensor, predicate: Tensor) -> tuple[Projections, Tensor]:
        unique, inverse = torch.unique(row * k + predicate, return_inverse=True)
        row, predicate = unique // k, unique % k
        choice = (target[row] * k + predicate) * shape.starts + start[row]
        return Projections(row.int(), choice.int(), total, choices), inverse

    binary = entries.left >= 0
    left, left_pair = project(number[entries.left[binary]], entries.predicate[binary])
    right, right_pair = project(number[entries.right], entries.predicate)
    left_index = torch.zeros_like(entries.left)
    left_index[binary] = left_pair + 1  # 0 is the constant
    weight = entries.weight if bool((entries.weight != 1).any()) else None
    meets = _products(
        entries.query * k + entries.predicate,
        left_index,
        right_pair,
        weight,
        count * block * k,
        len(left) + 1,
        len(right),
    )
    real = torch.from_numpy(queries.real).to(roads.device)
    return Plan(shape, count, block, real, rows.start[used], tuple(moves), left, right, meets)


def _used(rows: Rows, entries: Entries) -> Tensor:
    """Rows that take part in a statement, or lie on the way to one that does."""
    used = torch.zeros(len(rows.key), dtype=torch.bool, device=rows.key.device)
    used[entries.left[entries.left >= 0]] = True
    used[entries.right] = True
    for _ in rows.edges:
        for first, second, *_ in rows.edges:
            used[first[used[second]]] = True
    return used


def _products(segment: Tensor, left: Tensor, right: Tensor, weight: Tensor | None, *sizes: int) -> Products:
    order = torch.argsort(segment, stable=True)
    return Products(
        segment[order].int(), left[order].int(), right[order].int(), None if weight is None else weight[order], *sizes
    )
