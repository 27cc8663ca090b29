"""Multinomial logistic regression on the patterns of an object: what all patterns achieve together, without readable
rules.

Full-batch L-BFGS on the mean cross-entropy + l2 / 2 * |weights|^2 / objects, from zero, so nothing is random.
Rows are taken in blocks, so that memory is that of the weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from scipy.sparse import csr_matrix, hstack

from nlil.data.arrays import Doubles, Floats, Longs
from nlil.data.dataset import Dataset
from nlil.kernel.threads import one_torch_thread
from nlil.progress import Progress
from nlil.settings import at_least, setting

from .class_baselines import ClassBaseline, ClassTask, PatternParts, Patterns, class_task

BLOCK = 16_384
"""Objects whose scores exist at the same time."""


Block = tuple[csr_matrix, csr_matrix, Longs]
"""Some rows of the table, the same transposed, and the answers of these rows."""


@dataclass(frozen=True)
class LogisticSettings(PatternParts):
    """Which patterns, and the fit. Of l2, 1, 2 and 4 were tried on a tenth of the training graphs of VRD."""

    l2: float = setting(2.0, "penalty of the square of a weight, beside a sum over objects")
    iterations: int = setting(200, "most iterations of L-BFGS", at_least(1))


class Logistic(ClassBaseline):
    name = "logistic"
    note = "logistic regression on patterns, no rules"

    defaults = LogisticSettings()
    _patterns: Patterns
    _weights: Floats

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """Nothing is random: `seed` changes nothing."""
        task = class_task(self.name, dataset, "train")
        self._patterns = Patterns(task, self.settings)
        table = _with_constant(self._patterns.table(task))
        self._weights = minimised(
            table, task.answer, len(task.classes), self.settings.l2, self.settings.iterations, progress
        )

    def _scores(self, task: ClassTask, progress: Progress) -> Doubles:
        return np.asarray(_with_constant(self._patterns.table(task)) @ self._weights, np.float64)


def _with_constant(table: csr_matrix) -> csr_matrix:
    """One more column of ones: how frequent a class is."""
    return csr_matrix(hstack([table, np.ones((table.shape[0], 1), np.float32)], format="csr"))


def minimised(
    table: csr_matrix, answer: Longs, num_classes: int, l2: float, iterations: int, progress: Progress
) -> Floats:
    """The weights (columns, classes); the last column, the constant, bears no penalty."""
    slices = [slice(low, low + BLOCK) for low in range(0, table.shape[0], BLOCK)]
    blocks = [(table[rows], csr_matrix(table[rows].T), answer[rows]) for rows in slices]
    weights = torch.zeros((table.shape[1], num_classes), requires_grad=True)
    penalty = torch.full((table.shape[1], 1), l2 / max(table.shape[0], 1))
    penalty[-1] = 0
    optimiser = torch.optim.LBFGS([weights], max_iter=iterations, history_size=10, line_search_fn="strong_wolfe")
    rounds = 0

    def loss() -> torch.Tensor:
        nonlocal rounds
        rounds += 1
        progress("logistic", min(rounds, iterations), iterations)
        now = weights.detach()
        value, gradient = _cross_entropy(blocks, now.numpy(), table.shape[0])
        weights.grad = torch.from_numpy(gradient) + penalty * now
        return torch.tensor(value + float((penalty * now.square()).sum()) / 2)

    with one_torch_thread():  # the sparse products have one, and so sums have one order
        optimiser.step(loss)
    return weights.detach().numpy()


def _cross_entropy(blocks: Sequence[Block], weights: Floats, num_objects: int) -> tuple[float, Floats]:
    """The mean over all objects, and its gradient."""
    value, gradient = 0.0, np.zeros_like(weights)
    for block, transposed, right in blocks:
        logits = torch.from_numpy(block @ weights)
        logs = torch.log_softmax(logits, dim=1)
        rows = torch.arange(len(right))
        value -= float(logs[rows, torch.from_numpy(right)].sum())
        error = logs.exp_()
        error[rows, torch.from_numpy(right)] -= 1
        gradient += transposed @ error.numpy()
    gradient /= max(num_objects, 1)
    return value / max(num_objects, 1), gradient
