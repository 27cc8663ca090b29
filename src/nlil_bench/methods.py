"""A method that is measured, nlil or a baseline: load the data, learn, evaluate; seconds of each."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Protocol

from nlil.errors import NlilError
from nlil.progress import Progress, silent

from .results import machine

if TYPE_CHECKING:
    from nlil.config import LearnerConfig
    from nlil.data.dataset import DataOptions, Dataset
    from nlil.evaluation.metrics import Metrics
    from nlil.learning.run import Learned

OURS = "nlil"
"""What `nlil learn` does without further options."""


def learn(config: LearnerConfig, dataset: Dataset, progress: Progress = silent) -> tuple[Learned, float]:
    """Learn as `nlil learn` does; return also the seconds that it took.

    Args:
        config: The settings.
        dataset: The data; its targets and splits are used.
        progress: Called with the progress.
    """
    from nlil.learning.learner import Learner

    begin = time.perf_counter()
    learned = Learner(config).fit(dataset.kb, list(dataset.targets) or None, dataset.splits, progress=progress)
    return learned, time.perf_counter() - begin


class Method(Protocol):
    """What can be measured."""

    def data_options(self) -> DataOptions:
        """The facts that it wants to see."""

    def learn(self, dataset: Dataset, progress: Progress) -> None:
        """Learn from the training facts."""

    def evaluate(self, dataset: Dataset, split: str, progress: Progress) -> Metrics:
        """The figures of a split."""

    def about(self) -> dict[str, Any]:
        """What else an entry should say: num_rules, partial, seed, config, machine."""


class OurMethod:
    """`nlil learn` with a configuration."""

    def __init__(self, config: LearnerConfig) -> None:
        self.config = config

    def data_options(self) -> DataOptions:
        return self.config.data_options()

    def learn(self, dataset: Dataset, progress: Progress) -> None:
        self.learned, _ = learn(self.config, dataset, progress)

    def evaluate(self, dataset: Dataset, split: str, progress: Progress) -> Metrics:
        from nlil.evaluation.protocol import evaluate

        return evaluate(
            self.learned.rules,
            dataset.kb,
            dataset.splits[split],
            splits=dataset.splits,
            split=split,
            threads=self.config.threads,
            memory=self.config.memory,
            device=self.config.device,
            progress=progress,
        )

    def about(self) -> dict[str, Any]:
        return {
            "num_rules": len(self.learned.rules),
            "partial": self.learned.partial,
            "seed": self.config.seed,
            "config": self.config.to_dict(),
            "machine": machine(self.config.device),
        }


class BaselineMethod:
    """A baseline; by default on a GPU if there is one, like nlil."""

    def __init__(self, model: str, settings: Sequence[str], options: Mapping[str, Any]) -> None:
        from nlil.kernel.device import resolve_device

        from .baselines import make_baseline

        device = resolve_device(str(options.get("device", "auto")))
        self.baseline = make_baseline(model, settings, {**options, "device": device})
        self.seed = int(options.get("seed", 0))

    def data_options(self) -> DataOptions:
        from nlil.data.dataset import DataOptions

        return DataOptions(geometry=getattr(self.baseline.settings, "geometry", False))

    def learn(self, dataset: Dataset, progress: Progress) -> None:
        self.baseline.fit(dataset, self.seed, progress)

    def evaluate(self, dataset: Dataset, split: str, progress: Progress) -> Metrics:
        return self.baseline.evaluate(split, progress)

    def about(self) -> dict[str, Any]:
        from importlib.metadata import version

        from nlil.learning.folder import versions

        settings = self.baseline.settings
        return {
            "num_rules": 0,
            "partial": False,
            "seed": self.seed,
            "config": asdict(settings),
            "machine": machine(getattr(settings, "device", "cpu")),
            "versions": {**versions(), **{package: version(package) for package in self.baseline.packages}},
        }


def measure_method(
    method: Method, load: Callable[[DataOptions], Dataset], split: str, progress: Progress
) -> tuple[Dataset, dict[str, Any]]:
    """The data, and what an entry says of a method on them.

    Args:
        method: What is measured.
        load: Gives the data with the facts that the method wants to see.
        split: The facts to predict.
        progress: Where learning and evaluation report themselves.
    """
    begin = time.perf_counter()
    dataset = load(method.data_options())
    loaded = time.perf_counter()
    method.learn(dataset, progress)
    learned = time.perf_counter()
    metrics = method.evaluate(dataset, split, progress)
    end = time.perf_counter()
    if not metrics.num_queries:
        raise NlilError(f"expected {split} facts of targets, found none; choose another split or another set")
    values = metrics.to_dict()
    values.pop("per_predicate", None)
    return dataset, {
        "checksum": dataset.checksum,
        "metrics": values,
        "seconds": {"load": loaded - begin, "learn": learned - loaded, "evaluate": end - learned},
        **method.about(),
    }
