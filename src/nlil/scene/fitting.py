"""Weights of (pattern, class) pairs: a softmax over classes of bias + the weights of the patterns that hold.

All sums run over blocks of objects that are added up in their order, so the number of threads changes nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from ..data.arrays import Doubles, Ids, Longs, offsets
from ..kernel.kernels import compiled
from ..kernel.pool import Pool
from .lbfgs import minimise
from .patterns import ranges
from .softmax import softmax

BLOCK = 4096
"""Objects of one task."""

Shares = tuple[Longs, Ids, Doubles]
"""(pointer, class, share): the classes of object i are pointer[i] .. pointer[i + 1], with shares that sum to 1."""


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
        pointer, place = ranges(self.pointer, chosen)
        soft = None
        if self.soft is not None:
            first, share = ranges(self.soft[0], chosen)
            soft = first, self.soft[1][share], self.soft[2][share]
        return Labelled(self.label[chosen], pointer, self.column[place], self.num_classes, soft)

    @property
    def shares(self) -> Shares:
        if self.soft is not None:
            return self.soft
        return np.arange(len(self) + 1, dtype=np.int64), self.label, np.ones(len(self))


@dataclass(frozen=True, eq=False)
class Model:
    """weight[i] is what pattern[i] says for the class target[i]; pairs sorted by (pattern, target)."""

    pattern: Ids
    target: Ids
    weight: Doubles
    bias: Doubles

    def __len__(self) -> int:
        return len(self.pattern)

    @classmethod
    def of(cls, pattern: Ids, target: Ids, weight: Doubles, bias: Doubles) -> Model:
        order = np.lexsort((target, pattern))
        return cls(pattern[order].astype(np.int32), target[order].astype(np.int32), weight[order], bias)

    def added(self, pattern: Ids, target: Ids) -> Model:
        return Model.of(
            np.concatenate((self.pattern, pattern)),
            np.concatenate((self.target, target)),
            np.concatenate((self.weight, np.zeros(len(pattern)))),
            self.bias,
        )

    def part(self, keep: np.ndarray) -> Model:
        return Model(self.pattern[keep], self.target[keep], self.weight[keep], self.bias)


def only(data: Labelled, patterns: Ids) -> tuple[Longs, Ids]:
    """(pointer, column) of the given patterns alone, numbered by their position."""
    index = np.full(int(max(data.column.max(initial=-1), patterns.max(initial=-1))) + 1, -1, np.int32)
    index[patterns] = np.arange(len(patterns), dtype=np.int32)
    pointer, column = np.zeros(len(data) + 1, np.int64), np.empty(len(data.column), np.int32)
    used = _chosen(data.pointer, data.column, index, pointer, column)
    return pointer, column[:used].copy()


@compiled
def _chosen(pointer, column, index, new_pointer, new_column):
    used = 0
    for i in range(len(pointer) - 1):
        for k in range(pointer[i], pointer[i + 1]):
            new_column[used] = index[column[k]]
            used += index[column[k]] >= 0
        new_pointer[i + 1] = used
    return used


@compiled
def _softmax(pointer, column, i, entry_pointer, entry_target, weight, bias, scores, scratch):
    """scores = the probabilities of object i."""
    scores[:] = bias
    for k in range(pointer[i], pointer[i + 1]):
        for e in range(entry_pointer[column[k]], entry_pointer[column[k] + 1]):
            scores[entry_target[e]] += weight[e]
    softmax(scores, scratch)


@compiled
def _loss_of_block(pointer, column, shares, begin, end, entry_pointer, entry_target, weight, bias, gradient, of_bias):
    """Cross-entropy of the shares under the softmax; `gradient` and `of_bias` grow by its slopes."""
    loss = 0.0
    share_pointer, label, share = shares
    scores, scratch = np.zeros(len(bias)), np.zeros(len(bias))
    for i in range(begin, end):
        _softmax(pointer, column, i, entry_pointer, entry_target, weight, bias, scores, scratch)
        for s in range(share_pointer[i], share_pointer[i + 1]):
            loss -= share[s] * np.log(max(scores[label[s]], 1e-300))
        for s in range(share_pointer[i], share_pointer[i + 1]):
            scores[label[s]] -= share[s]
        of_bias += scores
        for k in range(pointer[i], pointer[i + 1]):
            for e in range(entry_pointer[column[k]], entry_pointer[column[k] + 1]):
                gradient[e] += scores[entry_target[e]]
    return loss


def fit(model: Model, data: Labelled, penalty: float, steps: int, threads: int, device: str = "cpu") -> Model:
    """The model with the weights and biases that make the classes of the objects most probable (L-BFGS)."""
    used, place = np.unique(model.pattern, return_inverse=True)
    pointer, column = only(data, used)
    entry_pointer = offsets(place.astype(np.int32), len(used))
    start = np.concatenate((model.weight, model.bias))
    if device == "cpu":
        loss = _loss(model, pointer, column, entry_pointer, data.shares, penalty, threads)
    else:
        from .device_fitting import device_loss

        loss = device_loss(pointer, column, place, model.target, data.shares, data.num_classes, penalty, device)
    found = minimise(loss, start, steps)
    return Model(model.pattern, model.target, found[: len(model)], found[len(model) :])


def _loss(
    model: Model, pointer: Longs, column: Ids, entry_pointer: Longs, shares: Shares, penalty: float, threads: int
) -> Callable[[Doubles], tuple[float, Doubles]]:
    """Value and slopes of weights and biases, per object; the pairs of pattern i are those of entry_pointer[i]."""
    pool: Pool[None] = Pool(lambda: None, threads)
    num_objects = len(pointer) - 1
    blocks = list(range(0, num_objects, BLOCK))
    count, size = len(model), max(num_objects, 1)

    def loss(parameters: Doubles) -> tuple[float, Doubles]:
        weight, bias = parameters[:count].copy(), parameters[count:].copy()

        def run(_: None, begin: int) -> tuple[float, Doubles]:
            gradient = np.zeros(len(parameters))
            end = min(begin + BLOCK, num_objects)
            return _loss_of_block(
                pointer,
                column,
                shares,
                begin,
                end,
                entry_pointer,
                model.target,
                weight,
                bias,
                gradient[:count],
                gradient[count:],
            ), gradient

        total, gradient = 0.0, np.zeros(len(parameters))
        for part, its in pool.map(run, blocks):
            total += part
            gradient += its
        total += 0.5 * penalty * float(np.add.reduce(weight * weight))
        gradient[:count] += penalty * weight
        return total / size, gradient / size

    return loss


@compiled
def _losses_of_block(
    pointer, column, share_pointer, share_class, share, begin, end, entry_pointer, entry_target, weight, bias, missed
):
    scores, scratch = np.zeros(len(bias)), np.zeros(len(bias))
    for i in range(begin, end):
        _softmax(pointer, column, i, entry_pointer, entry_target, weight, bias, scores, scratch)
        for k in range(pointer[i], pointer[i + 1]):
            for e in range(entry_pointer[column[k]], entry_pointer[column[k] + 1]):
                missed[e] += np.log(max(1.0 + scores[entry_target[e]] * (np.exp(-weight[e]) - 1.0), 1e-300))
        for s in range(share_pointer[i], share_pointer[i + 1]):
            for k in range(pointer[i], pointer[i + 1]):
                for e in range(entry_pointer[column[k]], entry_pointer[column[k] + 1]):
                    if entry_target[e] == share_class[s]:
                        missed[e] += share[s] * weight[e]


def losses(model: Model, data: Labelled, threads: int) -> Doubles:
    """What the logarithm of the likelihood would lose without each pair, all others as they are."""
    used, place = np.unique(model.pattern, return_inverse=True)
    pointer, column = only(data, used)
    entry_pointer = offsets(place.astype(np.int32), len(used))
    shares = data.shares

    def run(_: None, begin: int) -> Doubles:
        missed = np.zeros(len(model))
        _losses_of_block(
            pointer,
            column,
            *shares,
            begin,
            min(begin + BLOCK, len(data)),
            entry_pointer,
            model.target,
            model.weight,
            model.bias,
            missed,
        )
        return missed

    total = np.zeros(len(model))
    pool: Pool[None] = Pool(lambda: None, threads)
    for part in pool.map(run, range(0, len(data), BLOCK)):
        total += part
    return total


@compiled
def _probabilities(pointer, column, begin, end, entry_pointer, entry_target, weight, bias, out):
    scores, scratch = np.zeros(len(bias)), np.zeros(len(bias))
    for i in range(begin, end):
        _softmax(pointer, column, i, entry_pointer, entry_target, weight, bias, scores, scratch)
        out[i - begin] = scores


@compiled
def _scatter(pointer, column, shares, begin, end, probability, first, last, gradient, curvature):
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


def slopes(
    model: Model, data: Labelled, num_patterns: int, threads: int, device: str = "cpu"
) -> tuple[np.ndarray, np.ndarray]:
    """(patterns, classes): how the logarithm of the likelihood changes with a weight, first and second derivative."""
    used, place = np.unique(model.pattern, return_inverse=True)
    pointer, column = only(data, used)
    entry_pointer = offsets(place.astype(np.int32), len(used))
    classes, shares = data.num_classes, data.shares
    if device != "cpu":
        from .device_fitting import device_slopes

        weight = np.zeros((len(used), classes))
        weight[place, model.target] = model.weight
        return device_slopes(data.pointer, data.column, used, weight, model.bias, num_patterns, shares, device)
    gradient = np.zeros((num_patterns, classes), np.float32)
    curvature = np.zeros((num_patterns, classes), np.float32)
    pool: Pool[None] = Pool(lambda: None, threads)
    edges = np.linspace(0, classes, min(pool.threads, classes) + 1).astype(int)
    wide = 4 * BLOCK
    for begin in range(0, len(data), wide):
        end = min(begin + wide, len(data))
        probability = np.zeros((end - begin, classes), np.float32)

        def run(_: None, first: int, begin: int = begin, end: int = end, out: np.ndarray = probability) -> int:
            last = min(first + BLOCK // 4, end)
            _probabilities(
                pointer,
                column,
                first,
                last,
                entry_pointer,
                model.target,
                model.weight,
                model.bias,
                out[first - begin : last - begin],
            )
            return 0

        def add(
            _: None, some: tuple[int, int], begin: int = begin, end: int = end, out: np.ndarray = probability
        ) -> int:
            _scatter(data.pointer, data.column, shares, begin, end, out, some[0], some[1], gradient, curvature)
            return 0

        pool.map(run, range(begin, end, BLOCK // 4))
        pool.map(add, list(pairwise(edges)))
    return gradient, curvature


def scores(model: Model, pointer: Longs, column: Ids, num_patterns: int) -> Doubles:
    """(objects, classes): bias + weights, for tests and for the scale of the evidence."""
    from scipy import sparse

    held = sparse.csr_matrix((np.ones(len(column)), column, pointer), shape=(len(pointer) - 1, num_patterns))
    weights = sparse.csr_matrix((model.weight, (model.pattern, model.target)), shape=(num_patterns, len(model.bias)))
    return np.asarray((held @ weights).todense()) + model.bias
