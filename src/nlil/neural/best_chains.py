"""The most probable statements between X and Y, of all members of a group at once.   [paper §5.1]

With no formulas above statements a rule is a sign, a statement and a path for each of its arguments:

    log p = log s_o[sign, s] + log S_psi[s, n, p] + log paths[p, i] + log S_psi'[s, m, q] + log paths[q, j]

Its terms are added one after the other: no rule is among the best whose beginning, completed by the best that can
follow, is not. So each of three rounds (where to begin and end, left path, right path) keeps the best of a row of
sums. `extract.Reader.beam` says the same, member by member.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from ..data.kb import KnowledgeBase
from ..logic.formula import Formula, Not, Statement, X, Y
from .attention import Attentions
from .extract import TINY
from .space import PADDING, Kind, Shape, Space

Chain = tuple[int, ...]
"""0, or 1 for a negation; then the step codes of the line from X to Y, filters of one entity in order."""

MOST_SUMS = 2**21
"""Sums that are held at once; members are read in pieces of as many as fit."""
NEVER = -torch.inf


def best_chains(
    kb: KnowledgeBase,
    spaces: Sequence[Space],
    shape: Shape,
    attentions: Attentions,
    k: int,
    longest: int = 2**31,
    positive: bool = False,
) -> list[dict[Chain, float]]:
    """For each member its k most probable chains with their log-probabilities, best first.

    `spaces` are padded to the shape; each has as many members as the others. Ties go to the smaller index.
    """
    assert not shape.widths, "formulas are read by extract.Reader"
    tables = _Tables.of(kb, spaces, shape, attentions.output.device)
    members = attentions.members
    target = torch.arange(members, device=attentions.output.device) // (members // len(spaces))
    sums = max(shape.outputs * (shape.starts * shape.slots) ** 2, _readings(shape) * k * k)
    piece = max(1, MOST_SUMS // sums)
    found: list[dict[Chain, float]] = []
    for first in range(0, members, piece):
        part = slice(first, first + piece)
        trees = _best_trees(tables.of_members(target[part]), shape, attentions[part], k, longest, positive)
        found += _different(trees, tables.is_filter, k)
    return found


def formula_of(kb: KnowledgeBase, chain: Chain) -> Formula:
    """What the chain says."""
    statement = Statement(X, tuple(kb.step(code) for code in chain[1:]), Y)
    return Not(statement) if chain[0] else statement


def _readings(shape: Shape) -> int:
    """The most choices that make one chain: any of its atoms may be the statement if both paths are short enough."""
    return (shape.steps + 1) * shape.heads**2 * shape.instances


@dataclass(frozen=True, eq=False)
class _Tables:
    """The spaces as tensors; a row for each target, or for each member."""

    operators: Tensor  # (G, O) step codes
    predicates: Tensor  # (G, S) of the statements; padding also where a unary one stands, which links nothing
    starts: Tensor  # (G, N) kinds
    is_filter: Tensor  # bool (codes,)

    @classmethod
    def of(cls, kb: KnowledgeBase, spaces: Sequence[Space], shape: Shape, device: torch.device) -> _Tables:
        binary = np.array([p.arity == 2 for p in kb.predicates])
        predicates = np.stack([space.predicates for space in spaces]).astype(np.int64)
        predicates[~binary[predicates]] = PADDING
        kinds = [[PADDING if start is None else int(start.kind) for start in space.starts] for space in spaces]
        operators = np.stack([space.operators for space in spaces]).astype(np.int64)
        return cls(
            torch.from_numpy(operators).to(device),
            torch.from_numpy(predicates).repeat(1, shape.instances).to(device),
            torch.tensor(kinds, device=device),
            torch.from_numpy(np.repeat(~binary, 2)).to(device),
        )

    def of_members(self, target: Tensor) -> _Tables:
        return _Tables(self.operators[target], self.predicates[target], self.starts[target], self.is_filter)


@dataclass(frozen=True, eq=False)
class _Trees:
    """For each member its best choices, best first: (B, n) and (B, n, T) each; NEVER is the score of none."""

    score: Tensor
    negated: Tensor
    predicate: Tensor
    from_x: Tensor  # bool: the left argument starts in X, the right one in Y
    left: Tensor  # step codes, padded at the end
    right: Tensor


def _best_trees(tables: _Tables, shape: Shape, attentions: Attentions, k: int, longest: int, positive: bool) -> _Trees:
    paths, steps = _best_paths(_log(attentions.operators, (tables.operators != PADDING)[:, None, None]), k)
    output = _log(attentions.output)[:, : shape.statements if positive else None]
    left, right = (_log(side, side > 0) for side in (attentions.left, attentions.right))
    begin = _beginnings(tables, shape, output, left, right, paths[:, :, 0], longest)
    most = _readings(shape) * k
    score, best = _largest(begin.flatten(1), most)
    j, n, p, m, q = torch.unravel_index(best, begin.shape[1:])
    row = torch.arange(len(best), device=best.device)[:, None]
    s = j % shape.statements
    start = output.gather(1, j).masked_fill(score == NEVER, NEVER)
    one, two = left[row, s, n, p], right[row, s, m, q]
    # Every round adds in the same order, so that one choice has one sum.
    sums = start[..., None] + ((one[..., None] + paths[row, p]) + (two + paths[row, q, 0])[..., None])
    _, best = _largest(sums.flatten(1), most)
    at, i = best // k, best % k
    j, n, p, q, start, one, two = (t.gather(1, at) for t in (j, n, p, q, start, one, two))
    sums = start[..., None] + ((one + paths[row, p, i])[..., None] + (two[..., None] + paths[row, q]))
    score, best = _largest(sums.flatten(1), most)
    at, right_rank = best // k, best % k
    j, n, p, q, left_rank = (t.gather(1, at) for t in (j, n, p, q, i))
    codes = torch.cat([tables.operators, torch.full_like(tables.operators[:, :1], PADDING)], 1)
    return _Trees(
        score,
        j // shape.statements,
        tables.predicates.gather(1, j % shape.statements),
        tables.starts.gather(1, n) == Kind.X,
        codes[row[..., None], steps[row, p, left_rank]],
        codes[row[..., None], steps[row, q, right_rank]],
    )


def _beginnings(
    tables: _Tables, shape: Shape, output: Tensor, left: Tensor, right: Tensor, best_path: Tensor, longest: int
) -> Tensor:
    """(B, signed statements, N, P, N, P): the best that can come of them; NEVER where no line leads from X to Y."""
    one, two = (side + best_path[:, None, None] for side in (left, right))
    both = one[..., None, None] + two[:, :, None, None]
    is_x, is_y = tables.starts == Kind.X, tables.starts == Kind.Y
    linked = (is_x[:, :, None] & is_y[:, None]) | (is_y[:, :, None] & is_x[:, None])
    length = (torch.arange(shape.slots, device=both.device) + shape.heads - 1) // shape.heads
    short = length[:, None] + 1 + length <= longest
    exists = (tables.predicates != PADDING)[:, :, None, None, None, None]
    allowed = exists & linked[:, None, :, None, :, None] & short[:, None, :]
    both = both.masked_fill(~allowed, NEVER)
    signs = output.shape[1] // shape.statements
    return output[..., None, None, None, None] + both.repeat(1, signs, 1, 1, 1, 1)


def _best_paths(log: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """(B, P, k) and (B, P, k, T): for each slot its most probable operator sequences, padded with NEVER and -1."""
    members, heads, steps, _ = log.shape
    score = log.new_full((members, 1 + heads * steps, k), NEVER)
    score[:, 0, 0] = 0.0
    codes = torch.full((*score.shape, steps), PADDING, device=log.device)
    choice, operator = (t.view(members * heads, steps, -1) for t in _largest(log.flatten(0, 2), k))
    before = log.new_zeros(members * heads, 1)
    sequence = codes.new_zeros(members * heads, 1, 0)
    for t in range(steps):
        width = choice.shape[-1]
        before, best = _largest((before[..., None] + choice[:, None, t]).flatten(1), k)
        prefix = sequence.gather(1, (best // width)[..., None].expand(-1, -1, t))
        sequence = torch.cat([prefix, operator[:, t].gather(1, best % width)[..., None]], -1)
        slots = slice(1 + t * heads, 1 + (t + 1) * heads)
        score[:, slots, : best.shape[1]] = before.view(members, heads, -1)
        codes[:, slots, : best.shape[1], : t + 1] = sequence.view(members, heads, -1, t + 1)
    return score, codes


def _different(trees: _Trees, is_filter: Tensor, k: int) -> list[dict[Chain, float]]:
    """The first k different chains of each member."""
    found = []
    for lines, scores in zip(_lines(trees, is_filter).tolist(), trees.score.tolist()):
        mine: dict[Chain, float] = {}
        for line, score in zip(lines, scores):
            if score == NEVER or len(mine) == k:
                break
            mine.setdefault(tuple(code for code in line if code != PADDING), score)
        found.append(mine)
    return found


def _lines(trees: _Trees, is_filter: Tensor) -> Tensor:
    """(B, n, 2 + 2T): the chains, padded."""

    def filters(codes: Tensor) -> Tensor:
        return (codes != PADDING) & is_filter[codes]

    from_x = trees.from_x[..., None]
    there, back = torch.where(from_x, trees.left, trees.right), torch.where(from_x, trees.right, trees.left)
    back = torch.where((back == PADDING) | filters(back), back, back ^ 1).flip(-1)
    middle = 2 * trees.predicate[..., None] + torch.where(from_x, 0, 1)
    line = torch.cat([trees.negated[..., None], there, middle, back], -1)
    line = line.gather(-1, (line == PADDING).sort(dim=-1, stable=True)[1])
    # Filters of one entity commute: neighbours among them change places until they stand in order.
    for end in range(line.shape[-1] - 1, 1, -1) if bool(is_filter.any()) else ():
        for i in range(1, end):
            one, two = line[..., i].clone(), line[..., i + 1].clone()
            swap = filters(one) & filters(two) & (one > two)
            line[..., i], line[..., i + 1] = torch.where(swap, two, one), torch.where(swap, one, two)
    return line


def _log(weights: Tensor, exists: Tensor | None = None) -> Tensor:
    log = torch.nan_to_num(weights.double(), nan=0.0).clamp(min=TINY).log()
    return log if exists is None else log.masked_fill(~exists, NEVER)


def _largest(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """The k largest of each row and where they stand, best first; of equals the first, which topk does not promise."""
    k = min(k, values.shape[1])
    least = values.topk(k, 1, sorted=False)[0].amin(1, keepdim=True)
    above, equal = values > least, values == least
    kept = above | (equal & (equal.cumsum(1) <= k - above.sum(1, keepdim=True)))
    index = kept.nonzero()[:, 1].view(-1, k)
    ordered, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return ordered, index.gather(1, order)
