"""Neural-LP behind the common interface."""

from __future__ import annotations

from dataclasses import replace

from nlil.data.dataset import Dataset
from nlil.evaluation.metrics import Metrics
from nlil.progress import Progress, silent

from .interface import not_fitted
from .neural_lp import NeuralLP, NeuralLPModel


class NeuralLPBaseline:
    """All targets of the set share one controller. The settings are the original's: 2 steps, rank 3, 128 hidden
    units, 10 epochs, batches of 64, Adam with lr .001."""

    packages: tuple[str, ...] = ()

    def __init__(self, settings: NeuralLP | None = None) -> None:
        self.settings = settings or NeuralLP()
        self._fitted: tuple[Dataset, NeuralLPModel] | None = None

    def fit(self, dataset: Dataset, seed: int = 0, progress: Progress = silent) -> None:
        self.settings = replace(self.settings, seed=seed)
        self._fitted = dataset, self.settings.fit(dataset.kb, list(dataset.targets), progress)

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        if self._fitted is None:
            raise not_fitted("neural-lp")
        dataset, model = self._fitted
        return model.rank(dataset.kb, dataset.splits[split], dataset.splits, split, progress)
