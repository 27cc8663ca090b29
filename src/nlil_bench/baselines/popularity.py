"""Popularity: an entity answers p(x, ?) the better, the more often it is an object of p; likewise p(?, y)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlil.data.arrays import Doubles, Ids
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.metrics import Metrics
from nlil.progress import Progress, silent

from .batch_ranking import batch_metrics
from .interface import check_least, not_fitted


@dataclass(frozen=True)
class PopularitySettings:
    """`memory` (1 GiB): bytes that batches are sized for. There is nothing else to set."""

    memory: int = 2**30

    def __post_init__(self) -> None:
        check_least(self, {"memory": 1})


class Popularity:
    """Counts of the training facts (weight >= .5). The fact that is asked about is not counted for itself."""

    packages: tuple[str, ...] = ()

    def __init__(self, settings: PopularitySettings | None = None) -> None:
        self.settings = settings or PopularitySettings()
        self._dataset: Dataset | None = None
        self._kb: KnowledgeBase | None = None

    def fit(self, dataset: Dataset, seed: int = 0, progress: Progress = silent) -> None:
        """Nothing is random: `seed` changes nothing."""
        self._dataset, self._kb = dataset, dataset.kb.crisp

    def scores(self, predicate: int, given: Ids, side: int) -> Doubles:
        """(batch, entities): the same counts for every given entity."""
        if self._kb is None:
            raise not_fitted("popularity")
        facts = self._kb.facts.of(predicate)
        count = np.bincount((facts.object, facts.subject)[side], minlength=self._kb.num_entities)
        return np.broadcast_to(count.astype(np.float64), (len(given), self._kb.num_entities))

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        if self._dataset is None:
            raise not_fitted("popularity")
        return batch_metrics(
            self.scores,
            self._dataset,
            split,
            memory=self.settings.memory,
            own_fact=1.0,
            notes=("counts of answers, no rules",),
            progress=progress,
        )
