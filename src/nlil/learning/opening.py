"""A run together with data: the input of every command except `learn`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..config import LearnerConfig
from ..data.dataset import Dataset
from ..data.facts import Facts
from ..data.files import UTF8
from ..data.kb import KnowledgeBase
from ..datasets import load_dataset
from ..errors import DataError, RunError
from ..evaluation.calibration import calibration_figures, fit_calibration
from ..kernel.binding import Bound, bind
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..progress import Progress, silent
from ..search.cost import check_memory
from .changing import read_whole
from .feedback import Feedback, load_feedback, rejected_note, rows_not_rejected, without_rejected
from .run import CALIBRATION, Learned, RunInfo, add_json, load_metrics, load_with_info

if TYPE_CHECKING:
    from ..evaluation.candidates import Candidates
    from ..evaluation.completion import NewFacts
    from ..evaluation.metrics import Metrics
    from ..evaluation.prediction import Predictor
    from ..explanation.disputes import Dispute
    from ..theory.theory import Theory

Targets = Sequence[str | Predicate] | str | None
BUDGETS = ("device", "threads", "memory")
"""Settings of the machine that learned, not of the rules."""
MAIN_FIGURES = ("mrr", "hits@1", "hits@10", "r@1", "r@5", "f1")


@dataclass(frozen=True)
class ReliabilitySample:
    """How well calibrated scores are: scored `candidates`, and `calibration`, the map to probabilities, if any.

    If `is_own_sample`, the map was fitted on these candidates; each half is then measured with a map fitted on the
    other half. `notes` are for the user.
    """

    candidates: Candidates
    calibration: Calibration | None
    is_own_sample: bool
    notes: tuple[str, ...] = ()

    @property
    def figures(self) -> dict[str, float | int]:
        """brier_before, brier_after, ece_before, ece_after, and the number of candidates."""
        return calibration_figures(self.candidates, self.calibration, self.is_own_sample)


@dataclass(frozen=True)
class Applied:
    """`rules` in the ids of the `dataset` they are applied to, with the settings `config`.

    `progress` receives reports of progress.
    """

    rules: RuleSet
    dataset: Dataset
    config: LearnerConfig

    @cached_property
    def base(self) -> KnowledgeBase:
        """The facts that a query may use; see `Dataset.world`."""
        return self.dataset.world

    @property
    def calibration(self) -> Calibration | None:
        """The map from scores to probabilities, or None."""
        return self.rules.calibration

    @cached_property
    def known(self) -> Facts:
        """The facts of all splits: a held-out fact is not a discovery."""
        return self.base.facts + self.dataset.splits.all()

    @cached_property
    def predictor(self) -> Predictor:
        """Answers queries."""
        from ..evaluation.prediction import Predictor

        return Predictor(self.rules, self.base, self.known, self.config.threads, self.config.memory, self.calibration)

    def complete(self, top: int = 1000, targets: Targets = None, progress: Progress = silent) -> NewFacts:
        """Return the `top` most probable facts that no split has, of `targets` (None: of all)."""
        from ..evaluation.completion import complete

        return complete(self.rules, self.base, known=self.known, **self._search(top, targets, progress))

    def check(self, top: int = 50, targets: Targets = None, progress: Progress = silent) -> list[Dispute]:
        """Return the `top` facts of `targets` (None: of all) that are most probably wrong, worst first."""
        from ..explanation.disputes import check

        return check(self.rules, self.base, seed=self.config.seed, **self._search(top, targets, progress))

    def _search(self, top: int, targets: Targets, progress: Progress) -> dict[str, Any]:
        """Return the arguments that `complete` and `check` share. Raises LimitError if the budget is too small."""
        check_memory(self.config.memory, len(self.base.facts), len(self.rules))
        return {
            "targets": target_names(targets),
            "top": top,
            "threads": self.config.threads,
            "memory": self.config.memory,
            "calibration": self.calibration,
            "progress": progress,
        }

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        """Measure how well the rules predict the facts of a `split`. Raises DataError if it has none."""
        facts = self.dataset.splits[split]
        if not len(facts):
            others = " or ".join(name for name in ("train", "valid", "test") if len(self.dataset.splits[name]))
            raise DataError(
                f"{self.dataset.name} has no {split} facts; divide its facts with nlil split, or choose another split "
                f"(--split, in Python split=...): {others}"
            )
        config = self.config
        check_memory(config.memory, len(self.dataset.kb.facts), len(self.rules))
        from ..evaluation.protocol import evaluate

        return evaluate(
            self.rules,
            self.dataset.kb,
            facts,
            splits=self.dataset.splits,
            split=split,
            threads=config.threads,
            memory=config.memory,
            device=config.device,
            progress=progress,
        )

    def candidates(self, split: str, seed: int, progress: Progress = silent) -> Candidates:
        """Return the scored candidates of the facts of a `split`; `seed` samples them if there are many."""
        from ..evaluation.candidates import scored_candidates

        kb, splits, config = self.dataset.kb, self.dataset.splits, self.config
        budget: dict[str, Any] = {"threads": config.threads, "memory": config.memory}
        return scored_candidates(self.rules, kb, splits, split, seed=seed, progress=progress, **budget)

    def fit_calibration(self, seed: int) -> Calibration | None:
        """Fit the calibration on the validation facts of the data; None if these are missing or too few.

        Rules are counted on all training facts, so only validation facts are unseen; a map fitted on seen facts would
        be too optimistic. `learn` can hold out training facts instead (`learning.estimates`). `seed` samples candidates
        if there are many.
        """
        if not len(self.dataset.splits.valid):
            return None
        found = fit_calibration(self.candidates("valid", seed))
        return found if found.maps else None

    def reliability(self, split: str, progress: Progress = silent) -> ReliabilitySample:
        """Measure how well calibrated scores are on the facts of a `split`, valid or test."""
        found = self.fit_calibration(self.config.seed)
        return ReliabilitySample(self.candidates(split, self.config.seed, progress), found, split == "valid")


@dataclass(frozen=True)
class OpenedRun(Applied):
    """A run folder at `path`, opened with its own data (`is_own_data`) or with other data.

    `info` says where the run comes from, `learned` is its content. `rules` are without those that people rejected
    (`feedback`); `bound` has all rules in the ids of the data. If `is_theory`, the rules are only those of the
    theories.
    """

    path: Path
    info: RunInfo
    learned: Learned
    bound: Bound
    feedback: Feedback
    is_own_data: bool
    is_theory: bool = False

    @property
    def all_rules(self) -> RuleSet:
        """Every rule whose names the data has, rejected ones included."""
        return self.bound.rules

    @cached_property
    def theory(self) -> Theory | None:
        """The theories of the run, over `all_rules`, or None."""
        own = self.learned.theory
        return None if own is None else own.over(self.bound.kept, len(self.learned.rules))

    @cached_property
    def active(self) -> Learned:
        """What was learned, in the ids of the data and with the current settings, without rejected rules."""
        here = replace(self.learned.bound_to(self.bound), config=self.config)
        return here.over(self.rules, rows_not_rejected(self.all_rules, self.feedback))

    @property
    def is_same_data(self) -> bool:
        """Whether the data are identical to those it was learned from."""
        return self.info.checksum == self.dataset.checksum

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the data of the run, for the user."""
        if self.is_own_data and not self.is_same_data and self.info.checksum is not None:
            return (f"{self.info.source} has changed since {self.path} was learned from it",)
        return ()

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes on what is left out, one sentence each."""
        bound, total = self.bound, len(self.learned.rules)
        notes = []
        if len(bound.rules) < total:
            notes.append(
                f"{total - len(bound.rules):,} of {total:,} rules are left out: {bound.unknown_predicate:,} use a "
                f"predicate and {bound.unknown_constant:,} an entity that {self.dataset.name} does not have"
            )
        if bound.unknown_exclusion:
            notes.append(
                f"{bound.unknown_exclusion:,} of {len(self.learned.rules.exclusions):,} exclusions are left out: they "
                f"use a predicate that {self.dataset.name} does not have"
            )
        return (*notes, *rejected_note(len(bound.rules), len(self.rules)))

    @property
    def calibration(self) -> Calibration | None:
        """The calibration stored in the run, or None."""
        return self.learned.rules.calibration

    def reliability(self, split: str, progress: Progress = silent) -> ReliabilitySample:
        """Measure how well calibrated scores are on a `split`, with the calibration stored in the run.

        If `learn` had too few facts or no time to fit it, it is fitted on the validation facts and stored. On other
        data, rules keep the calibration of the data they were learned from.
        """
        found, notes = self.calibration, []
        if found is None and self.is_own_data:
            # Not the seed of this call: what a run stores must depend on the run alone.
            found = self.fit_calibration(self.info.seed)
            if found is not None and self.is_same_data and not self.is_theory:
                try:
                    add_json(self.path, CALIBRATION, found.to_dict())
                except OSError as error:
                    notes.append(f"{self.path}: the calibration was not saved there ({error.strerror})")
        candidates = self.candidates(split, self.config.seed, progress)
        return ReliabilitySample(candidates, found, split == "valid" and self.is_own_data, tuple(notes))

    def metrics(self) -> dict[str, Any]:
        """Return what `evaluate` measured on the run's own data, by split."""
        return load_metrics(self.path)

    def main_figures(self) -> dict[str, float]:
        """Return a few figures of the test split, if `evaluate` measured the run and this is its own data."""
        measured = self.metrics() if self.is_own_data else {}
        kept: dict[str, Any] = measured.get("test") or next(iter(measured.values()), {})
        overall = kept.get("overall", kept)
        prefix = "test " if "test" in measured else ""
        return {prefix + name: float(overall[name]) for name in MAIN_FIGURES if name in overall}


