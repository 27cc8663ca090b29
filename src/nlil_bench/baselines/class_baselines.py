"""What the baselines for object classes share: the objects that are asked about, and figures from their scores.

A model gives every object a score for every class; ranks, ties and figures are those of `nlil.evaluation`.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any

import numpy as np

from nlil.data.arrays import Doubles, Ids, Longs, Mask
from nlil.data.dataset import Dataset
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError, DataError
from nlil.evaluation.metrics import Metrics, score_ranks
from nlil.evaluation.protocol import class_figures, peak_memory_mb
from nlil.progress import Progress, silent

from .interface import not_fitted

HELD_OUT = 0.1
"""Of the training graphs, where a method needs objects to choose by and the set has no validation graphs."""


@dataclass(frozen=True, eq=False)
class ClassTask:
    """Objects and their classes: object i of the graphs in `kb` has the class classes[answer[i]]."""

    kb: KnowledgeBase
    classes: Ids
    objects: Ids
    answer: Longs

    def __len__(self) -> int:
        return len(self.objects)

    def take(self, chosen: Mask) -> ClassTask:
        return ClassTask(self.kb, self.classes, self.objects[chosen], self.answer[chosen])


def class_task(name: str, dataset: Dataset, split: str) -> ClassTask:
    """The objects of a split whose class is a target, in the split's own graphs; `name` is the method that asks."""
    kb = dataset.kb
    classes = np.array([kb.predicate_id(p) for p in dataset.targets], np.int32)
    classes = classes[np.isin(classes, list(kb.classes))]
    if not len(classes):
        found = ", ".join(str(p) for p in dataset.targets[:3])
        raise ConfigError(
            f"{name}: expected object classes of scene graphs as targets, got {found or 'none'}; choose "
            "scene graphs such as street or vrd, or another method"
        )
    facts = dataset.splits[split]
    context = dataset.splits.context.get(split)
    if context is not None:
        kb = kb.with_facts(context)
    facts = facts[np.isin(facts.predicate, classes)]
    position = np.zeros(kb.num_predicates, np.int64)
    position[classes] = np.arange(len(classes))
    return ClassTask(kb.crisp, classes, facts.subject, position[facts.predicate])


def training_parts(name: str, dataset: Dataset, seed: int) -> tuple[ClassTask, ClassTask]:
    """Objects to learn from and objects to choose by: validation graphs, else a tenth of the training graphs."""
    train, valid = class_task(name, dataset, "train"), class_task(name, dataset, "valid")
    if not len(train):
        raise DataError(f"{name}: expected training objects of a target class, {dataset.name} has none; choose others")
    if len(valid) or train.kb.graph_of is None:
        return train, valid
    graph = train.kb.graph_of[train.objects]
    graphs = np.unique(graph)
    held = np.random.default_rng(seed).permutation(graphs)[: int(len(graphs) * HELD_OUT)]
    is_held = np.isin(graph, held)
    return train.take(~is_held), train.take(is_held)


class ClassBaseline(ABC):
    """A baseline for object classes; subclasses say what they learn and how they score."""

    name = ""
    note = ""
    packages: tuple[str, ...] = ()
    settings: Any

    def __init__(self) -> None:
        self._dataset: Dataset | None = None

    def fit(self, dataset: Dataset, seed: int = 0, progress: Progress = silent) -> None:
        self._learn(dataset, seed, progress)
        self._dataset = dataset

    @abstractmethod
    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """From the training graphs."""

    @abstractmethod
    def _scores(self, task: ClassTask, progress: Progress) -> Doubles:
        """(objects, classes): more is better. The own class of an object must not be looked at."""

    def class_scores(self, split: str = "test", progress: Progress = silent) -> tuple[ClassTask, Doubles]:
        """The objects of a split, and (objects, classes) what the model says of each: logits, or any score."""
        if self._dataset is None:
            raise not_fitted(self.name)
        task = class_task(self.name, self._dataset, split)
        return task, self._scores(task, progress)

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        if self._dataset is None:
            raise not_fitted(self.name)
        started = time.perf_counter()
        task = class_task(self.name, self._dataset, split)
        values: dict[str, float] = {}
        per_predicate: dict[str, dict[str, float]] = {}
        if len(task):
            facts = self._dataset.splits[split]
            facts = facts[np.isin(facts.predicate, task.classes)]
            ranks = score_ranks(self._scores(task, progress), task.answer)
            values, per_predicate, _ = class_figures(ranks, facts, task.kb)
        return Metrics(
            values,
            per_predicate,
            len(task),
            0,
            time.perf_counter() - started,
            peak_memory_mb(),
            tuple(n for n in (self.note, _left_out(self._dataset, task)) if n),
        )


def _left_out(dataset: Dataset, task: ClassTask) -> str:
    others = len(dataset.targets) - len(task.classes)
    return f"{others} targets left out: the method ranks object classes only" if others else ""
