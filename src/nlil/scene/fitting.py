"""Weights of (pattern, class) pairs: a softmax over classes of bias + the weights of the patterns that hold.

All sums run over blocks of objects that are added up in their order, so the number of threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ..data.arrays import Doubles, Floats, Ids, Longs, offsets
from ..kernel.compiled import compiled
from ..kernel.pool import Pool
from .patterns import rows_of

BLOCK = 4096
"""Objects of one task."""

HISTORY = 8
"""Steps of L-BFGS by which the curvature is estimated."""
ARMIJO = 1e-4
"""A step must bring this share of the fall that the slope promises."""
MAX_HALVINGS = 20
"""Of a step that does not."""
MAX_SLOPE = 1e-6
"""A fit ends where no slope is larger."""

SMALLEST = -700.0  # exp of less is no normal double; as a probability it is 0
PER_LOG_2 = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROUND = 6755399441055744.0
"""1.5 * 2^52: added to a double it leaves the nearest whole number in the lowest bits."""

Shares = tuple[Longs, Ids, Doubles]
"""(pointer, class, share): the classes of object i are pointer[i] .. pointer[i + 1], with shares that sum to 1."""
Loss = Callable[[Doubles], tuple[float, Doubles]]
"""Value and gradient at a point."""


@dataclass(frozen=True, eq=False)
class Labelled:
    """Objects with their class (a position among the targets; the last: none of them) and their patterns.

    `soft` says how much of each class an object is, where that is known (what a classifier says); `label` is then
    the largest share, and what is counted.
    """

    label: Ids
    pointer: Longs
    column: Ids
    num_classes: int
    soft: Shares | None = None

    def __len__(self) -> int:
        return len(self.label)

    def part(self, chosen: Longs) -> Labelled:
        """The chosen objects alone."""
        pointer, place = rows_of(self.pointer, chosen)
        soft = None
        if self.soft is not None:
            first, share = rows_of(self.soft[0], chosen)
            soft = first, self.soft[1][share], self.soft[2][share]
        return Labelled(self.label[chosen], pointer, self.column[place], self.num_classes, soft)

    @property
    def shares(self) -> Shares:
        if self.soft is not None:
            return self.soft
        return np.arange(len(self) + 1, dtype=np.int64), self.label, np.ones(len(self))


@dataclass(frozen=True, eq=False)
class Model:
    """weight[i] is the weight of pattern[i] for the class target[i]; pairs sorted by (pattern, target)."""

    pattern: Ids
    target: Ids
    weight: Doubles
    bias: Doubles

    def __len__(self) -> int:
        return len(self.pattern)

    @classmethod
    def of(cls, pattern: Ids, target: Ids, weight: Doubles, bias: Doubles) -> Model:
        """The model of these pairs, given in any order."""
        order = np.lexsort((target, pattern))
        return cls(pattern[order].astype(np.int32), target[order].astype(np.int32), weight[order], bias)

    def added(self, pattern: Ids, target: Ids) -> Model:
        """With more pairs, of weight 0."""
        return Model.of(
            np.concatenate((self.pattern, pattern)),
            np.concatenate((self.target, target)),
            np.concatenate((self.weight, np.zeros(len(pattern)))),
            self.bias,
        )

    def part(self, keep: Longs) -> Model:
        """The pairs at these places alone."""
        return Model(self.pattern[keep], self.target[keep], self.weight[keep], self.bias)


class Weights(NamedTuple):
    """What the compiled loops read: the patterns of the objects, as far as they have weights, and the weights.

    Object i has the patterns column[pointer[i]:pointer[i + 1]], numbered among those of the model; pattern f has the
    entries entry[f]:entry[f + 1], each the weight of one class.
    """

    pointer: Longs
    column: Ids
    entry: Longs
    target: Ids
    weight: Doubles
    bias: Doubles

    @classmethod
    def of(cls, model: Model, data: Labelled) -> Weights:
        used, place = np.unique(model.pattern, return_inverse=True)
        entry = offsets(place.astype(np.int32), len(used))
        return cls(*only(data, used), entry, model.target, model.weight, model.bias)


def only(data: Labelled, patterns: Ids) -> tuple[Longs, Ids]:
    """(pointer, column) of the given patterns alone, numbered by their position."""
    position = np.full(int(max(data.column.max(initial=-1), patterns.max(initial=-1))) + 1, -1, np.int32)
    position[patterns] = np.arange(len(patterns), dtype=np.int32)
    column = position[data.column]
    kept = column >= 0
    return np.concatenate(([0], np.cumsum(kept)))[data.pointer], column[kept]


def fit(model: Model, data: Labelled, penalty: float, steps: int, threads: int, device: str = "cpu") -> Model:
    """The model with the weights and biases that make the classes of the objects most probable.

    Args:
        model: The pairs, and where the weights start.
        data: The objects with their classes.
        penalty: Of a weight's square, half of it, for all objects together.
        steps: Of L-BFGS, at most.
        threads: On a CPU; 0: one for each core.
        device: "cpu", or a device of torch.
    """
    weights = Weights.of(model, data)
    if device == "cpu":
        loss = _loss(weights, data.shares, penalty, threads)
    else:
        from .device_fitting import device_loss

        loss = device_loss(weights, data.shares, penalty, device)
    found = minimise(loss, np.concatenate((model.weight, model.bias)), steps)
    return Model(model.pattern, model.target, found[: len(model)], found[len(model) :])


def _loss(weights: Weights, shares: Shares, penalty: float, threads: int) -> Loss:
    """Value and slopes by weights and biases, per object."""
    pool: Pool[None] = Pool(lambda: None, threads)
    num_objects, count = len(weights.pointer) - 1, len(weights.target)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        here = weights._replace(weight=parameters[:count], bias=parameters[count:])

        def run(_: None, begin: int) -> tuple[float, Doubles]:
            gradient = np.zeros(len(parameters))
            end = min(begin + BLOCK, num_objects)
            return _loss_of_block(here, shares, begin, end, gradient[:count], gradient[count:]), gradient

        total, gradient = 0.0, np.zeros(len(parameters))
        for part, its in pool.map(run, range(0, num_objects, BLOCK)):
            total += part
            gradient += its
        total += 0.5 * penalty * float(np.add.reduce(here.weight * here.weight))
        gradient[:count] += penalty * here.weight
        size = max(num_objects, 1)
        return total / size, gradient / size

    return loss


def losses(model: Model, data: Labelled, threads: int) -> Doubles:
    """What the logarithm of the likelihood would lose without each pair, all others as they are."""
    weights, shares = Weights.of(model, data), data.shares

    def run(_: None, begin: int) -> Doubles:
        missed = np.zeros(len(model))
        _losses_of_block(weights, shares, begin, min(begin + BLOCK, len(data)), missed)
        return missed

    total = np.zeros(len(model))
    pool: Pool[None] = Pool(lambda: None, threads)
    for part in pool.map(run, range(0, len(data), BLOCK)):
        total += part
    return total


def slopes(model: Model, data: Labelled, num_patterns: int, threads: int, device: str = "cpu") -> tuple[Floats, Floats]:
    """(patterns, classes): how the logarithm of the likelihood changes with a weight, first and second derivative."""
    if device != "cpu":
        from .device_fitting import device_slopes

        return device_slopes(model, data, num_patterns, device)
    weights, shares, classes = Weights.of(model, data), data.shares, data.num_classes
    gradient, curvature = (np.zeros((num_patterns, classes), np.float32) for _ in range(2))
    pool: Pool[None] = Pool(lambda: None, threads)
    edges = np.linspace(0, classes, min(pool.threads, classes) + 1).astype(int)

    def add(begin: int, end: int) -> None:
        probability = np.zeros((end - begin, classes), np.float32)

        def fill(_: None, first: int) -> None:
            last = min(first + BLOCK // 4, end)
            _probabilities(weights, first, last, probability[first - begin : last - begin])

        def scatter(_: None, some: tuple[int, int]) -> None:
            _scatter(data.pointer, data.column, shares, begin, end, probability, *some, gradient, curvature)

        pool.map(fill, range(begin, end, BLOCK // 4))
        pool.map(scatter, list(pairwise(edges)))

    for begin in range(0, len(data), 4 * BLOCK):
        add(begin, min(begin + 4 * BLOCK, len(data)))
    return gradient, curvature


def scores(model: Model, pointer: Longs, column: Ids, num_patterns: int) -> Doubles:
    """(objects, classes): bias + weights of the patterns of each object, which (pointer, column) list."""
    from scipy import sparse

    held = sparse.csr_array((np.ones(len(column)), column, pointer), shape=(len(pointer) - 1, num_patterns))
    weights = sparse.csr_array((model.weight, (model.pattern, model.target)), shape=(num_patterns, len(model.bias)))
    return np.asarray((held @ weights).todense()) + model.bias


# compiled loops over a block of objects -----------------------------------------------------------------


@compiled
def softmax(scores: Doubles, scratch: Doubles) -> None:
    """scores = exp(scores) / sum of exp(scores), to 1e-14 of each; `scratch` has the same length.

    Compiled to vector instructions: exp(x) = 2^n exp(r) with n = round(x / log 2), where exp(r) is a Taylor polynomial
    and 2^n is written as the bits of a double. numba calls exp once for each number: 1 million rows of 101 classes
    take .61 s that way and .31 s this way (one core), and this is most of the time of a fit.
    """
    bits = scratch.view(np.int64)
    size = len(scores)
    top = scores[0]
    for i in range(1, size):
        top = max(top, scores[i])
    for i in range(size):
        scores[i] = max(scores[i] - top, SMALLEST)
        scratch[i] = scores[i] * PER_LOG_2 + ROUND
    for i in range(size):
        whole = scratch[i] - ROUND
        r = scores[i] - whole * LOG_2_HIGH - whole * LOG_2_LOW
        p = 1 / 39916800 * r + 1 / 3628800
        p = p * r + 1 / 362880
        p = p * r + 1 / 40320
        p = p * r + 1 / 5040
        p = p * r + 1 / 720
        p = p * r + 1 / 120
        p = p * r + 1 / 24
        p = p * r + 1 / 6
        p = p * r + 0.5
        p = p * r + 1.0
        scores[i] = p * r + 1.0
        bits[i] = (bits[i] + 1023) << 52
    # Four sums side by side: one would wait for each addition.
    a = b = c = d = 0.0
    for i in range(0, size - 3, 4):
        scores[i] *= scratch[i]
        scores[i + 1] *= scratch[i + 1]
        scores[i + 2] *= scratch[i + 2]
        scores[i + 3] *= scratch[i + 3]
        a += scores[i]
        b += scores[i + 1]
        c += scores[i + 2]
        d += scores[i + 3]
    for i in range(size - size % 4, size):
        scores[i] *= scratch[i]
        a += scores[i]
    share = 1.0 / (a + b + c + d)
    for i in range(size):
        scores[i] *= share


@compiled
def _softmax(weights: Weights, i: int, scores: Doubles, scratch: Doubles) -> None:
    """scores = the probabilities of object i."""
    scores[:] = weights.bias
    for k in range(weights.pointer[i], weights.pointer[i + 1]):
        for e in range(weights.entry[weights.column[k]], weights.entry[weights.column[k] + 1]):
            scores[weights.target[e]] += weights.weight[e]
    softmax(scores, scratch)


@compiled
def _loss_of_block(
    weights: Weights, shares: Shares, begin: int, end: int, gradient: Doubles, of_bias: Doubles
) -> float:
    """Cross-entropy of the shares under the softmax; `gradient` and `of_bias` grow by its slopes."""
    loss = 0.0
    share_pointer, label, share = shares
    scores, scratch = np.zeros(len(weights.bias)), np.zeros(len(weights.bias))
    for i in range(begin, end):
        _softmax(weights, i, scores, scratch)
        for s in range(share_pointer[i], share_pointer[i + 1]):
            loss -= share[s] * np.log(max(scores[label[s]], 1e-300))
        for s in range(share_pointer[i], share_pointer[i + 1]):
            scores[label[s]] -= share[s]
        of_bias += scores
        for k in range(weights.pointer[i], weights.pointer[i + 1]):
            for e in range(weights.entry[weights.column[k]], weights.entry[weights.column[k] + 1]):
                gradient[e] += scores[weights.target[e]]
    return loss


@compiled
def _losses_of_block(weights: Weights, shares: Shares, begin: int, end: int, missed: Doubles) -> None:
    share_pointer, label, share = shares
    scores, scratch = np.zeros(len(weights.bias)), np.zeros(len(weights.bias))
    for i in range(begin, end):
        _softmax(weights, i, scores, scratch)
        for k in range(weights.pointer[i], weights.pointer[i + 1]):
            for e in range(weights.entry[weights.column[k]], weights.entry[weights.column[k] + 1]):
                odds = np.exp(-weights.weight[e]) - 1.0
                missed[e] += np.log(max(1.0 + scores[weights.target[e]] * odds, 1e-300))
        for s in range(share_pointer[i], share_pointer[i + 1]):
            for k in range(weights.pointer[i], weights.pointer[i + 1]):
                for e in range(weights.entry[weights.column[k]], weights.entry[weights.column[k] + 1]):
                    if weights.target[e] == label[s]:
                        missed[e] += share[s] * weights.weight[e]


@compiled
def _probabilities(weights: Weights, begin: int, end: int, out: Floats) -> None:
    scores, scratch = np.zeros(len(weights.bias)), np.zeros(len(weights.bias))
    for i in range(begin, end):
        _softmax(weights, i, scores, scratch)
        out[i - begin] = scores


@compiled
def _scatter(
    pointer: Longs,
    column: Ids,
    shares: Shares,
    begin: int,
    end: int,
    probability: Floats,
    first: int,
    last: int,
    gradient: Floats,
    curvature: Floats,
) -> None:
    """`gradient` and `curvature` of all patterns grow by what objects begin .. end add for classes first .. last."""
    share_pointer, label, share = shares
    for i in range(begin, end):
        for k in range(pointer[i], pointer[i + 1]):
            f = column[k]
            for c in range(first, last):
                p = probability[i - begin, c]
                gradient[f, c] -= p
                curvature[f, c] += p * (1 - p)
            for s in range(share_pointer[i], share_pointer[i + 1]):
                if first <= label[s] < last:
                    gradient[f, label[s]] += share[s]


# L-BFGS -------------------------------------------------------------------------------------------------


def minimise(function: Loss, start: Doubles, steps: int) -> Doubles:
    """L-BFGS for a smooth convex function: the best point found in at most `steps` steps from `start`.

    scipy's takes 2.4 s of CPU where this one takes 1.9 s (3,001 weights, the 26,430 objects of VRD, 25 steps, two
    cores), since its small matrices wake all threads of BLAS; with one thread it takes as long as this one. The
    published figures are those of these steps: no BLAS is in them, so no library and no number of threads changes them.
    """
    point = start.copy()
    value, gradient = function(point)
    history: list[tuple[Doubles, Doubles, float]] = []
    for number in range(steps):
        if not len(point) or np.abs(gradient).max() < MAX_SLOPE:
            break
        direction = -_times_inverse(gradient, history)
        slope = _dot(direction, gradient)
        length = 1.0 if number else min(1.0, 1.0 / max(float(np.abs(gradient).sum()), 1e-12))
        for _ in range(MAX_HALVINGS):
            there, slopes = function(point + length * direction)
            if there <= value + ARMIJO * length * slope:
                break
            length /= 2
        else:
            break
        moved, turned = length * direction, slopes - gradient
        bend = _dot(moved, turned)
        if bend > 1e-12 * _dot(turned, turned):
            history = [*history[-(HISTORY - 1) :], (moved, turned, bend)]
        point, value, gradient = point + moved, there, slopes
    return point


def _times_inverse(gradient: Doubles, history: list[tuple[Doubles, Doubles, float]]) -> Doubles:
    """The gradient times the estimated inverse of the second derivatives (the two loops of Nocedal)."""
    result = gradient.copy()
    shares = []
    for moved, turned, bend in reversed(history):
        share = _dot(moved, result) / bend
        result -= share * turned
        shares.append(share)
    if history:
        _, turned, bend = history[-1]
        result *= bend / _dot(turned, turned)
    for (moved, turned, bend), share in zip(history, reversed(shares)):
        result += (share - _dot(turned, result) / bend) * moved
    return result


def _dot(a: Doubles, b: Doubles) -> float:
    return float(np.add.reduce(a * b))
