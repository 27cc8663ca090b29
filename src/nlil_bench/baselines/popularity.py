"""Popularity: an entity answers p(x, ?) the better, the more often it is an object of p; likewise p(?, y)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlil.config import parse_size
from nlil.data.arrays import Doubles, Ids
from nlil.data.dataset import Dataset
from nlil.evaluation.metrics import Metrics
from nlil.progress import Progress, silent
from nlil.settings import Settings, at_least, setting

from .batch_ranking import batch_metrics
from .interface import Baseline


@dataclass(frozen=True)
class PopularitySettings(Settings):
    """There is nothing to choose but the memory."""

    memory: int = setting(2**30, "bytes that batches are sized for", at_least(1), parse_size)


class Popularity(Baseline):
    """Counts of the training facts (weight >= .5). The fact of a query is not counted for itself."""

    name = "popularity"
    defaults = PopularitySettings()

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """Nothing to do: facts are counted when they are needed, and nothing is random."""

    def scores(self, predicate: int, given: Ids, side: int) -> Doubles:
        """(batch, entities): the same counts for every given entity."""
        kb = self.dataset.kb.crisp
        facts = kb.facts.of(predicate)
        count = np.bincount((facts.object, facts.subject)[side], minlength=kb.num_entities)
        return np.broadcast_to(count.astype(np.float64), (len(given), kb.num_entities))

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        return batch_metrics(
            self.scores,
            self.dataset,
            split,
            memory=self.settings.memory,
            own_fact=1.0,
            notes=("counts of answers, no rules",),
            progress=progress,
        )
