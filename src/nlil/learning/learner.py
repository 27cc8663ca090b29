"""Learner: facts in, RuleSet out."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Ids
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..errors import NlilError
from ..kernel.aggregation import Aggregation
from ..kernel.counting import count_statistics
from ..kernel.device import resolve_device
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph, num_paths
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..progress import Progress, Stop, silent
from ..search.count import Counted, count_rules
from ..search.exclusions import find_exclusions
from ..search.options import CountOptions
from .checkpoint import Checkpoint
from .conjunctions import with_conjunctions
from .joint import class_rules, is_joint
from .lengths import can_try, helpful_lengths
from .neural import Found, search_neural
from .reasons import allowed_predicates, body_facts, missing_reasons
from .run import Learned
from .weighing import fit_weighing

SMALL_BASE_PATHS = 1e7
"""Paths of two steps of the largest base that is a small one."""
SMALL_BASE_CONFIDENCE, LARGE_BASE_CONFIDENCE = 0.002, 0.01
"""Least confidences where none is set: weak rules still order what stronger ones do not reach, but a large base has
too many of them."""

RECOUNTED_RULES = 1_000
"""Rules that are counted against given negatives before the time is looked at."""


def is_small(kb: KnowledgeBase) -> bool:
    return num_paths(Graph.of(kb.crisp), 2)[-1] <= SMALL_BASE_PATHS


def least_confidence(kb: KnowledgeBase) -> float:
    return SMALL_BASE_CONFIDENCE if is_small(kb) else LARGE_BASE_CONFIDENCE


class Learner:
    """Learner(config).fit(kb): rules for every target."""

    def __init__(self, config: LearnerConfig | None = None, **values: Any) -> None:
        """`values` are settings by name, over those of `config`."""
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
        """Learn rules from the facts of kb.

        Args:
            kb: the training facts.
            targets: predicates to learn rules for; default: every predicate with facts.
            splits: its validation facts and given negatives are used, where it has any.
            progress: told how far each stage is.
            stop: ends the search early (default: after the configured time limit); the result is then partial.
            checkpoint: keeps the training under way; counting is quick, so it is done again and keeps nothing there.
        """
        stop = stop or Stop(self.config.time_limit)
        config = self.config
        if config.min_confidence < 0:
            config = replace(config, min_confidence=least_confidence(kb))
        fit = Fit(config, kb, chosen_targets(kb, targets), splits, progress, stop, checkpoint)
        return replace(fit.learn(), config=self.config)


def chosen_targets(kb: KnowledgeBase, targets: Sequence[str | Predicate] | None) -> tuple[Predicate, ...]:
    """The named targets, each once; default: every predicate with facts."""
    if targets is None:
        found = [p for p, count in zip(kb.predicates, kb.predicate_counts) if count]
    else:
        found = [kb.predicate(t) if isinstance(t, str) else t for t in targets]
        for predicate in found:
            kb.predicate_id(predicate)
    if not found:
        raise NlilError("there is no predicate with facts to learn rules for; check the data with: nlil inspect")
    return tuple(dict.fromkeys(found))


@dataclass(frozen=True, eq=False)
class Fit:
    """One call of `Learner.fit`: what its stages share."""

    config: LearnerConfig
    kb: KnowledgeBase
    targets: tuple[Predicate, ...]
    splits: Splits | None = None
    progress: Progress = silent
    stop: Stop = field(default_factory=Stop)
    checkpoint: Checkpoint | None = None

    @cached_property
    def ids(self) -> Ids:
        return np.array([self.kb.predicate_id(p) for p in self.targets], np.int32)

    @cached_property
    def body(self) -> KnowledgeBase | None:
        """The facts that bodies may use, where the configuration restricts them."""
        return body_facts(self.kb, self.config)

    @property
    def valid(self) -> Facts | None:
        return None if self.splits is None else self.splits.valid

    @cached_property
    def negatives(self) -> Facts:
        none = Facts.empty()
        return none if self.splits is None else self.splits.negatives.get("train", none)

    @cached_property
    def options(self) -> CountOptions:
        config, length = self.config, self.config.tried_length
        # A small base is counted before a GPU, or torch, has started.
        device = "cpu" if config.device == "auto" and is_small(self.kb) else resolve_device(config.device)
        tried = length if length > config.max_length and can_try(self.kb, self.valid) else 0
        return config.options(CountOptions, tried_length=tried, device=device, stop=self.stop)

    def learn(self) -> Learned:
        """All stages, one after the other."""
        started, config, kb, stop = time.monotonic(), self.config, self.kb, self.stop
        if is_joint(kb, self.ids, config):
            rules = class_rules(kb, self.body, self.ids, config, self.progress, stop)
            return Learned(rules, config, self.targets, stop.cut, {}, time.monotonic() - started)
        parts: list[RuleSet] = []
        notes: list[str] = []
        if config.search != "neural":
            counted = self._count()
            parts.append(counted.rules)
            notes += counted.notes
        found = Found(RuleSet.empty(kb))
        is_trained = config.search == "neural" or not config.neural_facts or len(kb.facts) <= config.neural_facts
        if config.search == "both" and not is_trained:
            notes.append(
                f"training left out: {len(kb.facts):,} facts, neural_facts = {config.neural_facts:,}; "
                "--set neural_facts=0 lifts it, --set search=neural only trains"
            )
        if config.search != "count" and is_trained and not stop():
            counted_rules = parts[0] if parts else None
            found = search_neural(
                kb, self.ids, config, self.splits, counted_rules, self.progress, stop, self.checkpoint
            )
            parts.append(found.rules)
        rules = replace(
            RuleSet.join(parts or [found.rules]),
            requested=self.targets,
            aggregation=Aggregation(config.aggregation, config.aggregation_top),
            exclusions=self._exclusions(),
        )
        if config.search != "neural" and self.valid is not None and len(self.valid):
            rules, more = self._against_validation(rules, self.valid)
            notes += more
        partial = stop.cut  # a second look for reasons does not make the search partial
        return Learned(
            rules,
            config,
            self.targets,
            partial,
            self._missing(rules, partial),
            time.monotonic() - started,
            found.history,
            tuple(notes),
            found.attentions,
        )

    def _count(self) -> Counted:
        """The counting search, cut down to the best rules of each target."""
        options = self.options
        if len(self.negatives):
            # Confidence against given negatives is another number: let every supported body through, then recount.
            options = replace(options, min_confidence=0.0)
        counted = count_rules(self.kb, self.ids, options, self.body, self.progress)
        rules = self._against_negatives(counted.rules) if len(self.negatives) else counted.rules
        if not rules.support.all():
            rules = rules.take(rules.support > 0)  # the prior of a target without facts explains nothing
        return replace(counted, rules=self._best(rules))

    def _against_negatives(self, rules: RuleSet) -> RuleSet:
        """Statistics of every rule against the given negatives, and only the rules that keep their confidence."""
        config, parts = self.config, [rules.take(np.zeros(len(rules), bool))]
        for begin in range(0, len(rules), RECOUNTED_RULES):
            if self.stop():
                break
            some = rules.take(np.arange(begin, min(begin + RECOUNTED_RULES, len(rules))))
            parts.append(count_statistics(some, self.kb, self.negatives, config.threads, config.memory, self.progress))
        found = replace(RuleSet.join(parts), weight=None)  # the smoothed confidence, unrounded
        return found.take((found.support >= config.min_support) & (found.confidence >= config.min_confidence))

    def _best(self, rules: RuleSet) -> RuleSet:
        """The `top_rules` best of each target, in the order of the set."""
        if not self.config.top_rules:
            return rules
        order = rules.order()
        keep = [order[rules.head[order] == t][: self.config.top_rules] for t in self.ids]
        return rules.take(np.sort(np.concatenate(keep)))

    def _exclusions(self) -> tuple[Exclusion, ...]:
        config = self.config
        if not config.exclusions or config.search == "neural":
            return ()
        return find_exclusions(self.kb, self.ids.tolist(), self.valid, allowed=allowed_predicates(self.kb, config))

    def _against_validation(self, rules: RuleSet, valid: Facts) -> tuple[RuleSet, list[str]]:
        """What is kept, and how much each kind counts, as far as validation facts can tell; and notes on it."""
        config, kb, notes = self.config, self.kb, list[str]()
        if self.options.tried_length:
            rules, more = helpful_lengths(kb, rules, valid, config.max_length, self.options, self.progress)
            notes += more
        if config.conjunctions and not len(self.negatives):
            rules, more = with_conjunctions(
                kb, rules, self.ids, valid, config.conjunctions, self.options, self.body, self.progress
            )
            rules = self._best(rules)
            notes += more
        # The gates were chosen on crisp facts; whether they help with soft ones has not been measured.
        if config.weigh and kb.facts.weight is None and not self.stop():
            budget = config.threads, config.memory, self.progress, self.stop
            weighed = fit_weighing(rules, kb, valid, kb.facts + valid, config.seed, *budget)
            rules = replace(rules, aggregation=weighed)
        return rules, notes

    def _missing(self, rules: RuleSet, partial: bool) -> dict[str, str]:
        """For each target without rules the reason."""
        explained = np.bincount(rules.head, minlength=self.kb.num_predicates) > 0
        unexplained = self.ids[~explained[self.ids]].tolist()
        second_look = None if len(self.negatives) else self.options
        return missing_reasons(self.kb, unexplained, self.config, partial, second_look, self.body)
