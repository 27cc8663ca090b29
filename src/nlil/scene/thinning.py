"""Remove the least useful (pattern, class) pairs of a model; find classes that need no prior of their own.

If two patterns hold for nearly the same objects, each looks useless while the weight of the other is fixed. So the cost
of removing a pair is the loss of its class after the other weights of the class are fitted again: to second order w^2 /
(2 V), where V is the diagonal entry of the pair in the inverse Hessian of the class. Pairs are removed one by one; the
inverse and the weights of the class are updated after each ("optimal brain surgeon").
"""

from __future__ import annotations

import heapq
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask
from ..kernel.compiled import compiled
from .fitting import ClassModel, LabelledObjects, columns

SMALLEST = 1e-12


@dataclass(eq=False)
class _Class:
    """The pairs of one class: their positions in the model, the inverse Hessian, weights, and which are left."""

    place: Longs
    inverse: Doubles
    weight: Doubles
    left: Mask
    protected: Mask

    def least(self) -> tuple[bool, float, int] | None:
        """Return (protected, cost, number) of the least useful pair; None if none is left."""
        if not self.left.any():
            return None
        size = len(self.place)
        cost = self.weight[:size] ** 2 / (2 * np.maximum(np.diag(self.inverse)[:size], SMALLEST))
        order = np.lexsort((cost, self.protected, ~self.left))
        first = int(order[0])
        return bool(self.protected[first]), float(cost[first]), first

    def drop(self, number: int) -> None:
        """Remove the pair and update the other weights of the class."""
        column = self.inverse[:, number].copy()
        pivot = max(float(column[number]), SMALLEST)
        self.weight -= self.weight[number] / pivot * column
        self.inverse -= np.outer(column, column) / pivot
        self.left[number], self.weight[number] = False, 0.0


class Thinning:
    """The inverse Hessians of a model, class by class.

    Args:
        model: The model, fitted to `data`.
        data: The objects.
        probability: (objects, classes), the probabilities of the model.
        penalty: L2 penalty (half of the squared weights).
        protected: Which pairs of the model are removed last.
    """

    def __init__(
        self,
        model: ClassModel,
        data: LabelledObjects,
        probability: Floats,
        penalty: float,
        protected: Mask | None = None,
    ) -> None:
        self.model = model
        by_pattern = data.held.tocsc()
        kept = np.zeros(len(model), bool) if protected is None else protected
        self.classes: dict[int, _Class] = {}
        self.sharpness = np.zeros(len(model.bias))  # by the bias, once the weights of the class are fitted again
        for target in range(len(model.bias)):
            place = np.flatnonzero(model.target == target)
            spread = (probability[:, target] * (1 - probability[:, target])).astype(np.float64)
            second = _second_derivatives(by_pattern[:, model.pattern[place]].tocsr(), spread, penalty)
            if model.tied is not None and model.tied[target]:
                second = _tied(second, model.weight[place] < 0, penalty)
            inverse = np.asarray(np.linalg.inv(second), np.float64)
            if len(inverse) > len(place):
                self.sharpness[target] = 1 / inverse[-1, -1]
            weight = np.zeros(len(inverse))
            weight[: len(place)] = model.weight[place]
            if len(place):
                self.classes[target] = _Class(place, inverse, weight, np.ones(len(place), bool), kept[place])

    def to(self, room: int) -> tuple[ClassModel, float]:
        """Return the model with at most `room` pairs, and the cost of the last pair that was removed."""
        keep = np.ones(len(self.model), bool)
        worth = 0.0
        waiting = [(*least, target) for target, of in self.classes.items() if (least := of.least()) is not None]
        heapq.heapify(waiting)
        for _ in range(max(len(self.model) - room, 0)):
            _, worth, number, target = heapq.heappop(waiting)
            of = self.classes[target]
            keep[of.place[number]] = False
            of.drop(number)
            if (least := of.least()) is not None:
                heapq.heappush(waiting, (*least, target))
        weight = self.model.weight.copy()
        for of in self.classes.values():
            weight[of.place] = of.weight[: len(of.place)]
        return self.model.with_values(weight, self.model.bias).take(np.flatnonzero(keep)), worth


def _second_derivatives(held: sparse.csr_array, spread: Doubles, penalty: float) -> Doubles:
    """Return the Hessian by the weights of a class, and last by its bias."""
    size = held.shape[1]
    second = np.zeros((size + 1, size + 1))
    pointer, column, _ = columns(held)
    _add_products(pointer, column, spread, second)
    second[size, :size] = second[:size, size]
    second[np.arange(size), np.arange(size)] += penalty
    second[size, size] = spread.sum() + SMALLEST
    return second


@compiled
def _add_products(pointer: Longs, column: Ids, spread: Doubles, second: Doubles) -> None:
    """Add the `spread` of each object for every two of its patterns, and in the last column for each of them."""
    for i in range(len(spread)):
        for k in range(pointer[i], pointer[i + 1]):
            of_first = second[column[k]]
            of_first[-1] += spread[i]
            for j in range(pointer[i], pointer[i + 1]):
                of_first[column[j]] += spread[i]


def _tied(second: Doubles, against: Mask, penalty: float) -> Doubles:
    """Return the Hessian of a class whose bias is minus the sum of its negative weights (rules for `\\+ pattern`)."""
    size = len(against)
    turn = np.eye(size, size + 1)
    turn[against, size] = -1
    plain = second.copy()
    plain[np.arange(size), np.arange(size)] -= penalty
    return np.asarray(turn @ plain @ turn.T) + penalty * np.eye(size)


def needless_priors(evidence: Doubles, sharpness: Doubles, worth: float) -> Mask:
    """Return the classes that share one lowest prior, so that none of them needs a rule for it.

    A class keeps its own prior if lowering it would cost more than `worth`.

    Args:
        evidence: The prior of each class.
        sharpness: The second derivative of the loss by it.
        worth: The worth of one more pair.
    """
    best, found = np.inf, np.zeros(len(evidence), bool)
    for lowest in np.unique(evidence):
        cost = 0.5 * sharpness * (evidence - lowest) ** 2
        tied = (evidence <= lowest) | (cost < worth)
        total = float(cost[tied].sum()) + worth * int((~tied).sum())
        if total < best:
            best, found = total, tied
    return found
