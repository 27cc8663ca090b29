"""Freq, the frequency baseline of the paper: which class occurs most often in the relation that contains the object.

Every relation k(x, z) of an object x casts one vote: for the class that training objects have most often in k with
the class of z on the other side; its weight is how often it was seen there. The candidates are the classes that were
voted for and all others tie behind them, which is why its R@5 is hardly above its R@1. With `prior` those others
follow in the order of their frequency. (The paper's code pools the votes of all objects of one true class in an image
and classifies them once, which uses the answer; here every object is a separate query.)
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from nlil.data.arrays import Doubles, Ids, Longs, ranges
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.kernel.graph import Graph
from nlil.progress import Progress
from nlil.settings import Settings, one_of, setting

from .class_baselines import ClassBaseline, ClassTask, Unaries, class_task


@dataclass(frozen=True)
class FrequencySettings(Settings):
    """What a vote counts, and what follows the classes that have votes."""

    votes: str = setting(
        "count",
        "weight of a vote: how often the class was seen in the relation (count), or in which share of all (share)",
        one_of("count", "share"),
    )
    prior: bool = setting(False, "rank classes without votes by frequency, instead of as a tie")


class Frequency(ClassBaseline):
    name = "freq"
    note = "votes of relations, no rules"

    defaults = FrequencySettings()
    _key: Longs
    _vote: Longs
    _weight: Doubles
    _prior: Doubles

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """Nothing is random: `seed` changes nothing."""
        task = class_task(self.name, dataset, "train")
        num_classes = len(task.classes)
        object_, key = neighbour_keys(task.kb, task.objects)
        pair, count = np.unique(key * num_classes + task.answer[object_], return_counts=True)
        key, answer = np.divmod(pair, num_classes)
        total = np.bincount(task.answer, minlength=num_classes)
        order = np.lexsort((answer, -total[answer], -count, key))  # of equal counts the more frequent class
        first = order[np.unique(key[order], return_index=True)[1]]
        self._key, self._vote = key[first], answer[first]
        seen = np.bincount(np.searchsorted(self._key, key), weights=count)
        self._weight = count[first] / (seen if self.settings.votes == "share" else 1.0)
        self._prior = total / max(total.sum(), 1)

    def _scores(self, task: ClassTask, progress: Progress) -> Doubles:
        scores = np.zeros((len(task), len(task.classes)))
        object_, key = neighbour_keys(task.kb, task.objects)
        place = np.minimum(np.searchsorted(self._key, key), max(len(self._key) - 1, 0))
        known = self._key[place] == key if len(self._key) else np.zeros(len(key), bool)
        np.add.at(scores, (object_[known], self._vote[place[known]]), self._weight[place[known]])
        return np.where(scores > 0, scores, self._prior - 1) if self.settings.prior else scores


def neighbour_keys(kb: KnowledgeBase, objects: Ids) -> tuple[Longs, Longs]:
    """(position in `objects`, number of (step, class of the neighbour)) of every stated relation of the objects."""
    stated = kb.without(sorted(kb.geometry))
    graph, labels = Graph.of(stated), Unaries.of(kb, np.isin(kb.unary.predicate, list(kb.classes)))
    begin = graph.pointer[objects]
    degree = graph.pointer[objects.astype(np.int64) + 1] - begin
    edge = ranges(begin, degree)
    owner = np.repeat(np.arange(len(objects)), degree)
    near = graph.neighbour[edge].astype(np.int64)
    row, label = labels.expand(near)
    return owner[row], graph.code[edge][row].astype(np.int64) * kb.num_predicates + label