def target_names(targets: Targets) -> Sequence[str | Predicate] | None:
    """Return `targets` as a list, also a single name; None: all."""
    return [targets] if isinstance(targets, str) else targets


def open_run(
    path: str | Path,
    data: str | None = None,
    theory: bool = False,
    reading: Mapping[str, Any] | None = None,
    size: int | None = None,
) -> OpenedRun:
    """Open a run with the data its rules are to be applied to.

    Args:
        path: the run folder.
        data: a name or path; None: the data that the run was learned from.
        theory: use only the rules of its theories.
        reading: the `columns` and the `encoding` of the data; by default the run's own data is read as it was then, and
            other data by the names of its columns.
        size: the number of rules per target of the theories; by default as learned.
    """
    path = Path(path)
    (info, learned), feedback = read_whole(path, lambda: (load_with_info(path), load_feedback(path)))
    if theory:
        learned = learned.with_theory(size)
    if data is None and info.source is None:
        raise RunError(
            "the run does not say which data it was learned from; name the data (--data, in Python data=...)", path
        )
    options = learned.config.data_options()
    if data is None:
        options = replace(options, **(reading or {}))
        dataset = load_dataset(info.source or "", seed=learned.config.seed, options=options)
    else:
        # Predicates dropped as rare or misleading are in no rule, and counts of other data must not drop others.
        options = replace(options, drop=(), min_count=0, columns="", encoding=UTF8)
        options = replace(options, **(reading or {}))
        # `size_over_12pct` means 12 % of any image: the quantiles of other data must not change it.
        like = learned.rules.predicates
        dataset = load_dataset(data, seed=learned.config.seed, options=options, like=like)
        dataset = with_targets(dataset, learned.targets, learned.rules)
    bound, total = bind(learned.rules, dataset.kb), len(learned.rules)
    if total and not len(bound.rules):
        raise RunError(
            f"none of its {total:,} rules applies to {dataset.name}, which lacks their predicates or entities; "
            "choose data with the same predicates",
            path,
        )
    config = replace(learned.config, **{key: getattr(LearnerConfig(), key) for key in BUDGETS})
    rules = without_rejected(bound.rules, feedback)
    return OpenedRun(rules, dataset, config, path, info, learned, bound, feedback, data is None, theory)


def with_targets(dataset: Dataset, targets: Iterable[Predicate], rules: RuleSet) -> Dataset:
    """Return `dataset` with every target as a predicate, even without facts: rules may derive its first facts.

    Predicates of bodies with more than one line are added too: the negation of a predicate without facts holds. If all
    targets are classes, so are the new ones: an object may get a class that no object of the data has. Data that shares
    no predicate with the rules is returned unchanged.
    """
    kb, targets = dataset.kb, tuple(targets)
    known = set(kb.predicates)
    named = {predicate for row in np.flatnonzero(rules.is_program) for predicate in rules.rule(int(row)).predicates}
    new = tuple(dict.fromkeys(p for p in (*targets, *sorted(named)) if p not in known))
    if not new or known.isdisjoint(rules.predicates):
        return dataset
    predicates = kb.predicates + new
    number = {p: i for i, p in enumerate(predicates)}
    classes = kb.classes
    if classes and all(number[p] in classes for p in targets if p in known):
        classes |= {number[p] for p in targets if p in new and p.arity == 1}
    return replace(dataset, kb=replace(kb, predicates=predicates, classes=classes))
