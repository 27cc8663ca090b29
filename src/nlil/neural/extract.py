"""From attentions to explicit rules: the largest choices, sampled choices, or the k most probable rules.   [paper §5.1]

Every family is read as a categorical distribution over its choices. `Reader` turns choices into formulas; the
rule it yields has, with one-hot attentions, exactly the soft score (tests/property/test_soft_exact.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..data.kb import KnowledgeBase
from ..logic.formula import ANY, And, Formula, Not, Path, Statement
from ..logic.predicate import Step
from ..logic.rule import Head, Rule
from ..logic.simplify import FALSE
from .attention import Attentions
from .meets import last_of_unary
from .space import Kind, Shape, Space

Tree = tuple[Any, ...]
"""A formula not yet built: ("not", tree), ("and", tree, tree), or the arguments of `Reader._statement`."""
Scored = list[tuple[float, Tree]]
"""Trees with their log-probability, best first."""

TINY = 1e-12


@dataclass(frozen=True, eq=False)
class Reader:
    """Reads rules from the attentions of one member."""

    kb: KnowledgeBase
    space: Space  # padded to the shape
    shape: Shape
    operators: np.ndarray  # (H, T, O)
    left: np.ndarray  # (I * K, N, P)
    right: np.ndarray
    first: tuple[np.ndarray, ...]  # (C_l, 2 * C_(l-1))
    second: tuple[np.ndarray, ...]
    output: np.ndarray
    linked: bool = False
    longest: int = 2**31  # most body atoms of a statement that a beam proposes
    positive: bool = False  # a beam of statements leaves out negations, which hold for nearly all pairs

    @classmethod
    def of(
        cls,
        kb: KnowledgeBase,
        space: Space,
        shape: Shape,
        attentions: Attentions,
        member: int,
        linked: bool = False,
        longest: int = 2**31,
        positive: bool = False,
    ) -> Reader:
        named = {name: t[member].detach().cpu().double().numpy() for name, t in attentions.tensors().items()}
        levels = range(1, len(shape.widths) + 1)
        return cls(
            kb,
            space,
            shape,
            named["operators"],
            named["left"],
            named["right"],
            tuple(named[f"first.{i}"] for i in levels),
            tuple(named[f"second.{i}"] for i in levels),
            named["output"],
            linked,
            longest,
            positive,
        )

    @cached_property
    def head(self) -> Head:
        return Head.of(self.kb.predicates[self.space.target])

    def rule(self, formula: Formula) -> Rule:
        return Rule(self.head, formula)

    # one choice of everything -----------------------------------------------------------------------

    def argmax(self) -> Rule:
        """The rule of the largest entries; the first of equals."""
        return self.rule(self._read(lambda weights: int(np.argmax(weights))))

    def samples(self, count: int, random: np.random.Generator) -> Iterator[Rule]:
        """Rules drawn from the attentions."""

        def draw(weights: np.ndarray) -> int:
            return int(random.choice(weights.size, p=weights.ravel() / weights.sum()))

        for _ in range(count):
            yield self.rule(self._read(draw))

    def _read(self, choose) -> Formula:
        """One choice per distribution, each made once: statements of one head share its operators."""
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
                chosen = [choose(side[level - 1][c]) for side in (self.first, self.second)]
                formulas[level, c] = And(*(signed(level - 1, j) for j in chosen))
            return formulas[level, c]

        def signed(level: int, j: int) -> Formula:
            negated, c = divmod(j, self.shape.levels[level])
            return Not(formula(level, c)) if negated else formula(level, c)

        return signed(*self._output(choose(self.output)))

    def _output(self, j: int) -> tuple[int, int]:
        """Position in s_o as (level, signed position)."""
        for level, count in enumerate(self.shape.levels):
            if j < 2 * count:
                return level, j
            j -= 2 * count
        raise IndexError(j)

    def _codes(self, slot: int, heads: list[list[int]]) -> tuple[int, ...]:
        """The operators of a slot, given each head's choices."""
        if slot == 0:
            return ()
        length, head = divmod(slot - 1, self.shape.heads)
        return tuple(heads[head][: length + 1])

    def _statement(
        self, s: int, left: int, left_path: tuple[int, ...], right: int, right_path: tuple[int, ...]
    ) -> Formula:
        """P_k(left, right); what is no statement about the head counts as false, as in the plan."""
        predicate = self.kb.predicates[int(self.space.predicates[s % self.shape.predicates])]
        one, two = self.space.starts[left], self.space.starts[right]
        assert one is not None, "padding has no attention"
        assert two is not None, "padding has no attention"
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
        """The k most probable rules, each once; choices of different statements are taken as independent."""
        paths = self._best_paths(k)
        if not self.first:
            return self._built(self._best_of_statements(paths, k), k)
        levels: list[list[Scored]] = [[self._best_statements(s, paths, k) for s in range(self.shape.statements)]]
        for first, second in zip(self.first, self.second):
            signed = [*levels[-1], *map(_negated, levels[-1])]
            levels.append([_best_products(signed, _log(first[c]), _log(second[c]), k) for c in range(len(first))])
        output = _log(self.output)
        every = [trees for level in levels for trees in (*level, *map(_negated, level))]
        pool = sorted(
            ((output[j] + p, tree) for j, trees in enumerate(every) for p, tree in trees), key=lambda item: -item[0]
        )
        return self._built(pool, k)

    def _best_of_statements(self, paths: list[list[tuple[float, tuple[int, ...]]]], k: int) -> Scored:
        """With no formulas above them: the statements that s_o prefers, until no other can be among the best."""
        output = _log(self.output)
        pool: Scored = []
        for j in np.argsort(-output, kind="stable").tolist():
            negated, s = divmod(j, self.shape.statements)
            if self.positive and negated:
                continue
            if len(pool) >= 4 * k and output[j] < pool[-1][0]:
                break
            trees = [(output[j] + p, tree) for p, tree in self._best_statements(s, paths, k)]
            pool = _largest(pool + [(p, ("not", tree)) if negated else (p, tree) for p, tree in trees], 4 * k)
        return pool

    def _built(self, pool: Scored, k: int) -> list[Rule]:
        """The first k different formulas of the pool, as rules."""
        found: dict[Formula, None] = {}
        for _, tree in pool:
            formula = self._grow(tree)
            if formula != FALSE:
                found.setdefault(formula)
            if len(found) == k:
                break
        return [self.rule(formula) for formula in found]

    def _grow(self, tree: Tree) -> Formula:
        match tree:
            case ("not", argument):
                return Not(self._grow(argument))
            case ("and", left, right):
                return And(self._grow(left), self._grow(right))
            case _:
                return self._statement(*tree)

    def _best_paths(self, k: int) -> list[list[tuple[float, tuple[int, ...]]]]:
        """For each slot its most probable operator sequences."""
        log = _log(self.operators)
        best = np.argsort(-log, -1, kind="stable")[..., :k].tolist()
        slots: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())]]
        previous = [slots[0]] * self.shape.heads
        for t in range(self.shape.steps):
            previous = [
                _largest(
                    [
                        (p + log[h, t, o], (*codes, o))
                        for p, codes in previous[h]
                        for o in best[h][t]
                        if self.space.operators[o] >= 0
                    ],
                    k,
                )
                for h in range(self.shape.heads)
            ]
            slots += previous
        return slots

    def _best_statements(self, s: int, paths: list[list[tuple[float, tuple[int, ...]]]], k: int) -> Scored:
        """Trees (statement, left start, left path, right start, right path)."""
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
        trees: dict[Tree, float] = {}
        for p, i, j in _best_pairs(one, two, 4 * k):
            tree = (s, *sides[0][i][1:], *sides[1][j][1:])
            if len(tree[2]) + 1 + len(tree[4]) <= self.longest and self._statement(*tree) != FALSE:
                trees.setdefault(tree, p)
            if len(trees) == 2 * k:
                break
        return [(p, tree) for tree, p in trees.items()]


def _log(weights: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(weights, TINY))


def _largest(options: list, k: int) -> list:
    return sorted(options, key=lambda option: -option[0])[:k]


def _negated(trees: Scored) -> Scored:
    return [(p, ("not", tree)) for p, tree in trees]


def _best_products(signed: list[Scored], first: np.ndarray, second: np.ndarray, k: int) -> Scored:
    sides = []
    for log in (first, second):
        options = [
            (log[j] + p, tree) for j in np.argsort(-log, kind="stable")[: 2 * k].tolist() for p, tree in signed[j][:k]
        ]
        sides.append(_largest(options, 2 * k))
    pairs = _best_pairs([o[0] for o in sides[0]], [o[0] for o in sides[1]], 2 * k)
    return [(p, ("and", sides[0][i][1], sides[1][j][1])) for p, i, j in pairs]


def _best_pairs(one: list[float], two: list[float], k: int) -> list[tuple[float, int, int]]:
    """The k largest one[i] + two[j]. Both lists descend, so a pair among them has (i + 1) * (j + 1) <= k."""
    pairs = [(a + b, i, j) for i, a in enumerate(one[:k]) for j, b in enumerate(two[: k // (i + 1)])]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))[:k]
