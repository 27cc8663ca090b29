"""Conjunctions grown from patterns: `shirt(X) :- wear(Z1, X), \\+ middle_y_over_61pct(X), short(X)`.

A body with a positive weight for a class is extended by the literal, a pattern or its negation, that raises its gain
(of one Newton step on its weight) most. There are many literals, and some always look good by chance. So one half of
the graphs proposes the literal, and the other half must confirm it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask
from ..kernel.compiled import compiled
from ..kernel.pool import Pool
from .fitting import LabelledObjects, columns
from .literals import MAX_ATOMS, Literals, in_order, line_of, literals_of, num_lines
from .patterns import Patterns


@dataclass(frozen=True)
class Growth:
    """How far bodies are grown, and by how much each literal must raise the gain.

    Attributes:
        seeds: bodies per class that are grown in a round.
        literals: the most literals of a body.
        caution: added to the second derivative.
        ratio: the least ratio of the gains with and without the literal in the half that proposes it; the other half
            must show half of this rise.
        min_support: the fewest objects of the class for which a body must hold.
        min_share: the least share of all objects for which a literal must hold, since rare ones mislead.
    """

    seeds: int = 8
    literals: int = 4
    caution: float = 20.0
    ratio: float = 1.3
    min_support: int = 20
    min_share: float = 0.01


class _Residual(NamedTuple):
    """For one class and every object: truth minus probability, and the variance of the prediction."""

    gradient: Doubles
    spread: Doubles
    is_member: Mask

    def gain(self, rows: Ids, caution: float) -> float:
        total = float(self.gradient[rows].sum())
        return total * total / (float(self.spread[rows].sum()) + caution) if total > 0 else 0.0


class PatternGrower:
    """Grows bodies over the patterns of one line each.

    Args:
        patterns: The patterns, with or without conjunctions.
        data: The objects that pairs are chosen on, with their patterns.
        half: True for the objects that propose literals; the others confirm them.
        growth: The limits.
        threads: CPU threads; 0: all cores.
    """

    def __init__(self, patterns: Patterns, data: LabelledObjects, half: Mask, growth: Growth, threads: int) -> None:
        self.bodies, self.growth, self.threads, self.half = patterns.bodies, growth, threads, half
        self.num_lines = num_lines(patterns.bodies)
        single = data.held[:, : self.num_lines]
        self.pointer, self.column, _ = columns(single)
        self.held = data.held.tocsc()
        atoms = patterns.bodies.lines.lengths[: self.num_lines].astype(np.int64)
        size = np.diff(self.held.indptr)[: self.num_lines]
        self.atoms = atoms
        self.may_join = size >= growth.min_share * len(data)

    def grow(self, gain: Floats, probability: Floats, label: Ids) -> list[Literals]:
        """Return new bodies, grown from the bodies with the largest gain for each class.

        Args:
            gain: (bodies, classes), 0 if the weight would be negative.
            probability: (objects, classes), the probabilities of the model so far.
            label: The class of each object.
        """

        def of_class(_: None, target: int) -> list[Literals]:
            chance, is_member = probability[:, target].astype(np.float64), label == target
            residual = _Residual(is_member - chance, chance * (1 - chance), is_member)
            best = np.argsort(-gain[:, target], kind="stable")[: self.growth.seeds]
            return [found for body in best[gain[best, target] > 0].tolist() for found in self._longer(body, residual)]

        pool: Pool[None] = Pool(lambda: None, self.threads)
        every = pool.map(of_class, range(gain.shape[1] - 1))
        return list(dict.fromkeys(found for of_target in every for found in of_target))

    def _longer(self, body: int, residual: _Residual) -> list[Literals]:
        growth, caution = self.growth, self.growth.caution / 2
        found, literals = [], literals_of(self.bodies, body)
        rows = self._rows(body)
        first, others = rows[self.half[rows]], rows[~self.half[rows]]
        here, there = residual.gain(first, caution), residual.gain(others, caution)
        while len(literals) < growth.literals:
            literal, gain = self._best_literal(literals, first, residual)
            if gain < growth.ratio * here:
                break
            holds = np.zeros(len(self.half), bool)
            holds[self._rows(line_of(literal))] = True
            holds ^= literal < 0
            first, others = first[holds[first]], others[holds[others]]
            judged = residual.gain(others, caution)
            enough = int(residual.is_member[first].sum() + residual.is_member[others].sum()) >= growth.min_support
            if not enough or judged < (1 + growth.ratio) / 2 * there:
                break
            literals, here, there = (*literals, literal), gain, judged
            found.append(in_order(literals))
        return found

    def _best_literal(self, literals: Literals, rows: Ids, residual: _Residual) -> tuple[int, float]:
        """Return the best literal and the gain of the body with it; the gain is 0 if no literal fits."""
        caution = self.growth.caution / 2
        gradient, spread = np.zeros((2, self.num_lines))
        _sum(self.pointer, self.column, rows, residual.gradient, residual.spread, gradient, spread)
        total, total_spread = float(residual.gradient[rows].sum()), float(residual.spread[rows].sum())
        used = [line_of(one) for one in literals]
        fits = self.may_join & (self.atoms + self.atoms[used].sum() <= MAX_ATOMS)
        fits[used] = False
        with_it = np.where(fits & (gradient > 0), gradient**2 / (spread + caution), 0.0)
        rest = total - gradient
        without = np.where(fits & (rest > 0), rest**2 / np.maximum(total_spread - spread + caution, caution), 0.0)
        first, second = int(with_it.argmax()), int(without.argmax())
        if with_it[first] >= without[second]:
            return first, float(with_it[first])
        return ~second, float(without[second])

    def _rows(self, body: int) -> Ids:
        return self.held.indices[self.held.indptr[body] : self.held.indptr[body + 1]]


@compiled
def _sum(
    pointer: Longs, column: Ids, rows: Ids, gradient: Doubles, spread: Doubles, by_gradient: Doubles, by_spread: Doubles
) -> None:
    """Add up `gradient` and `spread` for each pattern, over the rows for which it holds."""
    for i in rows:
        for k in range(pointer[i], pointer[i + 1]):
            by_gradient[column[k]] += gradient[i]
            by_spread[column[k]] += spread[i]
