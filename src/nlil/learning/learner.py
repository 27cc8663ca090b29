"""Learner: facts in, RuleSet out."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrays import Ids
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..evaluation.fidelity import Fidelity
from ..kernel.aggregation import Aggregation
from ..kernel.device import resolve_device
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph, num_paths
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..logic.rule import ScoredRule
from ..neural.options import Found
from ..progress import Progress, Stop, silent
from ..search.count import Counted, count_rules
from ..search.exclusions import find_exclusions
from ..search.options import CountOptions
from .checkpoint import Checkpoint
from .config import LearnerConfig
from .conjunctions import with_conjunctions
from .joint import class_rules, is_joint
from .lengths import can_try, helpful_lengths
from .neural import search_neural
from .reasons import allowed_predicates, missing_reasons
from .weighing import fit_weighing

WEAK, LEAST, MOST_PATHS = 0.002, 0.01, 1e7
"""Least confidences, where nothing is asked for: weak rules still order what stronger ones do not reach, but a base
with more paths of two steps than this has too many of them."""


def is_small(kb: KnowledgeBase) -> bool:
    return num_paths(Graph.of(kb.crisp), 2)[-1] <= MOST_PATHS


def least_confidence(kb: KnowledgeBase) -> float:
    return WEAK if is_small(kb) else LEAST


@dataclass(frozen=True)
class Learned:
    """What `fit` returns: the rules, how they were asked for, and what was not found.

    `missing` gives for each target without rules the reason and what to change. `attentions` has what training
    attended to, by names such as `uncle/2|operators`. `fidelity` is there where the rules imitate a classifier, and
    `target_scores` has the path and the sha256 of the file with what it says, if it was a file.
    """

    rules: RuleSet
    config: LearnerConfig
    targets: tuple[Predicate, ...]
    partial: bool = False
    missing: dict[str, str] = field(default_factory=dict)
    seconds: float = 0.0
    history: tuple[dict[str, Any], ...] = ()
    notes: tuple[str, ...] = ()
    attentions: Mapping[str, np.ndarray] = field(default_factory=dict)
    fidelity: Fidelity | None = None
    target_scores: Mapping[str, str] = field(default_factory=dict)

    def save(self, path: str | Path, **about: Any) -> Path:
        """Write a run folder; see `nlil.learning.run.save_run`."""
        from .run import save_run

        return save_run(self, Path(path), **about)


class Learner:
    """Learner(config).fit(kb): rules for every target."""

    def __init__(self, config: LearnerConfig | None = None, **values: Any) -> None:
        self.config = (config or LearnerConfig()).with_values(values) if values else config or LearnerConfig()

    def fit(
        self,
        kb: KnowledgeBase,
        targets: Sequence[str | Predicate] | None = None,
        splits: Splits | None = None,
        progress: Progress = silent,
        stop: Stop | None = None,
        checkpoint: Checkpoint | None = None,
    ) -> Learned:
        """Learn rules for `targets` (default: every predicate with facts) from the facts of kb.

        `stop` ends the search early (default: after the configured time limit); the result is then partial.
        `checkpoint` keeps the training under way; counting is quick, so it is done again and keeps nothing there.
        """
        stop = stop or Stop(self.config.time_limit)
        if self.config.min_confidence >= 0:
            return self._fit(kb, targets, splits, progress, stop, checkpoint)
        sized = Learner(replace(self.config, min_confidence=least_confidence(kb)))
        return replace(sized._fit(kb, targets, splits, progress, stop, checkpoint), config=self.config)

    def _fit(
        self,
        kb: KnowledgeBase,
        targets: Sequence[str | Predicate] | None,
        splits: Splits | None,
        progress: Progress,
        stop: Stop,
        checkpoint: Checkpoint | None,
    ) -> Learned:
        started = time.monotonic()
        config = self.config
        chosen = self._targets(kb, targets)
        ids = np.array([kb.predicate_id(p) for p in chosen], np.int32)
        if is_joint(kb, ids, config):
            rules = class_rules(kb, self._body(kb), ids, config, progress, stop)
            return Learned(rules, config, tuple(chosen), stop.cut, {}, time.monotonic() - started)
        negatives = splits.negatives.get("train", Facts.empty()) if splits is not None else Facts.empty()
        options = self._count_options(kb, stop, can_try(kb, None if splits is None else splits.valid))
        parts: list[RuleSet] = []
        notes: list[str] = []
        if config.search != "neural":
            counted = self._count(kb, ids, options, negatives, progress)
            parts.append(counted.rules)
            notes += counted.notes
        found = Found(RuleSet.empty(kb))
        small = not config.neural_facts or len(kb.facts) <= config.neural_facts
        if config.search == "both" and not small:
            notes.append(
                f"training left out: {len(kb.facts):,} facts, neural_facts = {config.neural_facts:,}; "
                "--set neural_facts=0 lifts it, --set search=neural only trains"
            )
        if (config.search == "neural" or (config.search == "both" and small)) and not stop():
            found = search_neural(kb, ids, config, splits, parts[0] if parts else None, progress, stop, checkpoint)
            parts.append(found.rules)
        rules = replace(
            RuleSet.join(parts or [found.rules]),
            requested=tuple(chosen),
            aggregation=Aggregation(config.aggregation, config.aggregation_top),
            exclusions=self._exclusions(kb, ids, splits),
        )
        if config.search != "neural" and splits is not None and len(splits.valid):
            rules, more = self._against_validation(kb, rules, ids, splits, options, progress)
            notes += more
        explained = np.bincount(rules.head, minlength=kb.num_predicates) > 0
        unexplained = [int(t) for t in ids if not explained[t]]
        partial = stop.cut  # a second look for reasons does not make the search partial
        missing = missing_reasons(kb, unexplained, config, partial, None if len(negatives) else options, self._body(kb))
        return Learned(
            rules,
            config,
            tuple(chosen),
            partial,
            missing,
            time.monotonic() - started,
            tuple(found.history),
            tuple(notes),
            found.attentions,
        )

    def _against_validation(
        self, kb: KnowledgeBase, rules: RuleSet, ids: Ids, splits: Splits, options: CountOptions, progress: Progress
    ) -> tuple[RuleSet, list[str]]:
        """What is kept, and how much each kind counts, as far as validation facts can tell; and notes on it."""
        config, stop = self.config, options.stop
        assert stop is not None
        notes: list[str] = []
        has_negatives = bool(len(splits.negatives.get("train", Facts.empty())))
        if options.tried_length:
            rules, notes_on_lengths = helpful_lengths(kb, rules, splits.valid, config.max_length, options, progress)
            notes += notes_on_lengths
        if config.conjunctions and not has_negatives:
            rules, left_out = with_conjunctions(
                kb, rules, ids, splits.valid, config.conjunctions, options, self._body(kb), progress
            )
            rules = self._best(rules, ids)
            notes += left_out
        if config.weigh and not stop():
            rules = replace(rules, aggregation=self._weighed(kb, rules, splits, stop, progress))
        return rules, notes

    def _count_options(self, kb: KnowledgeBase, stop: Stop, can_try: bool) -> CountOptions:
        config = self.config
        # A small base is counted before a GPU, or torch, has started.
        device = "cpu" if config.device == "auto" and is_small(kb) else resolve_device(config.device)
        return CountOptions(
            max_length=config.max_length,
            tried_length=config.tried_length if can_try and config.tried_length > config.max_length else 0,
            min_support=config.min_support,
            min_confidence=config.min_confidence,
            constants=config.constants,
            typed=config.typed,
            samples=config.samples,
            candidates=config.candidates,
            max_paths=config.max_paths,
            seed=config.seed,
            threads=config.threads,
            device=device,
            memory=config.memory,
            stop=stop,
        )

    def _count(
        self, kb: KnowledgeBase, ids: Ids, options: CountOptions, negatives: Facts, progress: Progress
    ) -> Counted:
        """The counting search, cut down to the best rules of each target."""
        if len(negatives):
            # Confidence against given negatives is another number: let every supported body through, then recount.
            options = replace(options, min_confidence=0.0)
        counted = count_rules(kb, ids, options, self._body(kb), progress)
        rules = counted.rules
        if len(negatives):
            assert options.stop is not None
            rules = self._against(kb, rules, negatives, options.stop, progress)
        if not rules.support.all():
            rules = rules.take(rules.support > 0)  # the prior of a target without facts explains nothing
        return replace(counted, rules=self._best(rules, ids))

    def _weighed(
        self, kb: KnowledgeBase, rules: RuleSet, splits: Splits, stop: Stop, progress: Progress
    ) -> Aggregation:
        """Fitted on facts that no rule was counted on; the filter knows the training and validation facts only."""
        if kb.facts.weight is not None:
            return rules.aggregation  # soft facts are scored by the general engine, one query at a time
        config = self.config
        return fit_weighing(
            rules, kb, splits.valid, kb.facts + splits.valid, config.seed, config.threads, config.memory, progress, stop
        )

    def _exclusions(self, kb: KnowledgeBase, ids: Ids, splits: Splits | None) -> tuple[Exclusion, ...]:
        config = self.config
        if not config.exclusions or config.search == "neural":
            return ()
        allowed = allowed_predicates(kb, config) if config.body or config.not_body else None
        return find_exclusions(kb, ids.tolist(), None if splits is None else splits.valid, allowed=allowed)

    def _targets(self, kb: KnowledgeBase, targets: Sequence[str | Predicate] | None) -> list[Predicate]:
        if targets is None:
            found = [p for p, count in zip(kb.predicates, kb.predicate_counts) if count]
        else:
            found = [kb.predicate(t) if isinstance(t, str) else t for t in targets]
            for predicate in found:
                kb.predicate_id(predicate)
        if not found:
            raise NlilError("there is no predicate with facts to learn rules for; check the data with: nlil inspect")
        return list(dict.fromkeys(found))

    def _body(self, kb: KnowledgeBase) -> KnowledgeBase | None:
        """The facts that bodies may use, where the configuration restricts them."""
        if not self.config.body and not self.config.not_body:
            return None
        allowed = allowed_predicates(kb, self.config)
        return kb.without([p for p in range(kb.num_predicates) if p not in allowed])

    def _against(self, kb: KnowledgeBase, rules: RuleSet, negatives: Facts, stop: Stop, progress: Progress) -> RuleSet:
        """Statistics of every rule against the given negatives, and only the rules that keep their confidence."""
        from ..kernel.evaluator import Evaluator  # imports torch
        from ..kernel.statistics import rule_stats

        evaluator = Evaluator(kb, memory=self.config.memory)
        kept = []
        for row in range(len(rules)):
            if stop():
                break
            rule = rules.rule(row)
            stats = rule_stats(evaluator, rule, negatives)
            if stats.support >= self.config.min_support and stats.confidence >= self.config.min_confidence:
                kept.append(ScoredRule(rule, stats, stats.smoothed))
            progress("negatives", row + 1, len(rules))
        return replace(RuleSet.of(kb, kept), weight=None)  # the smoothed confidence, unrounded

    def _best(self, rules: RuleSet, targets: Ids) -> RuleSet:
        """The `top_rules` best of each target, in the order of the set."""
        if not self.config.top_rules:
            return rules
        order = rules.order()
        keep = [order[rules.head[order] == t][: self.config.top_rules] for t in targets]
        return rules.take(np.sort(np.concatenate(keep)))
