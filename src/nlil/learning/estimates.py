"""Calibration and expected quality of the finished rules, measured on validation facts.

Both are measured on folds, where no rule was counted on the facts that it ranks. If the facts were held out, the final
rules, counted on all training facts, are slightly better, which makes the estimate conservative. Weights and other
choices were made on the same validation facts, which makes it optimistic; both effects are small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Doubles
from ..data.facts import Facts, Splits
from ..evaluation.calibration import fit_calibration
from ..evaluation.candidates import Candidates, scored_candidates
from ..evaluation.metrics import rank_figures
from ..evaluation.protocol import unary_figures
from ..evaluation.ranking import Ranker
from ..kernel.calibration import Calibration
from ..progress import Progress, Stop, silent
from .run import Estimate
from .validation import Fold, Validation

MOST_FACTS = 1_000
"""Limit of the facts that the quality is estimated on: the standard error of the MRR is then about .01."""
FIGURES = ("mrr", "hits@1", "hits@10", "r@1", "r@5", "precision", "recall", "f1")
"""The figures of an estimate, as far as there are facts of that kind (defined by `evaluate`)."""


def calibrate(
    validation: Validation,
    elsewhere: Facts,
    config: LearnerConfig,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Calibration | None:
    """Fit the map from scores to probabilities; None if there are too few validation facts.

    Args:
        validation: the final rules and folds, with weights.
        elsewhere: facts of other splits, which count as neither true nor false here.
        config: seed, threads, memory and device.
        progress: receives reports of progress.
        stop: raises Stopped.
    """
    parts = []
    for fold in validation.folds:
        context = {} if fold.facts.context is None else {"valid": fold.facts.context}
        others = elsewhere[~elsewhere.isin(fold.facts)]
        parts.append(
            scored_candidates(
                fold.rules,
                fold.kb,
                Splits(fold.kb.facts, fold.facts, others, context=context),
                "valid",
                seed=config.seed,
                threads=config.threads,
                memory=config.memory,
                progress=progress,
                parts=len(validation.folds),
                stop=stop,
                device=config.device,
            )
        )
    found = fit_calibration(Candidates.join(parts))
    return found if found.maps else None


def estimate(
    validation: Validation,
    elsewhere: Facts,
    config: LearnerConfig,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Estimate:
    """Estimate the quality of the rules of `validation` on at most MOST_FACTS of its facts.

    Other arguments as in `calibrate`; facts of `elsewhere` are known to be true. Facts in no split count as wrong,
    although some are true: the more of these, the lower the estimate.
    """
    folds = validation.drawn(MOST_FACTS, np.random.default_rng((config.seed, 12)))
    quality = measure(folds, elsewhere, config, progress, stop)
    ranked = quality.reciprocal
    error = float(ranked.std() / np.sqrt(len(ranked))) if len(ranked) else 0.0
    return Estimate(quality.figures, error, validation.num_facts, validation.num_held_out)


class Quality(NamedTuple):
    """The quality of rules on validation facts.

    `figures` are some of FIGURES, by name; `reciprocal` is 1 / rank of each query.
    """

    figures: Mapping[str, float]
    reciprocal: Doubles


def measure(
    folds: Sequence[Fold],
    elsewhere: Facts,
    config: LearnerConfig,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Quality:
    """Measure the rules of each of `folds` on its facts; `elsewhere` and the others as in `estimate`."""
    found, reciprocal = defaultdict[str, list[tuple[float, int]]](list), [np.zeros(0)]
    for fold in folds:
        known = fold.known + elsewhere
        parts = list(_unary(fold, known, config, progress))
        binary = fold.facts[~fold.facts.is_unary]
        if len(binary):
            ranker = Ranker(fold.rules, fold.kb, config.threads, config.memory, config.device, stop)
            ranks = ranker.rank(binary, known, progress=progress)
            reciprocal.append(1 / ranks.realistic)
            parts.append((rank_figures(ranks), len(ranks.fact)))
        for figures, size in parts:
            for name, value in figures.items():
                found[name].append((value, size))
    return Quality({name: mean_of(found[name]) for name in FIGURES if name in found}, np.concatenate(reciprocal))


def mean_of(values: Sequence[tuple[float, int]]) -> float:
    """Return the mean of `values`, pairs of a value and its number of facts."""
    return sum(value * size for value, size in values) / sum(size for _, size in values)


def _unary(
    fold: Fold, known: Facts, config: LearnerConfig, progress: Progress
) -> Iterator[tuple[dict[str, float], int]]:
    """Yield the figures of classes and of other unary targets, each with its number of facts."""
    unary = fold.facts[fold.facts.is_unary]
    if len(unary):
        kb = fold.kb if unary.context is None else fold.kb.with_facts(unary.context)
        targets = [kb.predicate_id(p) for p in fold.rules.targets]
        budget = config.threads, config.memory, progress
        for figures, _, size in unary_figures(fold.rules, kb, unary, fold.kb.facts + known, targets, *budget):
            yield figures, size
