"""Fit the weights of (pattern, class) pairs: a softmax over bias + the weights of the patterns that hold.

Blocks of objects are summed in their order, so the result does not depend on the number of threads.

`model` has the weights, `data` the labelled objects; `pattern` and `target` are the pattern and the class of each pair.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from scipy import sparse

from ..data.arrays import Doubles, Floats, Ids, Longs, Mask, offsets
from ..kernel.compiled import compiled
from ..kernel.minimise import Loss, minimise
from ..kernel.pool import Pool

BLOCK = 4096
"""Objects per task."""
LEAST_FALL = 1e-7
"""A fit ends with a step that lowers the loss per object by less."""

SMALLEST = -700.0  # below this, exp underflows to 0
SMALLEST_CHANCE = 1e-30
"""Lower bound of a probability inside a logarithm."""
PER_LOG_2 = 1.4426950408889634
LOG_2_HIGH, LOG_2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
ROUND = 6755399441055744.0
"""1.5 * 2^52: adding it to a double leaves the nearest integer in the lowest bits."""

PatternColumns = tuple[Longs, Ids, np.ndarray]
"""A sparse matrix for compiled loops: row i has data[k] in column[k], for k from pointer[i] to pointer[i + 1] - 1."""
Result = TypeVar("Result")


@dataclass(frozen=True, eq=False)
class LabelledObjects:
    """Objects with their class and the patterns that hold for them.

    Args:
        label: The class of each object, as a position among the targets; the last position: none of them.
        held: (objects, patterns), true if a pattern holds for an object.
        shares: (objects, classes), the probability of each class; a row sums to 1. The output of a classifier may be
            spread over several classes; `label` is then the class with the largest share, which is counted.
    """

    label: Ids
    held: sparse.csr_array
    shares: sparse.csr_array

    def __len__(self) -> int:
        return len(self.label)

    def take(self, chosen: Longs | slice) -> LabelledObjects:
        """Return only the chosen objects."""
        return LabelledObjects(self.label[chosen], self.held[chosen], self.shares[chosen])


def one_hot(label: Ids, num_classes: int) -> sparse.csr_array:
    """Return (objects, classes) with the share 1 for the class `label` of each object; there are `num_classes`."""
    pointer = np.arange(len(label) + 1, dtype=np.int32)
    return sparse.csr_array((np.ones(len(label)), label, pointer), shape=(len(label), num_classes))


def columns(matrix: sparse.csr_array) -> PatternColumns:
    """Return the matrix as arrays for compiled loops."""
    return matrix.indptr.astype(np.int64), matrix.indices, matrix.data


def class_counts(data: LabelledObjects) -> Ids:
    """Return (patterns, classes): the number of objects of the class for which the pattern holds in `data`."""
    out = np.zeros((data.held.shape[1], data.shares.shape[1]), np.int32)
    _count(*columns(data.held)[:2], data.label, out)
    return out


@compiled
def _count(pointer: Longs, column: Ids, label: Ids, out: Ids) -> None:
    for i in range(len(label)):
        for k in range(pointer[i], pointer[i + 1]):
            out[column[k], label[i]] += 1


@dataclass(frozen=True, eq=False)
class ClassModel:
    """weight[i] is the weight of pattern[i] for the class target[i]; pairs sorted by (pattern, target).

    `bias` is by class. `tied` are the classes without a prior of their own: their bias is minus the sum of their
    negative weights, so that their prior is 0.
    """

    pattern: Ids
    target: Ids
    weight: Doubles
    bias: Doubles
    tied: Mask | None = None

    def __len__(self) -> int:
        return len(self.pattern)

    @classmethod
    def of(cls, pattern: Ids, target: Ids, weight: Doubles, bias: Doubles, tied: Mask | None = None) -> ClassModel:
        """Make a model from pairs in any order, with the `weight` of each pair and the `bias` of each class."""
        order = np.lexsort((target, pattern))
        return cls(pattern[order].astype(np.int32), target[order].astype(np.int32), weight[order], bias, tied)

    @property
    def follows(self) -> Mask:
        """Which weights move the bias of their class."""
        return np.zeros(len(self), bool) if self.tied is None else (self.weight < 0) & self.tied[self.target]

    @property
    def prior(self) -> Doubles:
        """The evidence of each class before any rule, if a negative weight is written as a rule for `\\+ pattern`."""
        found = self.bias.copy()
        np.add.at(found, self.target, np.minimum(self.weight, 0.0))
        return found

    def with_values(self, weight: Doubles, bias: Doubles) -> ClassModel:
        """Return the same pairs with another `weight` each and another `bias` for each class."""
        return replace(self, weight=weight, bias=bias)

    def added(self, pattern: Ids, target: Ids) -> ClassModel:
        """Return the model with additional pairs of weight 0."""
        return ClassModel.of(
            np.concatenate((self.pattern, pattern)),
            np.concatenate((self.target, target)),
            np.concatenate((self.weight, np.zeros(len(pattern)))),
            self.bias,
            self.tied,
        )

    def take(self, keep: Longs) -> ClassModel:
        """Return only the pairs at the positions `keep`."""
        return ClassModel(self.pattern[keep], self.target[keep], self.weight[keep], self.bias, self.tied)


class Weights(NamedTuple):
    """Arrays for compiled loops: the patterns of the objects that have weights, and the weights.

    What is used as an index is unsigned, so that no loop tests for negative ones: a third of the time of a fit.

    Object i has the patterns column[pointer[i]:pointer[i + 1]], numbered among those of the model; pattern f has the
    entries entry[f]:entry[f + 1], each the `weight` of one class, `target`. `bias` is by class.
    """

    pointer: np.ndarray
    column: np.ndarray
    entry: np.ndarray
    target: np.ndarray
    weight: Doubles
    bias: Doubles

    @classmethod
    def of(cls, model: ClassModel, data: LabelledObjects) -> Weights:
        """Lay out the weights of a model for the objects of `data`."""
        used, place = np.unique(model.pattern, return_inverse=True)
        held, entry = data.held[:, used], offsets(place.astype(np.int32), len(used))
        pointer, entry = held.indptr.astype(np.uint64), entry.astype(np.uint64)
        column, target = held.indices.astype(np.uint32), model.target.astype(np.uint32)
        return cls(pointer, column, entry, target, model.weight, model.bias)


def fit(
    model: ClassModel, data: LabelledObjects, penalty: float, steps: int, threads: int, device: str = "cpu"
) -> ClassModel:
    """Return the model with the weights and biases of maximum likelihood.

    Args:
        model: The pairs, with the initial weights.
        data: The objects with their classes.
        penalty: L2 penalty (half of the squared weights) for all objects together.
        steps: The most steps of L-BFGS.
        threads: CPU threads; 0: all cores.
        device: "cpu", or a torch device.
    """
    weights = Weights.of(model, data)
    if device == "cpu":
        loss = _loss(weights, columns(data.shares), penalty, threads)
    else:
        from .device_fitting import device_loss

        loss = device_loss(model, data, penalty, device)
    start, scale = np.concatenate((model.weight, model.bias)), _scale(model, data, penalty)
    if model.tied is None:
        found = minimise(loss, start, steps, scale, LEAST_FALL)
    else:
        loss, biased = _tied_loss(loss, model)
        found = minimise(loss, biased(start), steps, scale, LEAST_FALL)
        # A weight that changes its sign would move the prior of its class.
        wrong = model.tied[model.target] & (found[: len(model)] * model.weight < 0)
        found[: len(model)][wrong | (model.tied[model.target] & (model.weight == 0) & (found[: len(model)] < 0))] = 0.0
        found = biased(found)
    return model.with_values(found[: len(model)], found[len(model) :])


def _scale(model: ClassModel, data: LabelledObjects, penalty: float) -> Doubles:
    """Return 1 / sqrt(second derivative of the loss) by each weight and bias, if every chance is the share counted.

    A pattern may hold for half of all objects or for three: without this scale, L-BFGS needs several times the steps.
    """
    num_objects, total = len(data), np.bincount(data.label, minlength=len(model.bias))
    size = np.asarray(data.held.sum(axis=0)).reshape(-1)[model.pattern]
    count = class_counts(data)[model.pattern, model.target]
    against = model.follows  # such a weight changes the scores of the objects for which its pattern does not hold
    size = np.where(against, num_objects - size, size)
    count = np.where(against, total[model.target] - count, count)

    def curvature(size: np.ndarray | int, count: np.ndarray) -> Doubles:
        share = (count + 1) / (size + 2)
        return np.asarray(size * share * (1 - share), np.float64)

    second = np.concatenate((curvature(size, count) + penalty, curvature(num_objects, total)))
    return np.sqrt(max(num_objects, 1) / np.maximum(second, 1e-9))


def _tied_loss(loss: Loss, model: ClassModel) -> tuple[Loss, Callable[[Doubles], Doubles]]:
    """Return the loss if some biases follow from negative weights, and the function that sets these biases.

    The signs of the weights are those in `model`.
    """
    assert model.tied is not None
    count, tied = len(model), model.tied
    follows = np.flatnonzero(model.follows)
    target = model.target[follows]

    def biased(parameters: Doubles) -> Doubles:
        found = parameters.copy()
        bias = found[count:]
        bias[tied] = 0.0
        np.subtract.at(bias, target, parameters[follows])
        return found

    def of_free(parameters: Doubles) -> tuple[float, Doubles]:
        value, gradient = loss(biased(parameters))
        gradient[follows] -= gradient[count + target]
        gradient[count:][tied] = 0.0
        return value, gradient

    return of_free, biased


def _loss(weights: Weights, shares: PatternColumns, penalty: float, threads: int) -> Loss:
    """Return the loss per object: its value, and its gradient by weights and biases."""
    num_objects, count = len(weights.pointer) - 1, len(weights.target)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        here = weights._replace(weight=parameters[:count], bias=parameters[count:])

        def block(begin: int, end: int) -> tuple[float, Doubles]:
            gradient = np.zeros(len(parameters))
            return _loss_of_block(here, shares, begin, end, gradient[:count], gradient[count:]), gradient

        total, gradient = 0.0, np.zeros(len(parameters))
        for part, its in _blocks(block, num_objects, threads):
            total += part
            gradient += its
        total += 0.5 * penalty * float(np.add.reduce(here.weight * here.weight))
        gradient[:count] += penalty * here.weight
        size = max(num_objects, 1)
        return total / size, gradient / size

    return loss


def _blocks(work: Callable[[int, int], Result], num_objects: int, threads: int) -> list[Result]:
    """Return work(begin, end) of each block of objects, computed by several threads."""
    pool: Pool[None] = Pool(lambda: None, threads)
    return pool.map(lambda _, begin: work(begin, min(begin + BLOCK, num_objects)), range(0, num_objects, BLOCK))


def probabilities(model: ClassModel, data: LabelledObjects, threads: int) -> Floats:
    """Return (objects, classes): the probability of each class for each object."""
    weights = Weights.of(model, data)
    found = np.zeros((len(data), len(model.bias)), np.float32)
    _blocks(lambda begin, end: _probabilities(weights, begin, found[begin:end]), len(data), threads)
    return found


def log_likelihoods(chances: Floats, shares: sparse.csr_array) -> Doubles:
    """Return the log-likelihood of the `shares` of each object under the probabilities `chances`.

    Both are (objects, classes).
    """
    row, label = shares.nonzero()
    each = shares.data * np.log(np.maximum(chances[row, label], SMALLEST_CHANCE))
    return np.bincount(row, each, minlength=shares.shape[0]).astype(np.float64)


def slopes(
    model: ClassModel, data: LabelledObjects, threads: int, device: str = "cpu", first: int = 0
) -> tuple[Floats, Floats]:
    """Return the first and second derivatives of the log-likelihood by the weights, (patterns, classes) each.

    Only for the patterns from `first` on. `device` is cpu or cuda.
    """
    if device != "cpu":
        from .device_fitting import device_slopes

        found = device_slopes(model, data, device)
        return found[0][first:], found[1][first:]
    classes = len(model.bias)
    gradient, curvature = (np.zeros((data.held.shape[1] - first, classes), np.float32) for _ in range(2))
    pool: Pool[None] = Pool(lambda: None, threads)
    edges = np.linspace(0, classes, min(pool.threads, classes) + 1).astype(int).tolist()

    def add(part: LabelledObjects) -> None:
        weights, held, shares = Weights.of(model, part), columns(part.held[:, first:]), columns(part.shares)
        probability = np.zeros((len(part), classes), np.float32)

        def fill(_: None, begin: int) -> None:
            _probabilities(weights, begin, probability[begin : begin + BLOCK // 4])

        def scatter(_: None, some: tuple[int, int]) -> None:
            _scatter(held, shares, probability, some, gradient, curvature)

        pool.map(fill, range(0, len(part), BLOCK // 4))
        pool.map(scatter, list(pairwise(edges)))

    for begin in range(0, len(data), 4 * BLOCK):
        add(data.take(slice(begin, begin + 4 * BLOCK)))
    return gradient, curvature


def scores(model: ClassModel, held: sparse.csr_array) -> Doubles:
    """Return (objects, classes): bias + the weights of the patterns that hold for each object, as `held` says."""
    shape = held.shape[1], len(model.bias)
    weights = sparse.csr_array((model.weight, (model.pattern, model.target)), shape=shape)
    return np.asarray((held.astype(np.float64) @ weights).todense()) + model.bias


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
    # Four sums in parallel, since each addition of a single sum would wait for the previous one.
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
    weights: Weights, shares: PatternColumns, begin: int, end: int, gradient: Doubles, of_bias: Doubles
) -> float:
    """Return the cross-entropy of the shares under the softmax; add its gradient to `gradient` and `of_bias`."""
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
def _probabilities(weights: Weights, begin: int, out: Floats) -> None:
    """Write the probabilities of the objects from `begin` on into the rows of `out`."""
    scores, scratch = np.zeros(len(weights.bias)), np.zeros(len(weights.bias))
    for i in range(len(out)):
        _softmax(weights, begin + i, scores, scratch)
        out[i] = scores


@compiled
def _scatter(
    held: PatternColumns,
    shares: PatternColumns,
    probability: Floats,
    some: tuple[int, int],
    gradient: Floats,
    curvature: Floats,
) -> None:
    """Add the contributions of the objects for the classes some[0] .. some[1] to `gradient` and `curvature`."""
    pointer, column, _ = held
    share_pointer, label, share = shares
    first, last = some
    for i in range(len(probability)):
        for k in range(pointer[i], pointer[i + 1]):
            f = column[k]
            for c in range(first, last):
                p = probability[i, c]
                gradient[f, c] -= p
                curvature[f, c] += p * (1 - p)
            for s in range(share_pointer[i], share_pointer[i + 1]):
                if first <= label[s] < last:
                    gradient[f, label[s]] += share[s]
