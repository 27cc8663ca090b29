"""Metrics of any model that scores all entities at once: its scores, and the ranks and figures of `nlil.evaluation`."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from nlil.data.arrays import Ids, Longs
from nlil.data.dataset import Dataset
from nlil.data.facts import Facts
from nlil.errors import NlilError
from nlil.evaluation.metrics import Metrics
from nlil.evaluation.protocol import SplitFigures, binary_figures, peak_memory_mb
from nlil.evaluation.ranking import AnswerIndex
from nlil.kernel.aggregation import Ranks, compare
from nlil.progress import Progress, silent

BYTES_PER_SCORE = 40
"""A score as it comes, in double precision, rounded, and what comparisons make of it."""
LARGEST_BATCH = 1024
DECIMALS = 9
"""Scores are rounded to so many before they are compared, as those of rules are."""


class BatchScorer(Protocol):
    def __call__(self, predicate: int, given: Ids, side: int) -> np.ndarray | Tensor:
        """(batch, entities): every entity as the answer of p(given, ?) (side 0) or of p(?, given) (side 1).
        More is better; any real number will do. Tensors are ranked where they are, on a GPU too."""


def batch_metrics(
    scores: BatchScorer,
    dataset: Dataset,
    split: str,
    *,
    memory: int = 2**30,
    bytes_per_score: int = 0,
    own_fact: float = 0.0,
    notes: Iterable[str] = (),
    others: Iterable[SplitFigures] = (),
    progress: Progress = silent,
) -> Metrics:
    """As `evaluation.evaluate` does it for rules: the binary facts of the split whose predicate is a target.

    `bytes_per_score`: what the scorer itself needs for each score of a batch. `own_fact`: what a training fact adds
    to the score of its own answer; it is subtracted where that fact is the query. `others`: figures of other targets.
    """
    started = time.perf_counter()
    kb, facts = dataset.kb, dataset.splits[split]
    ids = np.array([kb.predicate_id(p) for p in dataset.targets], np.int32)
    facts = facts[np.isin(facts.predicate, ids)]
    binary = facts[~facts.is_unary]
    known = dataset.splits.all() + kb.facts
    batch = max(1, min(LARGEST_BATCH, memory // ((BYTES_PER_SCORE + bytes_per_score) * max(kb.num_entities, 1))))
    parts = list(others)
    if len(binary):
        shift = own_fact * binary.isin(kb.facts)
        parts.append(
            binary_figures(batch_ranks(scores, binary, known, kb.num_entities, batch, shift, progress), binary, kb)
        )
    ranked = {name for part in parts for name in part[1]}
    left_out = sum(str(kb.predicates[p]) not in ranked for p in np.unique(facts.predicate))
    if left_out:
        notes = [*notes, f"{left_out} unary targets left out: the method ranks answers of binary ones only"]
    return joined_metrics(parts, started, notes)


def joined_metrics(parts: Sequence[SplitFigures], started: float, notes: Iterable[str] = ()) -> Metrics:
    """The figures of several kinds of targets as one.

    Args:
        parts: Figures of binary targets, classes, other unary targets.
        started: `time.perf_counter()` when evaluation began.
        notes: What to say beside the figures; empty ones are left out.
    """
    return Metrics(
        {name: value for part in parts for name, value in part[0].items()},
        {name: figures for part in parts for name, figures in part[1].items()},
        sum(part[2] for part in parts),
        0,
        time.perf_counter() - started,
        peak_memory_mb(),
        tuple(filter(None, notes)),
    )


def batch_ranks(
    scores: BatchScorer,
    facts: Facts,
    known: Facts,
    num_entities: int,
    batch: int,
    shift: np.ndarray | None = None,
    progress: Progress = silent,
) -> Ranks:
    """Filtered ranks of both directions of every fact; `shift` is taken off the answer's own score."""
    groups = [
        (int(p), side, np.flatnonzero(facts.predicate == p)) for p in np.unique(facts.predicate) for side in (0, 1)
    ]
    results = [np.zeros((4, 0), np.int64)]
    for done, (predicate, side, numbers) in enumerate(groups, start=1):
        answers = AnswerIndex.of(known, predicate, side, num_entities)
        for low in range(0, len(numbers), batch):
            rows_of_batch = numbers[low : low + batch]
            ends = (facts.subject[rows_of_batch], facts.object[rows_of_batch])
            given, answer = ends[side], ends[1 - side]
            score = _checked(scores(predicate, given, side), (len(rows_of_batch), num_entities), predicate)
            if shift is not None:
                rows = torch.arange(len(rows_of_batch), device=score.device)
                score[rows, on_device(answer, score)] -= torch.from_numpy(shift[rows_of_batch]).to(score.device)
            above, tied = _counted(score, given, answer, answers)
            results.append(np.stack((rows_of_batch, np.full(len(rows_of_batch), side), above, tied)))
        progress("rank", done, len(groups))
    return Ranks(*np.concatenate(results, axis=1))


def _counted(score: Tensor, given: Ids, answer: Ids, answers: AnswerIndex) -> tuple[Longs, Longs]:
    """(candidates above the answer, candidates tied with it and itself); known other answers do not count."""
    rounded = torch.round(score, decimals=DECIMALS)
    right = on_device(answer, score)
    own = rounded.gather(1, right[:, None])
    counted = torch.ones_like(rounded, dtype=torch.bool)
    known = [answers.to(entity) for entity in given.tolist()]
    row = np.repeat(np.arange(len(known)), [len(others) for others in known])
    counted[on_device(row, score), on_device(np.concatenate(known), score)] = False
    counted.scatter_(1, right[:, None], True)
    next_higher = torch.nextafter(own, torch.full_like(own, torch.inf))
    above, tied = ((holds & counted).sum(1).cpu().numpy() for holds in compare(rounded, own, next_higher))
    return above, tied


def on_device(index: Ids | Longs, beside: Tensor) -> Tensor:
    return torch.from_numpy(index.astype(np.int64)).to(beside.device)


def _checked(score: np.ndarray | Tensor, shape: tuple[int, int], predicate: int) -> Tensor:
    """A copy in double precision. A score that is no number would be above nothing and below nothing: rank 1."""
    if tuple(score.shape) != shape:
        raise NlilError(f"predicate {predicate}: expected scores of the shape {shape}, got {tuple(score.shape)}")
    found = score.double() if isinstance(score, Tensor) else torch.from_numpy(np.array(score, np.float64))
    if bool(found.isnan().any()):
        raise NlilError(
            f"predicate {predicate}: expected scores, got some that are not a number; training has "
            "diverged, give it a smaller lr"
        )
    return found.clone() if found is score else found
