"""From attentions to explicit rules: the largest choices, sampled choices, or the k most probable rules.   [paper §5.1]

Every family is read as a categorical distribution over its choices. `AttentionReader` turns the choices of one member
into formulas; its rule has, with one-hot attentions, exactly the soft score (tests/property/test_soft_exact.py).
`best_chains` reads the most probable statements between X and Y of all members of a group at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from ..data.kb import KnowledgeBase
from ..logic.formula import ANY, And, Formula, Not, Path, Statement, X, Y
from ..logic.predicate import Step
from ..logic.rule import Head, Rule
from ..logic.simplify import FALSE
from .paths import last_of_unary
from .space import PADDING, Attentions, Kind, Shape, Space

ScoredFormulas = list[tuple[float, Formula]]
"""Formulas with their log-probability, best first."""
Paths = list[tuple[float, tuple[int, ...]]]
"""Operator sequences with their log-probability, best first."""
Chain = tuple[int, ...]
"""0, or 1 for a negation; then the step codes of the line from X to Y, filters of one entity sorted."""

LEAST_WEIGHT = 1e-12
"""Lower bound of weights inside a logarithm."""
MOST_SUMS = 2**21
"""Limit of the sums that `best_chains` holds at once; it reads members in blocks of this size."""
NEVER = -torch.inf
ANY_LENGTH = 2**31


class AttentionReader:
    """Reads rules from the attentions of one member."""

    def __init__(
        self,
        kb: KnowledgeBase,
        space: Space,
        shape: Shape,
        attentions: Attentions,
        member: int,
        linked: bool = False,
        longest: int = ANY_LENGTH,
    ) -> None:
        """
        Args:
            kb: has the names of predicates and entities.
            space: the space of the member's target, padded to the shape.
            shape: the sizes of the attentions.
            attentions: those of a stack of members.
            member: the member to read.
            linked: whether statements that are not between X and Y count as false, as in QueryPaths.
            longest: limit of the body atoms of a statement in the beam.
        """
        self.kb, self.space, self.shape = kb, space, shape
        self.linked, self.longest = linked, longest
        self.head = Head.of(kb.predicates[space.target])
        named = {name: t[member].detach().cpu().double().numpy() for name, t in attentions.tensors().items()}
        self.operators: np.ndarray = named["operators"]  # (H, T, O)
        self.left: np.ndarray = named["left"]  # (I * K, N, P)
        self.right: np.ndarray = named["right"]
        levels = range(1, len(shape.widths) + 1)
        self.factors = [(named[f"first.{i}"], named[f"second.{i}"]) for i in levels]  # (C_l, 2 * C_(l-1)) each
        self.output: np.ndarray = named["output"]

    def rule(self, formula: Formula) -> Rule:
        """Return the rule of the target with the body `formula`."""
        return Rule(self.head, formula)

    # one choice of everything -----------------------------------------------------------------------

    def argmax(self) -> Rule:
        """Return the rule of the largest entries; ties go to the first."""
        return self.rule(self._read(lambda weights: int(np.argmax(weights))))

    def samples(self, count: int, random: np.random.Generator) -> Iterator[Rule]:
        """Yield `count` rules drawn from the attentions by `random`."""

        def draw(weights: np.ndarray) -> int:
            return int(random.choice(weights.size, p=weights.ravel() / weights.sum()))

        for _ in range(count):
            yield self.rule(self._read(draw))

    def statement(self, s: int) -> Formula:
        """Return statement number `s` by its largest entries."""
        heads = np.argmax(self.operators, -1).tolist()
        ends = [divmod(int(np.argmax(side[s])), self.shape.slots) for side in (self.left, self.right)]
        (left, left_slot), (right, right_slot) = ends
        return self._statement(s, left, self._codes(left_slot, heads), right, self._codes(right_slot, heads))

    def _read(self, choose: Callable[[np.ndarray], int]) -> Formula:
        """Make one choice per distribution, each only once: statements of one head share its operators."""
        heads = [[choose(step) for step in head] for head in self.operators]
        statements: dict[int, Formula] = {}
        formulas: dict[tuple[int, int], Formula] = {}

        def statement(s: int) -> Formula:
            if s not in statements:
                ends = [divmod(choose(side[s].ravel()), self.shape.slots) for side in (self.left, self.right)]
                paths = [self._codes(slot, heads) for _, slot in ends]
                statements[s] = self._statement(s, ends[0][0], paths[0], ends[1][0], paths[1])
            return statements[s]

        def formula(level: int, c: int) -> Formula:
            if level == 0:
                return statement(c)
            if (level, c) not in formulas:
                chosen = [choose(side[c]) for side in self.factors[level - 1]]
                formulas[level, c] = And(*(signed(level - 1, j) for j in chosen))
            return formulas[level, c]

        def signed(level: int, j: int) -> Formula:
            negated, c = divmod(j, self.shape.levels[level])
            return Not(formula(level, c)) if negated else formula(level, c)

        return signed(*self._output(choose(self.output)))

    def _output(self, j: int) -> tuple[int, int]:
        """Return a position in s_o as (level, signed position)."""
        for level, count in enumerate(self.shape.levels):
            if j < 2 * count:
                return level, j
            j -= 2 * count
        raise IndexError(j)

    def _codes(self, slot: int, heads: list[list[int]]) -> tuple[int, ...]:
        """Return the operators of a slot, given the choices of each head."""
        if slot == 0:
            return ()
        length, head = divmod(slot - 1, self.shape.heads)
        return tuple(heads[head][: length + 1])

    def _statement(
        self, s: int, left: int, left_path: tuple[int, ...], right: int, right_path: tuple[int, ...]
    ) -> Formula:
        """Return P_k(left, right); statements without a head variable count as false, as in QueryPaths."""
        predicate = self.kb.predicates[int(self.space.predicates[s % self.shape.predicates])]
        one, two = self.space.starts[left], self.space.starts[right]
        assert one is not None and two is not None, "padding has no attention"  # noqa: PT018
        if predicate.arity == 1:
            if self.linked or two.kind > last_of_unary(self.kb.num_graphs):
                return FALSE
            return Statement.meet(two.path(self.kb, self._steps(right_path)).then(Step(predicate)), Path(ANY))
        heads = {start.kind for start in (one, two) if start.kind <= Kind.Y}
        if not heads or (self.linked and len(heads) < 2):
            return FALSE
        return Statement.meet(
            one.path(self.kb, self._steps(left_path)).then(Step(predicate)), two.path(self.kb, self._steps(right_path))
        )

    def _steps(self, operators: tuple[int, ...]) -> tuple[Step, ...]:
        return tuple(self.kb.step(int(self.space.operators[o])) for o in operators)

    # the k most probable ------------------------------------------------------------------------------

    def beam(self, k: int) -> list[Rule]:
        """Return the `k` most probable distinct rules; choices of different statements are treated as independent."""
        different = dict.fromkeys(formula for _, formula in self.scored(k) if formula != FALSE)
        return [self.rule(formula) for formula in islice(different, k)]

    def scored(self, k: int) -> ScoredFormulas:
        """Return the formulas of a beam of width `k`; a formula may occur more than once."""
        paths = self._best_paths(k)
        levels: list[list[ScoredFormulas]] = [
            [self._best_statements(s, paths, k) for s in range(self.shape.statements)]
        ]
        for first, second in self.factors:
            signed = [*levels[-1], *map(_negated, levels[-1])]
            levels.append([_best_products(signed, _log(first[c]), _log(second[c]), k) for c in range(len(first))])
        output = _log(self.output)
        every = [formulas for level in levels for formulas in (*level, *map(_negated, level))]
        pool = [(output[j] + p, formula) for j, formulas in enumerate(every) for p, formula in formulas]
        return _largest(pool, len(pool))

    def _best_paths(self, k: int) -> list[Paths]:
        """Return the most probable operator sequences of each slot."""
        log = _log(self.operators)
        best = np.argsort(-log, -1, kind="stable")[..., :k].tolist()
        slots: list[Paths] = [[(0.0, ())]]
        previous = slots * self.shape.heads
        for t in range(self.shape.steps):
            for h, shorter in enumerate(previous):
                real = [o for o in best[h][t] if self.space.operators[o] >= 0]
                previous[h] = _largest([(p + log[h, t, o], (*codes, o)) for p, codes in shorter for o in real], k)
            slots += previous
        return slots

    def _best_statements(self, s: int, paths: list[Paths], k: int) -> ScoredFormulas:
        """Return the most probable choices of both arguments of statement s, without trivial statements."""
        if self.space.predicates[s % self.shape.predicates] < 0:
            return []
        most = 2 * k
        sides = []
        for side in (self.left, self.right):
            log = _log(side[s])
            options = [
                (log[n, slot] + p, n, codes) for n, slot in zip(*np.nonzero(side[s])) for p, codes in paths[slot][:most]
            ]
            sides.append(_largest(options, most))
        one, two = ([o[0] for o in side] for side in sides)
        found: dict[tuple[Any, ...], tuple[float, Formula]] = {}
        for p, i, j in _best_pairs(one, two, 4 * k):
            (_, left, left_path), (_, right, right_path) = sides[0][i], sides[1][j]
            choices = (left, left_path, right, right_path)
            if choices not in found and len(left_path) + 1 + len(right_path) <= self.longest:
                formula = self._statement(s, *choices)
                if formula != FALSE:
                    found[choices] = (p, formula)
            if len(found) == 2 * k:
                break
        return list(found.values())


def _log(weights: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(weights, LEAST_WEIGHT))


def _largest(options: list[Any], k: int) -> list[Any]:
    return sorted(options, key=lambda option: -option[0])[:k]


def _negated(formulas: ScoredFormulas) -> ScoredFormulas:
    return [(p, Not(formula)) for p, formula in formulas]


def _best_products(signed: list[ScoredFormulas], first: np.ndarray, second: np.ndarray, k: int) -> ScoredFormulas:
    sides = []
    for log in (first, second):
        options = [
            (log[j] + p, formula)
            for j in np.argsort(-log, kind="stable")[: 2 * k].tolist()
            for p, formula in signed[j][:k]
        ]
        sides.append(_largest(options, 2 * k))
    pairs = _best_pairs([o[0] for o in sides[0]], [o[0] for o in sides[1]], 2 * k)
    return [(p, And(sides[0][i][1], sides[1][j][1])) for p, i, j in pairs]


def _best_pairs(one: list[float], two: list[float], k: int) -> list[tuple[float, int, int]]:
    """Return the k largest one[i] + two[j]. Both lists descend, so such a pair has (i + 1) * (j + 1) <= k."""
    pairs = [(a + b, i, j) for i, a in enumerate(one[:k]) for j, b in enumerate(two[: k // (i + 1)])]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))[:k]


# chains of all members at once --------------------------------------------------------------------------


def best_chains(
    kb: KnowledgeBase,
    spaces: Sequence[Space],
    shape: Shape,
    attentions: Attentions,
    k: int,
    longest: int = ANY_LENGTH,
    positive: bool = False,
) -> list[dict[Chain, float]]:
    """Return for each member its k most probable chains with their log-probabilities, best first.

    Without formulas above statements, a rule is a sign, a statement and a path for each of its arguments:

        log p = log s_o[sign, s] + log S_psi[s, n, p] + log paths[p, i] + log S_psi'[s, m, q] + log paths[q, j]

    The terms are added one by one. A rule can be among the best only if its prefix, completed by the best possible
    suffix, is. So each of three rounds (start and end, left path, right path) keeps only the best sums of a row.
    `AttentionReader.scored` gives the same result member by member.

    Ties go to the smaller index.

    Args:
        kb: has the arity of predicates.
        spaces: padded to the shape; all have the same number of members.
        shape: the sizes of the attentions, without formulas above statements.
        attentions: those of all members.
        k: the number of chains per member.
        longest: limit of the body atoms of a chain.
        positive: leave out negations, which hold for nearly all pairs.
    """
    assert not shape.widths, "formulas are read by AttentionReader"
    device, members = attentions.output.device, attentions.members
    tables = _Tables.of(kb, spaces, shape, device)
    is_filter = torch.tensor([p.arity == 1 for p in kb.predicates], device=device).repeat_interleave(2)
    target = torch.arange(members, device=device) // (members // len(spaces))
    sums = max(shape.outputs * (shape.starts * shape.slots) ** 2, _readings(shape) * k * k)
    piece = max(1, MOST_SUMS // sums)
    found: list[dict[Chain, float]] = []
    for first in range(0, members, piece):
        part = slice(first, first + piece)
        own = _Tables(*(table[target[part]] for table in tables))
        found += _different(*_best_lines(own, is_filter, shape, attentions[part], k, longest, positive), k)
    return found


def formula_of(kb: KnowledgeBase, chain: Chain) -> Formula:
    """Return `chain` as a formula."""
    statement = Statement(X, tuple(kb.step(code) for code in chain[1:]), Y)
    return Not(statement) if chain[0] else statement


def _readings(shape: Shape) -> int:
    """Return how many choices can give the same chain: any atom may be the statement if both paths are short enough."""
    return (shape.steps + 1) * shape.heads**2 * shape.instances


class _Tables(NamedTuple):
    """The spaces as tensors, with a row for each target or member."""

    operators: Tensor  # (G, O) step codes
    predicates: Tensor  # (G, S) of the statements; unary ones count as padding, since they link nothing
    starts: Tensor  # (G, N) kinds

    @classmethod
    def of(cls, kb: KnowledgeBase, spaces: Sequence[Space], shape: Shape, device: torch.device) -> _Tables:
        binary = np.array([p.arity == 2 for p in kb.predicates])
        predicates = np.stack([space.predicates for space in spaces])
        predicates[~binary[predicates]] = PADDING
        kinds = [[PADDING if start is None else int(start.kind) for start in space.starts] for space in spaces]
        columns = (np.stack([space.operators for space in spaces]), np.tile(predicates, shape.instances), kinds)
        return cls(*(torch.tensor(np.asarray(column), dtype=torch.int64, device=device) for column in columns))


def _best_lines(
    tables: _Tables, is_filter: Tensor, shape: Shape, attentions: Attentions, k: int, longest: int, positive: bool
) -> tuple[Tensor, Tensor]:
    """Return (B, n) scores and (B, n, 2 + 2T) chains of each member, best first; NEVER marks missing chains."""
    paths, steps = _top_paths(_log_weights(attentions.operators, (tables.operators != PADDING)[:, None, None]), k)
    output = _log_weights(attentions.output)[:, : shape.statements if positive else None]
    left, right = (_log_weights(side, side > 0) for side in (attentions.left, attentions.right))
    begin = _beginnings(tables, shape, output, left, right, paths[:, :, 0], longest)
    most = _readings(shape) * k
    score, best = _top(begin.flatten(1), most)
    j, n, p, m, q = torch.unravel_index(best, begin.shape[1:])
    row = torch.arange(len(best), device=best.device)[:, None]
    s = j % shape.statements
    start = output.gather(1, j).masked_fill(score == NEVER, NEVER)
    one, two = left[row, s, n, p], right[row, s, m, q]
    # Every round adds in the same order, so that equal choices have equal sums.
    sums = start[..., None] + ((one[..., None] + paths[row, p]) + (two + paths[row, q, 0])[..., None])
    _, best = _top(sums.flatten(1), most)
    at, i = best // k, best % k
    j, n, p, q, start, one, two = (t.gather(1, at) for t in (j, n, p, q, start, one, two))
    sums = start[..., None] + ((one + paths[row, p, i])[..., None] + (two[..., None] + paths[row, q]))
    score, best = _top(sums.flatten(1), most)
    at, right_rank = best // k, best % k
    j, n, p, q, left_rank = (t.gather(1, at) for t in (j, n, p, q, i))
    codes = torch.cat([tables.operators, torch.full_like(tables.operators[:, :1], PADDING)], 1)
    one, two = (codes[row[..., None], steps[row, slot, rank]] for slot, rank in ((p, left_rank), (q, right_rank)))
    predicate = tables.predicates.gather(1, j % shape.statements)
    from_x = (tables.starts.gather(1, n) == Kind.X)[..., None]  # the left argument starts in X, the right one in Y
    there, back = torch.where(from_x, one, two), torch.where(from_x, two, one)
    middle = 2 * predicate[..., None] + torch.where(from_x, 0, 1)
    return score, _lines((j // shape.statements)[..., None], there, middle, back, is_filter)


def _beginnings(
    tables: _Tables, shape: Shape, output: Tensor, left: Tensor, right: Tensor, best_path: Tensor, longest: int
) -> Tensor:
    """Return (B, signed statements, N, P, N, P): the best possible sums; NEVER if no line leads from X to Y."""
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


def _top_paths(log: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return (B, P, k) and (B, P, k, T): the most probable operator sequences of each slot, padded with NEVER, -1."""
    members, heads, steps, _ = log.shape
    score = log.new_full((members, 1 + heads * steps, k), NEVER)
    score[:, 0, 0] = 0.0
    codes = torch.full((*score.shape, steps), PADDING, device=log.device)
    choice, operator = (t.view(members * heads, steps, -1) for t in _top(log.flatten(0, 2), k))
    before = log.new_zeros(members * heads, 1)
    sequence = codes.new_zeros(members * heads, 1, 0)
    for t in range(steps):
        width = choice.shape[-1]
        before, best = _top((before[..., None] + choice[:, None, t]).flatten(1), k)
        prefix = sequence.gather(1, (best // width)[..., None].expand(-1, -1, t))
        sequence = torch.cat([prefix, operator[:, t].gather(1, best % width)[..., None]], -1)
        slots = slice(1 + t * heads, 1 + (t + 1) * heads)
        score[:, slots, : best.shape[1]] = before.view(members, heads, -1)
        codes[:, slots, : best.shape[1], : t + 1] = sequence.view(members, heads, -1, t + 1)
    return score, codes


def _different(score: Tensor, chains: Tensor, k: int) -> list[dict[Chain, float]]:
    """Return the first k distinct chains of each member."""
    found = []
    for lines, scores in zip(chains.tolist(), score.tolist()):
        distinct: dict[Chain, float] = {}
        for line, p in zip(lines, scores):
            if p == NEVER or len(distinct) == k:
                break
            distinct.setdefault(tuple(code for code in line if code != PADDING), p)
        found.append(distinct)
    return found


def _lines(negated: Tensor, there: Tensor, middle: Tensor, back: Tensor, is_filter: Tensor) -> Tensor:
    """Return (B, n, 2 + 2T): the padded chains: the path from X, the statement, the path from Y reversed."""

    def filters(codes: Tensor) -> Tensor:
        return (codes != PADDING) & is_filter[codes]

    back = torch.where((back == PADDING) | filters(back), back, back ^ 1).flip(-1)
    line = torch.cat([negated, there, middle, back], -1)
    line = line.gather(-1, (line == PADDING).sort(dim=-1, stable=True)[1])
    # Filters of one entity commute: sort them by swapping neighbours.
    for end in range(line.shape[-1] - 1, 1, -1) if bool(is_filter.any()) else ():
        for i in range(1, end):
            one, two = line[..., i].clone(), line[..., i + 1].clone()
            swap = filters(one) & filters(two) & (one > two)
            line[..., i], line[..., i + 1] = torch.where(swap, two, one), torch.where(swap, one, two)
    return line


def _log_weights(weights: Tensor, exists: Tensor | None = None) -> Tensor:
    log = torch.nan_to_num(weights.double(), nan=0.0).clamp(min=LEAST_WEIGHT).log()
    return log if exists is None else log.masked_fill(~exists, NEVER)


def _top(values: Tensor, k: int) -> tuple[Tensor, Tensor]:
    """Return the k largest of each row and their positions; ties go to the first, which topk does not guarantee."""
    k = min(k, values.shape[1])
    least = values.topk(k, 1, sorted=False)[0].amin(1, keepdim=True)
    above, equal = values > least, values == least
    kept = above | (equal & (equal.cumsum(1) <= k - above.sum(1, keepdim=True)))
    index = kept.nonzero()[:, 1].view(-1, k)
    ordered, order = values.gather(1, index).sort(dim=1, descending=True, stable=True)
    return ordered, index.gather(1, order)
