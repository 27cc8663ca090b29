"""The search for the smallest program that covers all positive examples and no negative one.

Bodies grow by cost. After each cost, the consistent bodies so far compete in a cheapest cover, alone and together with
recursive clauses. It ends where nothing cheaper can follow, or where its effort is spent; effort is counted in literals
that were evaluated, so that the result does not depend on the machine.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import combinations

import numpy as np

from ..data.arrays import Mask
from ..errors import LimitError
from ..progress import Stop
from .base import Tuples
from .bias import Bias
from .clause import BUILT_IN, EQUAL, Clause, Literal
from .cover import cheapest_cover
from .noise import Rough, least_description
from .recursion import (
    MAX_GOALS,
    Examples,
    Follower,
    Goals,
    Recursive,
    consequences,
    follow_all,
    mark_of,
    packed,
    recursive_literals,
    unpacked,
)
from .refinement import PLAIN, BoundBody, LanguageBias, Refinement
from .task import Task, solves

INFINITE = 1 << 30
MAX_TRIED = 60_000
"""Literals that are evaluated before the search gives up."""
MORE_TRIED = 4_000
"""Literals that are evaluated at most to shorten a program, or as many as it took to find it if that is more."""
FREE_TRIED, SHORTER = 4_000, 0.9
"""Literals that are evaluated before the examples count as noisy: no program fits them, but one with wrong answers has
at most this share of their number in length."""
MAX_WRONG_SHARE = 0.3
"""A program that gets a larger share of the positive or negative examples wrong does not show noise: the search goes
on, since the examples may need more clauses or longer ones."""
NOISY_BEAM, NOISY_LEVELS = 40, 2
"""With noise, half the bodies of one cost that grow; costs without a shorter description after which a search ends."""
NOISY_RECURSIVE, NOISY_BASE_TRIED = 15, 1_000
"""With noise, recursive clauses that are tried, and literals that are evaluated for those that they end with."""
RECURSION_COST = 2
"""What a recursive program costs besides its literals, so that of two alike the one without recursion wins."""
MAX_RECURSIVE, MAX_PAIRS = 150, 400
"""Recursive clauses that are tried alone and in pairs."""
MAX_BASE_LITERALS, MAX_BASES, LEAST_BASE_TRIED = 3, 3_000, 1_000
"""Literals of the clauses that a recursion ends with, how many clauses are tried, and literals at least for them."""


@dataclass(frozen=True)
class Solution:
    """A program that covers all positive examples and no negative one: its `clauses` and `cost`.

    `is_least`: no choice of the clauses that were found is cheaper.
    """

    clauses: tuple[Clause, ...]
    cost: int
    is_least: bool


@dataclass(eq=False)
class Search:
    """One search: the examples of a `task`, what bodies may have, and the best program so far.

    `language` is what bodies may have besides atoms; `most` the cost that a program must stay below; `max_tried` the
    effort. `stop` ends it early. `num_tried` literals were evaluated; `was_cut`: not all that could have been.
    `rough` is the best program with wrong answers if the examples are noisy.
    """

    task: Task
    language: LanguageBias = PLAIN
    most: int = INFINITE
    max_tried: int = MAX_TRIED
    stop: Stop = field(default_factory=Stop)
    best: Solution | None = None
    num_tried: int = 0
    was_cut: bool = False
    rough: Rough | None = None

    def __post_init__(self) -> None:
        self.queries = np.concatenate((self.task.positives, self.task.negatives))
        self.num_positive = len(self.task.positives)
        self.positive = np.arange(len(self.queries)) < self.num_positive
        self.head = Literal(self.task.target, tuple(range(self.task.target.arity)))
        self.all_positive = (1 << self.num_positive) - 1
        self.consistent: list[tuple[Clause, int]] = []
        self.all_nodes: list[tuple[Clause, Mask]] = []
        self.recursive: dict[int, tuple[Clause, BoundBody]] = {}
        self.noisy_recursive: list[tuple[int, Clause, BoundBody]] = []
        self._tried_recursive = (0, 0)

    def run(self) -> Solution | None:
        """Search, and return the best program."""
        task = self.task
        refinement = self._refinement(self.queries, self.positive, task.bias)
        examples = Examples(self.queries, self.num_positive, task.base.num_entities)
        levels: dict[int, list[BoundBody]] = {0: [refinement.root()]}
        allowance, free, idle, has_ended = self.max_tried, FREE_TRIED, 0, False
        for cost in range(self._most_cost() + 1):
            for node in self._worth_growing(levels.pop(cost, [])):
                if refinement.num_tried > allowance or self.stop():
                    has_ended = True
                    break
                self._recurse(node, examples)
                for child in refinement.grow(node):
                    if self._keep(child):
                        levels.setdefault(child.cost, []).append(child)
            had = self.best is not None
            self.num_tried = refinement.num_tried
            self._solve()
            if self.best is not None and not had:
                allowance = min(self.max_tried, max(2 * refinement.num_tried, refinement.num_tried + MORE_TRIED))
            if self.best is None and (self.rough is not None or refinement.num_tried > free):
                free, idle = 2 * refinement.num_tried, 0 if self._roughed() else idle + 1
            is_done = self.rough is not None and idle >= NOISY_LEVELS
            if has_ended or is_done or not levels or cost + 3 > self._limit():
                break
        self.was_cut |= refinement.was_cut or has_ended
        return self.best

    def _roughed(self) -> bool:
        """Look for a shorter program with wrong answers; return whether there is one."""
        before = self.rough.length if self.rough is not None else int(SHORTER * self.num_positive) + 1
        found = least_description(self.task, self.all_nodes)
        if found is None or found.length >= before or not self._is_noise(found):
            return False
        self.rough = found
        return True

    def _is_noise(self, found: Rough) -> bool:
        """Return whether the examples that `found` gets wrong are few enough to be wrong labels."""
        missed, wrong = ~found.covered[: self.num_positive], found.covered[self.num_positive :]
        return all(part.mean() <= MAX_WRONG_SHARE for part in (missed, wrong) if len(part))

    def _worth_growing(self, nodes: Sequence[BoundBody]) -> Sequence[BoundBody]:
        """Return all `nodes`; with noise, those that tell positive examples from negative ones best.

        Half of them do that for all examples, half for those that the best program so far does not derive.
        """
        if self.rough is None or len(nodes) <= 2 * NOISY_BEAM:
            return nodes
        self.was_cut = True
        covered = np.array([node.covered for node in nodes], np.float32)
        kept: set[int] = set()
        for open_ in (np.ones(len(self.queries), bool), ~self.rough.covered):
            weights = [
                np.where(one, 1 / max(1, one.sum()), 0) for one in (self.positive & open_, ~self.positive & open_)
            ]
            shares = (covered @ (weights[0] - weights[1]).astype(np.float32)).round(6)
            kept.update(np.argsort(-shares, kind="stable")[:NOISY_BEAM].tolist())
        return [nodes[i] for i in sorted(kept)]

    def _limit(self) -> int:
        """Return the cost that a program must stay below to be of interest."""
        return self.most if self.best is None else min(self.most, self.best.cost)

    def _most_cost(self) -> int:
        return 2 * self.task.bias.max_body

    def _refinement(self, queries: Tuples, positive: Mask, bias: Bias) -> Refinement:
        task = self.task
        return Refinement(task.base, task.target, queries, positive, task.symbols, bias, self.language)

    def _keep(self, node: BoundBody) -> bool:
        """Note a body that is consistent; return whether its extensions are of interest."""
        clause = Clause(self.head, node.body)
        allowed = self._allowed(clause)
        if allowed is not None:
            self.all_nodes.append((allowed, node.covered))
        if node.covered[self.num_positive :].any():
            return True
        if allowed is None:
            return True  # an input may still be bound
        covered = node.covered[: self.num_positive]
        if covered.sum() > 1 or not any(b.symbol == EQUAL for b in clause.body):  # a single example is no idea
            self.consistent.append((allowed, _bits(covered)))
        return False

    def _allowed(self, clause: Clause) -> Clause | None:
        """Return the clause in an order that runs; None if the bias forbids it or a head variable is free."""
        atoms = (b for b in clause.body if not b.negated and (b.symbol == EQUAL or b.symbol not in BUILT_IN))
        used = {v for literal in atoms for v in literal.variables}
        bias = self.task.bias
        if not used.issuperset(clause.head.args) or not (bias.can_grow(clause) and bias.has_enough(clause)):
            return None
        return bias.in_order(clause)

    # recursion --------------------------------------------------------------------------------------

    def _recurse(self, node: BoundBody, examples: Examples) -> None:
        """Note the recursive clauses that a body gives, unless a negative example leads to a positive one."""
        bias, task = self.task.bias, self.task
        if not bias.recursion or len(node.body) >= bias.max_body or self.rough is not None:
            return
        for literal in recursive_literals(task.target, node.types, task.base.types[task.target]):
            clause = self._allowed(Clause(self.head, (*node.body, literal)))
            if clause is None:
                continue
            owner, keys, labels = examples.steps(node, literal)
            positive = owner < self.num_positive
            leads = len(np.unique(owner[positive & (labels > 0)]))
            misleads = len(np.unique(owner[~positive & (labels > 0)]))
            if leads > misleads:
                self.noisy_recursive.append((misleads - leads + clause.cost, clause, node))
            if misleads or not (labels[positive] >= 0).any():
                continue
            mark = mark_of(owner, [keys])
            if mark not in self.recursive:
                self.recursive[mark] = (clause, node)

    def _solve(self) -> None:
        """Improve the best program with the clauses so far."""
        most = self._limit()
        costs, masks = [c.cost for c, _ in self.consistent], [m for _, m in self.consistent]
        cover = cheapest_cover(costs, masks, self.all_positive, most, self.task.bias.max_clauses)
        if cover is not None:
            clauses = tuple(self.consistent[i][0] for i in cover.chosen)
            self.best = Solution(clauses, cover.cost, cover.is_least)
            most = cover.cost
        tried = (len(self.recursive), self._base_effort())
        is_open = self.rough is None and self.task.bias.max_clauses > 1
        if self.recursive and is_open and tried != self._tried_recursive:
            self._tried_recursive = tried
            self._solve_recursive(most)

    def _base_effort(self) -> int:
        """Return how many literals are evaluated for clauses that a recursion ends with: as many as for all others."""
        return min(max(LEAST_BASE_TRIED, self.num_tried), MAX_TRIED // 4)

    def _solve_recursive(self, most: int) -> None:
        """Try recursive clauses, alone and in pairs, with every clause that they may end with."""
        steps, goals = self._followed(most)
        if not steps:
            return
        bases, holds = self._bases(goals, most)
        if not bases:
            return
        covers = packed(holds)
        for chosen in _choices(steps):
            cost = sum(one.clause.cost for one in chosen) + RECURSION_COST
            if cost + 2 >= most or len(chosen) >= self.task.bias.max_clauses:
                continue
            found = unpacked(consequences(covers, chosen), len(bases))[:, : len(self.queries)]
            right = np.flatnonzero(~found[:, self.num_positive :].any(axis=1))
            covered = found[right][:, : self.num_positive]
            if not covered.any(axis=0).all():
                continue
            masks = [_bits(mask) for mask in covered]
            costs = [bases[i].cost for i in right]
            room = self.task.bias.max_clauses - len(chosen)
            cover = cheapest_cover(costs, masks, self.all_positive, most - cost, room)
            if cover is None:
                continue
            clauses = (*(bases[right[i]] for i in cover.chosen), *(one.clause for one in chosen))
            if solves(self.task, clauses):  # not all goals were followed if there were too many
                most = cover.cost + cost
                self.best = Solution(clauses, most, cover.is_least)

    def _followed(self, most: int) -> tuple[list[Recursive], Goals]:
        """Return the recursive clauses that lead no negative example to a positive one, over shared goals."""
        base, shared = self.task.base, Goals(self.queries, self.task.base.num_entities)
        kept: list[Follower] = []
        for clause, node in sorted(self.recursive.values(), key=lambda pair: pair[0].cost):
            if clause.cost + 2 + RECURSION_COST >= most or len(kept) >= MAX_RECURSIVE or len(shared) > MAX_GOALS:
                break
            alone = Follower(clause, base, Goals(self.queries, base.num_entities), node)
            try:
                follow_all([alone])
            except LimitError:
                self.was_cut = True
                continue
            if not self._misleads(alone.steps):
                kept.append(Follower(clause, base, shared, node))
        try:
            follow_all(kept)
        except LimitError:
            self.was_cut = True
        return [one.steps for one in kept], shared

    def _misleads(self, steps: Recursive) -> bool:
        """Return whether a negative example follows from the positive ones."""
        count = 1 + max(len(self.queries) - 1, int(steps.subgoals.max(initial=0)), int(steps.source.max(initial=0)))
        positive = np.zeros((count, 1), np.uint64)
        positive[: self.num_positive] = 1
        return bool(consequences(positive, [steps])[self.num_positive : len(self.queries)].any())

    def rough_recursion(self) -> Rough | None:
        """Return the recursive program of least description length that was found; None if there is none.

        One recursive clause, which leads more positive examples to positive ones than negative ones.
        """
        base, goals = self.task.base, Goals(self.queries, self.task.base.num_entities)
        some = sorted(self.noisy_recursive, key=lambda found: found[0])[:NOISY_RECURSIVE]
        followers = [Follower(clause, base, goals, node) for _, clause, node in some]
        try:
            follow_all(followers)
        except LimitError:
            return None
        bases, holds = self._bases(goals, INFINITE, NOISY_BASE_TRIED)
        if not bases:
            return None
        covers, best = packed(holds), None
        for one in followers:
            found = unpacked(consequences(covers, [one.steps]), len(bases))[:, : len(self.queries)]
            rough = least_description(self.task, list(zip(bases, found)), one.clause.cost + RECURSION_COST)
            if rough is not None and (best is None or rough.length < best.length):
                best = Rough((*rough.clauses, one.clause), rough.length, rough.covered)
        return best

    def _bases(self, goals: Goals, most: int, noisy_effort: int = 0) -> tuple[list[Clause], list[Mask]]:
        """Return clauses without recursion, and which goals each covers.

        None covers a negative example, unless there is a `noisy_effort`: literals that are evaluated with noise.
        """
        rows = goals.rows
        negative = np.zeros(len(rows), bool)
        negative[self.num_positive : len(self.queries)] = True
        bias = replace(self.task.bias, max_body=min(MAX_BASE_LITERALS, self.task.bias.max_body))
        refinement = self._refinement(rows, ~negative, bias)
        bases: list[Clause] = []
        holds: list[Mask] = []
        level = [refinement.root()]
        while level and len(bases) < MAX_BASES:
            following: list[BoundBody] = []
            for node in level:
                for child in refinement.grow(node):
                    clause = self._allowed(Clause(self.head, child.body))
                    is_right = noisy_effort > 0 or not child.covered[negative].any()
                    if clause is not None and clause.cost + 2 < most and is_right:
                        bases.append(clause)
                        holds.append(child.covered)
                    if child.cost + 4 < most:
                        following.append(child)
                if len(bases) >= MAX_BASES or refinement.num_tried > (noisy_effort or self._base_effort()):
                    self.was_cut = True
                    return bases, holds
            level = following
        return bases, holds


def _choices(steps: Sequence[Recursive]) -> Iterator[tuple[Recursive, ...]]:
    """Yield the recursive clauses alone, then in pairs."""
    yield from ((one,) for one in steps)
    few = steps[: int((2 * MAX_PAIRS) ** 0.5) + 1]
    yield from combinations(few, 2)


def _bits(mask: Mask) -> int:
    """Return a mask as the bits of one number."""
    return int.from_bytes(np.packbits(mask, bitorder="little").tobytes(), "little")
