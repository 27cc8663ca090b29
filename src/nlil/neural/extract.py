"""From attentions to explicit rules: the largest choices, sampled choices, or the k most probable rules.   [paper §5.1]

Every family is read as a categorical distribution over its choices. `Reader` turns choices into formulas; the
rule it yields has, with one-hot attentions, exactly the soft score (tests/neural/test_soft_exact.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ..data.kb import KnowledgeBase
from ..logic.formula import ANY, And, Formula, Not, Path, Statement
from ..logic.predicate import Step
from ..logic.rule import Head, Rule
from ..logic.simplify import FALSE
from .attention import Attentions
from .meets import last_of_unary
from .space import Kind, Shape, Space

Scored = list[tuple[float, Formula]]
"""Formulas with their log-probability, best first."""

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

    @classmethod
    def of(cls, kb: KnowledgeBase, space: Space, shape: Shape, attentions: Attentions, member: int,
           linked: bool = False) -> Reader:
        named = {name: t[member].detach().cpu().double().numpy() for name, t in attentions.tensors().items()}
        levels = range(1, len(shape.widths) + 1)
        return cls(kb, space, shape, named["operators"], named["left"], named["right"],
                   tuple(named[f"first.{i}"] for i in levels), tuple(named[f"second.{i}"] for i in levels),
                   named["output"], linked)

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

    def _statement(self, s: int, left: int, left_path: tuple[int, ...], right: int, right_path: tuple[int, ...]
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
        return Statement.meet(one.path(self.kb, self._steps(left_path)).then(Step(predicate)),
                              two.path(self.kb, self._steps(right_path)))

    def _steps(self, operators: tuple[int, ...]) -> tuple[Step, ...]:
        return tuple(self.kb.step(int(self.space.operators[o])) for o in operators)

    # the k most probable ------------------------------------------------------------------------------

    def beam(self, k: int) -> list[Rule]:
        """The k most probable rules, each once; choices of different statements are taken as independent."""
        output = np.log(np.maximum(self.output, TINY))
        paths = self._best_paths(np.log(np.maximum(self.operators, TINY)), k)
        statements = [self._best_statements(s, paths, k) for s in range(self.shape.statements)]
        levels: list[list[Scored]] = [statements]
        for first, second in zip(self.first, self.second):
            signed = [*levels[-1], *[_negated(formulas) for formulas in levels[-1]]]
            levels.append([self._best_products(signed, np.log(np.maximum(first[c], TINY)),
                                               np.log(np.maximum(second[c], TINY)), k) for c in range(len(first))])
        every = [f for level in levels for f in (*level, *[_negated(x) for x in level])]
        pool = [(output[j] + p, f) for j, scored in enumerate(every) for p, f in scored]
        return [self.rule(f) for _, f in _top(pool, k)]

    def _best_paths(self, log: np.ndarray, k: int) -> list[list[tuple[float, tuple[int, ...]]]]:
        """For each slot its most probable operator sequences."""
        slots: list[list[tuple[float, tuple[int, ...]]]] = [[(0.0, ())]]
        previous = [slots[0]] * self.shape.heads
        for t in range(self.shape.steps):
            current = []
            for h in range(self.shape.heads):
                grown = [(p + log[h, t, o], (*codes, o)) for p, codes in previous[h]
                         for o in np.argsort(-log[h, t], kind="stable")[:k].tolist() if self.space.operators[o] >= 0]
                current.append(sorted(grown, key=lambda item: -item[0])[:k])
            slots += current
            previous = current
        return slots

    def _best_statements(self, s: int, paths: list[list[tuple[float, tuple[int, ...]]]], k: int) -> Scored:
        if self.space.predicates[s % self.shape.predicates] < 0:
            return []
        sides = []
        for side in (self.left, self.right):
            flat = side[s].ravel()
            options = []
            for j in np.argsort(-flat, kind="stable")[:k].tolist():
                start, slot = divmod(j, self.shape.slots)
                if flat[j] > 0:
                    options += [(np.log(max(flat[j], TINY)) + p, start, codes) for p, codes in paths[slot]]
            sides.append(sorted(options, key=lambda o: -o[0])[: 4 * k])
        pairs = _best_pairs([o[0] for o in sides[0]], [o[0] for o in sides[1]], 4 * k)
        found = [(p, self._statement(s, *sides[0][i][1:], *sides[1][j][1:])) for p, i, j in pairs]
        return _top([(p, f) for p, f in found if f != FALSE], k)

    def _best_products(self, signed: list[Scored], first: np.ndarray, second: np.ndarray, k: int) -> Scored:
        sides = []
        for log in (first, second):
            options = [(log[j] + p, f) for j in np.argsort(-log, kind="stable")[: 2 * k].tolist() for p, f in signed[j]]
            sides.append(sorted(options, key=lambda o: -o[0])[: 4 * k])
        pairs = _best_pairs([o[0] for o in sides[0]], [o[0] for o in sides[1]], 4 * k)
        return _top([(p, And(sides[0][i][1], sides[1][j][1])) for p, i, j in pairs], k)


def _negated(formulas: Scored) -> Scored:
    return [(p, Not(f)) for p, f in formulas]


def _top(pool: Scored, k: int) -> Scored:
    """The k best different formulas."""
    best: dict[Formula, float] = {}
    for p, formula in sorted(pool, key=lambda item: -item[0]):
        if formula not in best:
            best[formula] = p
            if len(best) == k:
                break
    return [(p, f) for f, p in best.items()]


def _best_pairs(one: list[float], two: list[float], k: int) -> list[tuple[float, int, int]]:
    """The k largest one[i] + two[j]. Both lists descend, so a pair among them has (i + 1) * (j + 1) <= k."""
    pairs = [(a + b, i, j) for i, a in enumerate(one[:k]) for j, b in enumerate(two[: k // (i + 1)])]
    return sorted(pairs, key=lambda pair: (-pair[0], pair[1], pair[2]))[:k]


