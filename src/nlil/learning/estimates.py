"""What validation facts say of the finished rules: what their scores mean, and how well they will answer.

Both are measured on folds, where no rule was counted on the facts that it ranks. Where those were held out, rules that
are counted on all training facts know a little more: the estimate is on the careful side. Weights and what else was
chosen on validation facts were chosen on these too, which speaks the other way; both are small.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Doubles
from ..data.facts import Facts, Splits
from ..evaluation.calibration import fit_calibration
from ..evaluation.candidates import Candidates, scored_candidates
from ..evaluation.protocol import unary_figures
from ..kernel.calibration import Calibration
from ..progress import Progress, silent
from .gates import drawn_rows
from .run import Estimate
from .validation import Fold, Validation

MOST_UNARY = 2_000
"""Unary facts of a fold that the quality is estimated on."""
UNARY = ("r@1", "r@5", "precision", "recall", "f1")
"""Figures of classes and of other unary targets (`evaluate` defines them)."""


def calibrate_and_estimate(
    validation: Validation, elsewhere: Facts, config: LearnerConfig, progress: Progress = silent
) -> tuple[Calibration | None, Estimate]:
    """What scores of the rules mean, and the quality that is expected of them, from one sample of queries.

    There is no calibration where validation facts are too few. What no split knows counts as wrong, though some of it
    is true: the more of that, the lower both are.

    Args:
        validation: rules and folds as they are used, weights and all.
        elsewhere: facts known from other splits: neither true nor false here.
        config: seed, threads and memory.
        progress: told how far it is.
    """
    parts, unary = list[Candidates](), defaultdict[str, list[tuple[float, int]]](list)
    for fold in validation.folds:
        others = elsewhere[~elsewhere.isin(fold.facts)]
        context = {} if fold.facts.context is None else {"valid": fold.facts.context}
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
            )
        )
        for figures, size in _unary(fold, fold.known + others, config, progress):
            for name, value in figures.items():
                unary[name].append((value, size))
    candidates = Candidates.join(parts)
    figures = rank_means(candidates.rank) if len(candidates.rank) else {}
    figures |= {name: mean_of(unary[name]) for name in UNARY if name in unary}
    reciprocal = 1 / candidates.rank
    error = float(reciprocal.std() / np.sqrt(len(reciprocal))) if len(reciprocal) else 0.0
    calibration = fit_calibration(candidates)
    expected = Estimate(figures, error, validation.num_facts, validation.num_held_out)
    return calibration if calibration.maps else None, expected


def mean_of(values: Sequence[tuple[float, int]]) -> float:
    """The mean of values that each stand for so many facts."""
    return sum(value * size for value, size in values) / sum(size for _, size in values)


def rank_means(rank: Doubles) -> dict[str, float]:
    """The figures of binary facts from their realistic ranks."""
    return {"mrr": float(np.mean(1 / rank)), **{f"hits@{k}": float(np.mean(rank <= k)) for k in (1, 10)}}


def _unary(
    fold: Fold, known: Facts, config: LearnerConfig, progress: Progress
) -> Iterator[tuple[dict[str, float], int]]:
    """The figures of classes and of other unary targets, each with its number of facts."""
    unary = fold.facts[fold.facts.is_unary]
    unary = unary[drawn_rows(len(unary), MOST_UNARY, np.random.default_rng((config.seed, 12)))]
    if len(unary):
        kb = fold.kb if unary.context is None else fold.kb.with_facts(unary.context)
        targets = [kb.predicate_id(p) for p in fold.rules.targets]
        budget = config.threads, config.memory, progress
        for figures, _, size in unary_figures(fold.rules, kb, unary, known, targets, *budget):
            yield figures, size
