"""nlil bench scene: R@1 and R@5 of object classes (the paper's Table 3), ours beside the baselines for classes.

Ours is `nlil learn DATA --set preset=scene`: with geometry where objects have boxes, with labels and relations only
(geometry=off), and each with five rules for a class. bench fewshot measures the same with a share of the graphs.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from nlil.errors import DataError, NlilError
from nlil.progress import Progress

from .record import machine, peak_memory_mb, versions

if TYPE_CHECKING:
    from nlil.data import Dataset
    from nlil.data.dataset import DataOptions
    from nlil.data.facts import Facts
    from nlil.evaluation import Metrics
    from nlil.kernel.ruleset import RuleSet
    from nlil.learning.config import LearnerConfig

DATA = ("vrd", "hico-det", "scenes:2000")
QUICK_DATA = ("street",)
OURS = "nlil"
PRESET = "scene"
LABELS_ONLY = "geometry=off"

Settings = tuple[str, ...]
ROWS: Mapping[str, tuple[Settings, ...]] = {
    OURS: ((LABELS_ONLY,), (), (LABELS_ONLY, "top_rules=5"), ("top_rules=5",)),
    "freq": ((), ("prior=on",)),
    "logistic": (("bare=off", "context=off", LABELS_ONLY), (LABELS_ONLY,), ()),
    "mlp": ((), ("patterns=0", "context=off")),
}
"""Model -> the settings of its rows, where the user gives none."""
NEEDS_BOXES = frozenset({("mlp", ("patterns=0", "context=off"))})
"""Rows that have nothing to look at without boxes."""
QUICK_SETTINGS: Mapping[str, Settings] = {"logistic": ("iterations=20",), "mlp": ("epochs=3",)}
"""To see that it works; given settings come after these."""


def rows(data: str, model: str | None, given: Settings) -> list[tuple[str, Settings]]:
    """(model, settings) of what is measured: every row of every model, or of one, or the one that was given.

    A generated set has no boxes, so a row that differs from another by geometry alone is left out there.
    """
    from nlil.datasets import builtin_names

    if given:
        return [(model or OURS, given)]
    chosen = [(name, settings) for name in ([model] if model else ROWS) for settings in ROWS[name]]
    if data.partition(":")[0] not in builtin_names():
        return chosen
    plain = [
        (name, tuple(word for word in settings if word != LABELS_ONLY))
        for name, settings in chosen
        if (name, settings) not in NEEDS_BOXES
    ]
    return list(dict.fromkeys(plain))


def job(
    data: str,
    model: str,
    settings: Sequence[str],
    options: Mapping[str, Any],
    quick: bool,
    share: float = 1.0,
    bench: str = "scene",
) -> dict[str, Any]:
    """What the measuring process is told. `options`: seed, device, threads, memory where the user gave them."""
    told = " ".join([*settings, *([f"{100 * share:g} % of the graphs"] if share < 1 else [])])
    return {
        "bench": bench,
        "data": data,
        "model": model,
        "settings": list(settings),
        "options": dict(options),
        "quick": quick,
        "share": share,
        **({"told": told} if told else {}),
    }


def measure(job: Mapping[str, Any], progress: Progress) -> dict[str, Any]:
    """Load, learn, evaluate; seconds of each and the peak memory of all three."""
    begin = time.perf_counter()
    quick = QUICK_SETTINGS.get(job["model"], ()) if job["quick"] else ()
    run: Callable[..., Method] = OurMethod if job["model"] == OURS else BaselineMethod
    method = run(job["model"], (*quick, *job["settings"]), job["options"])
    dataset = _loaded(job, method.data_options())
    loaded = time.perf_counter()
    method.learn(dataset, progress)
    learnt = time.perf_counter()
    metrics = method.evaluate(dataset, progress)
    end = time.perf_counter()
    if not metrics.num_queries:
        raise NlilError("expected test objects of a target class to ask about, found none; choose another set")
    values = metrics.to_dict()
    values.pop("per_predicate", None)
    return {
        "data": job["data"],
        "model": job["model"],
        "settings": list(job["settings"]),
        "share": job["share"],
        "checksum": dataset.checksum,
        "quick": job["quick"],
        "num_graphs": len(np.unique(_graphs(dataset))),
        "num_classes": sum(dataset.kb.predicate_id(p) in dataset.kb.classes for p in dataset.targets),
        "metrics": values,
        "seconds": {"load": loaded - begin, "learn": learnt - loaded, "evaluate": end - learnt},
        "peak_memory_mb": peak_memory_mb(),
        "seed": int(job["options"].get("seed", 0)),
        **method.about(),
    }


def _loaded(job: Mapping[str, Any], options: DataOptions) -> Dataset:
    from nlil.datasets import load_dataset

    seed = int(job["options"].get("seed", 0))
    dataset = load_dataset(job["data"], seed=seed, options=options)
    if not dataset.is_scene:
        raise DataError(
            f"{job['data']}: expected scene graphs, whose objects have classes, got other facts; bench kb is for them"
        )
    return fewer_graphs(dataset, job["share"], seed)


def fewer_graphs(dataset: Dataset, share: float, seed: int) -> Dataset:
    """The set with this share of its training graphs, one or more; a smaller share is part of a larger one.

    The classes asked about stay those of the whole set, whether or not the few graphs show them.
    """
    if share >= 1:
        return dataset
    graphs = np.unique(_graphs(dataset))
    kept = np.random.default_rng(seed).permutation(graphs)[: max(1, round(share * len(graphs)))]
    graph_of = dataset.kb.graph_of
    assert graph_of is not None

    def some(facts: Facts) -> Facts:
        return facts[np.isin(graph_of[facts.subject], kept)]

    splits = dataset.splits
    context = {split: some(facts) if split == "train" else facts for split, facts in splits.context.items()}
    return replace(
        dataset,
        kb=replace(dataset.kb, facts=some(dataset.kb.facts)),
        splits=replace(splits, train=some(splits.train), context=context),
    )


def _graphs(dataset: Dataset) -> np.ndarray:
    """The graph of every training fact."""
    assert dataset.kb.graph_of is not None
    return dataset.kb.graph_of[dataset.kb.facts.subject]


class Method(Protocol):
    """What is measured: which facts it wants to see, learning, figures, and what else an entry should say."""

    def data_options(self) -> DataOptions: ...

    def learn(self, dataset: Dataset, progress: Progress) -> None: ...

    def evaluate(self, dataset: Dataset, progress: Progress) -> Metrics: ...

    def about(self) -> dict[str, Any]: ...


class OurMethod:
    def __init__(self, model: str, settings: Sequence[str], options: Mapping[str, Any]) -> None:
        self.config = our_config(settings).with_values(options, "options")

    def data_options(self) -> DataOptions:
        return self.config.data_options()

    def learn(self, dataset: Dataset, progress: Progress) -> None:
        from nlil.learning.learner import Learner

        self.learned = Learner(self.config).fit(dataset.kb, list(dataset.targets), dataset.splits, progress=progress)
        self.planted = planted_found(self.learned.rules, dataset) if dataset.planted else {}

    def evaluate(self, dataset: Dataset, progress: Progress) -> Metrics:
        from nlil.evaluation import evaluate

        return evaluate(
            self.learned.rules,
            dataset.kb,
            dataset.splits.test,
            splits=dataset.splits,
            threads=self.config.threads,
            memory=self.config.memory,
            device=self.config.device,
            progress=progress,
        )

    def about(self) -> dict[str, Any]:
        from nlil.kernel.device import resolve_device

        from .scene_rules import KEY, shown_rules

        return {
            **self.planted,
            KEY: shown_rules(self.learned.rules),
            "num_rules": len(self.learned.rules),
            "partial": self.learned.partial,
            "config": self.config.to_dict(),
            "machine": machine(resolve_device(self.config.device)),
            "versions": versions(),
        }


def planted_found(rules: RuleSet, dataset: Dataset) -> dict[str, int]:
    """How many planted rules are among those learned, and of how many classes all of them are."""
    from nlil.logic.canonical import canonical

    learned = {canonical(scored.rule) for scored in rules}
    found = {rule: canonical(rule) in learned for rule in dataset.planted}
    missed = {rule.target for rule, is_found in found.items() if not is_found}
    targets = {rule.target for rule in found}
    return {
        "num_planted": len(found),
        "num_planted_found": sum(found.values()),
        "num_planted_classes": len(targets),
        "num_planted_classes_found": len(targets - missed),
    }


class BaselineMethod:
    """On a GPU where there is one, unless told otherwise, as ours."""

    def __init__(self, model: str, settings: Sequence[str], options: Mapping[str, Any]) -> None:
        from nlil.kernel.device import resolve_device

        from .baselines import make_baseline

        self.device = resolve_device(str(options.get("device", "auto")))
        self.made = make_baseline(model, settings, {**options, "device": self.device})
        self.seed = int(options.get("seed", 0))

    def data_options(self) -> DataOptions:
        from nlil.data.dataset import DataOptions

        return DataOptions(geometry=getattr(self.made.settings, "geometry", False))

    def learn(self, dataset: Dataset, progress: Progress) -> None:
        self.made.fit(dataset, self.seed, progress)

    def evaluate(self, dataset: Dataset, progress: Progress) -> Metrics:
        return self.made.evaluate("test", progress)

    def about(self) -> dict[str, Any]:
        from dataclasses import asdict
        from importlib.metadata import version

        device = getattr(self.made.settings, "device", "cpu")
        return {
            "num_rules": 0,
            "partial": False,
            "config": asdict(self.made.settings),
            "machine": machine(device),
            "versions": {**versions(), **{package: version(package) for package in self.made.packages}},
        }


def our_config(settings: Sequence[str]) -> LearnerConfig:
    """The settings over those of the preset for scene graphs."""
    from nlil.learning.config import PRESETS, LearnerConfig

    named = any(word.partition("=")[0].strip() == "preset" for word in settings)
    preset = (f"preset={PRESET}",) if PRESET in PRESETS and not named else ()
    return LearnerConfig().with_settings((*preset, *settings))


def key(entry: Mapping[str, Any], job: Mapping[str, Any]) -> str:
    """What tells entries apart: data, device, model, share of the graphs, and every option or setting given."""
    device = "cpu" if entry["machine"]["device"] == "cpu" else "cuda"
    model = [] if entry["model"] == OURS else [f"model={entry['model']}"]
    share = [] if job["share"] == 1 else [f"share={job['share']:g}"]
    extra = [f"{k}={v}" for k, v in sorted(job["options"].items()) if k != "device"]
    return " ".join(
        [entry["data"], device, *model, *share, *extra, *job["settings"], *(["quick"] if entry["quick"] else [])]
    )
