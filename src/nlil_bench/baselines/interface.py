"""The interface of all baselines: fit on a data set, return the figures of a split.

    popularity   how often an entity is the answer
    neural-lp    chain rules by attention (our code)
    dilp         differentiable ILP (our code; small sets)
    transe       translations, through PyKEEN (extra `kge`)
    rotate       rotations, through PyKEEN (extra `kge`)
    freq         object classes: the class seen most often in each relation (the paper's)
    logistic     object classes: logistic regression on the patterns around an object
    mlp          object classes: a multilayer perceptron on boxes, patterns, feature vectors

All figures come from `nlil.evaluation`: filtered, both directions, realistic ties; R@k for object classes.
"""

from __future__ import annotations

import importlib
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from nlil.errors import NlilError, UnknownName
from nlil.progress import Progress, silent

if TYPE_CHECKING:
    from nlil.data.dataset import Dataset
    from nlil.evaluation.metrics import Metrics


class Baseline(ABC):
    """A method with settings: fit it on a data set, then evaluate it on a split.

    Attributes:
        name: What it is called in messages.
        settings: A `nlil.settings.Settings`.
        defaults: The settings where none are given.
        packages: Those beside torch whose versions belong to a figure.
    """

    name = ""
    packages: tuple[str, ...] = ()
    defaults: Any
    settings: Any

    def __init__(self, settings: Any = None) -> None:
        self.settings = settings or self.defaults
        self._dataset: Dataset | None = None

    @property
    def dataset(self) -> Dataset:
        """What it was fitted on."""
        if self._dataset is None:
            raise NlilError(f"{self.name}: figures need a fitted model; call fit(dataset) first")
        return self._dataset

    def fit(self, dataset: Dataset, seed: int = 0, progress: Progress = silent) -> None:
        """Learn from the training facts of the set; `valid` may serve to choose by, `test` never."""
        self._learn(dataset, seed, progress)
        self._dataset = dataset

    @abstractmethod
    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        """What `fit` does."""

    @abstractmethod
    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        """The figures of `nlil.evaluate` on the facts of a split, whose predicate is a target of the set."""


_HOME: Mapping[str, tuple[str, str]] = {
    "popularity": ("popularity", "Popularity"),
    "neural-lp": ("neural_lp", "NeuralLPBaseline"),
    "dilp": ("dilp", "DILP"),
    "transe": ("embeddings", "TransE"),
    "rotate": ("embeddings", "RotatE"),
    "freq": ("frequency", "Frequency"),
    "logistic": ("logistic", "Logistic"),
    "mlp": ("mlp", "MLP"),
}
"""name -> module and class, imported when it is made."""

NAMES: tuple[str, ...] = tuple(_HOME)
"""Of all baselines."""
CLASS_NAMES = ("freq", "logistic", "mlp")
"""Of those that rank the classes of objects, and nothing else."""


def make_baseline(name: str, settings: Iterable[str] = (), options: Mapping[str, Any] | None = None) -> Baseline:
    """The baseline of that name. `settings` are `key=value` words for its dataclass; `options` (device, threads,
    memory) are common to all methods, and one that this method has no use for is passed over.

    >>> make_baseline("popularity").settings
    PopularitySettings(memory=1073741824)
    """
    if name not in _HOME:
        raise UnknownName("baseline", name, NAMES)
    module, kind = _HOME[name]
    made: Baseline = getattr(importlib.import_module(f".{module}", __package__), kind)()
    known = {f.name for f in fields(made.settings) if "read" in f.metadata}
    given = {key: value for key, value in (options or {}).items() if key in known}
    made.settings = made.settings.with_values(given, "options").with_settings(settings)
    return made
