"""Learner: facts in, RuleSet out."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Ids
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..data.wide import count_wide
from ..errors import NlilError
from ..kernel.aggregation import Aggregation
from ..kernel.calibration import Calibration
from ..kernel.counting import count_statistics
from ..kernel.device import resolve_device
from ..kernel.exclusion import Exclusion
from ..kernel.graph import Graph, num_paths
from ..kernel.ruleset import RuleSet
from ..logic.predicate import Predicate
from ..progress import Progress, Stop, Stopped, silent
from ..search.cost import check_memory
from ..search.count import Counted, count_rules
from ..search.exclusions import find_exclusions
from ..search.options import CountOptions
from ..theory.theory import Theory
from .checkpoint import Checkpoint, CountedStages
from .conjunctions import helpful_conjunctions
from .estimates import calibrate, estimate
from .joint import class_rules, is_joint, without_roles
from .lengths import best_length, can_try, up_to
from .logic_programs import learn_programs
from .missing_rules import allowed_predicates, body_facts, missing_reasons
from .neural import NeuralResult, note_on_nothing, search_neural
from .preference import preferred, without_repeats
from .residuals import residual_rules
from .run import Learned
from .training_notes import training_notes
from .validation import LEAST_GIVEN, Fold, HeldOut, Validation, hold_out
from .weighing import fit_weighing

if TYPE_CHECKING:
    from ..theory.build import Judges

SMALL_BASE_PATHS = 1e7
"""A base with at most this many paths of two steps is small."""
SMALL_BASE_CONFIDENCE, LARGE_BASE_CONFIDENCE = 0.002, 0.01
"""Default least confidences: weak rules still order candidates that stronger ones do not reach, but a large base has
too many of them."""

UNARY_FACTS = 10
"""With search=both, a unary target is trained on a base with this many times `neural_facts`: its formulas are counted
on entities, not on pairs. In a scene graph every object is near every other one, so there the limit is not raised."""
RECOUNTED_RULES = 1_000
"""Rules counted against given negatives between two checks of the time."""


TRIAL_TIME, FOLD_TIME = 1 / 3, 1 / 2
"""Shares of the time left under a time limit: for trying longer chains on held-out facts, before the search; and for
counting the rules of further folds, after it."""
SHOWN_PREDICATES = 5
"""Predicates that a note names."""
HELD_OUT = "without part {}"
"""The name of the facts without a held-out part."""
NO_TRIAL = "chains of more than max_length steps were left out: there was no time to try them on held-out facts"
NO_FOLD = "fewer training facts than usual were held out for validation: no time was left"


def is_small(kb: KnowledgeBase) -> bool:
    """Return whether the base has few enough paths of two steps to be counted at once."""
    return num_paths(Graph.of(kb.crisp), 2)[-1] <= SMALL_BASE_PATHS


def least_confidence(kb: KnowledgeBase) -> float:
    """Return the default least confidence of a rule."""
    return SMALL_BASE_CONFIDENCE if is_small(kb) else LARGE_BASE_CONFIDENCE


class Learner:
    """Learner(config).fit(kb): rules for every target."""

    def __init__(self, config: LearnerConfig | None = None, **values: Any) -> None:
        """Use the settings of `config`, overridden by `values`, settings by name."""
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
            splits: its validation facts and given negatives are used; if it has few validation facts, parts of the
                training facts are held out instead (`hold_out`).
            progress: receives reports of progress.
            stop: ends the search early (default: after the configured time limit); the result is then partial.
            checkpoint: stores unfinished training, and the stages of counting that take long.
        """
        stop = stop or Stop(self.config.time_limit)
        config = self.config
        if config.min_confidence < 0:
            config = replace(config, min_confidence=least_confidence(kb))
        check_memory(config.memory, len(kb.facts))
        chosen = chosen_targets(kb, targets)
        kb = without_roles(kb, chosen, config.roles, config.joint)
        fit = Fit(config, kb, chosen, splits, progress, stop, checkpoint)
        return replace(fit.learn(), config=self.config)


def chosen_targets(kb: KnowledgeBase, targets: Sequence[str | Predicate] | None) -> tuple[Predicate, ...]:
    """Return the named `targets`, each once; None: every predicate of `kb` with facts."""
    if targets is None:
        found = [p for p, count in zip(kb.predicates, kb.predicate_counts) if count]
    else:
        found = [kb.predicate(t) if isinstance(t, str) else t for t in targets]
        for predicate in found:
            kb.predicate_id(predicate)
    if not found and kb.wide:
        raise NlilError("rules are made of facts of one and two arguments, and there are none; use: nlil program")
    if not found:
        raise NlilError("there is no predicate with facts to learn rules for; check the data with: nlil inspect")
    return tuple(dict.fromkeys(found))


def wide_notes(kb: KnowledgeBase) -> list[str]:
    """Return a note if `kb` has facts that rules do not use."""
    if not kb.wide:
        return []
    names = ", ".join(map(str, [*kb.wide][:SHOWN_PREDICATES]))
    more = f" and {len(kb.wide) - SHOWN_PREDICATES} more" if len(kb.wide) > SHOWN_PREDICATES else ""
    return [
        f"rules do not use the {count_wide(kb.wide):,} facts of three or more arguments ({names}{more}); "
        "nlil program does"
    ]


class Trial(NamedTuple):
    """The result of trying longer chains on the first held-out part.

    `options` have the length to use; `rules` were counted without that part, up to that length (None: no time was
    left); `notes` are for the user.
    """

    options: CountOptions
    rules: RuleSet | None
    notes: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class Fit:
    """One call of `Learner.fit`: the values that its stages share.

    `targets` are predicates; `checkpoint` stores unfinished work (None: nothing is stored).
    """

    config: LearnerConfig
    kb: KnowledgeBase
    targets: tuple[Predicate, ...]
    splits: Splits | None = None
    progress: Progress = silent
    stop: Stop = field(default_factory=Stop)
    checkpoint: Checkpoint | None = None

    @cached_property
    def ids(self) -> Ids:
        """The ids of the targets."""
        return np.array([self.kb.predicate_id(p) for p in self.targets], np.int32)

    @cached_property
    def trainable(self) -> Ids:
        """The targets that may be trained: on a large base, none or only unary ones."""
        config, size = self.config, len(self.kb.facts)
        if config.search == "neural" or not config.neural_facts or size <= config.neural_facts:
            return self.ids
        is_unary = np.array([p.arity == 1 for p in self.targets], bool)
        return self.ids[is_unary & (self.kb.graph_of is None) & (size <= UNARY_FACTS * config.neural_facts)]

    @cached_property
    def body(self) -> KnowledgeBase | None:
        """The facts that bodies may use, if the configuration restricts them; else None."""
        return body_facts(self.kb, self.config)

    @property
    def valid(self) -> Facts | None:
        """The given validation facts; None without splits."""
        return None if self.splits is None else self.splits.valid

    @cached_property
    def given(self) -> Facts:
        """The validation facts of the targets."""
        valid = Facts.empty() if self.valid is None else self.valid
        return valid[np.isin(valid.predicate, self.ids)]

    @cached_property
    def held_out(self) -> tuple[HeldOut, ...]:
        """Parts of the training facts to validate on, if few validation facts are given; none with search=neural.

        Training is not repeated without these facts.
        """
        if len(self.given) >= LEAST_GIVEN or self.config.search == "neural":
            return ()
        random = np.random.default_rng((self.config.seed, 11))
        return hold_out(self.kb, self.ids, self.config.hold_out, random)

    @property
    def elsewhere(self) -> Facts:
        """The facts of all other splits."""
        return Facts.empty() if self.splits is None else self.splits.valid + self.splits.test

    @cached_property
    def negatives(self) -> Facts:
        """The given false facts to learn from."""
        none = Facts.empty()
        return none if self.splits is None else self.splits.negatives.get("train", none)

    @cached_property
    def options(self) -> CountOptions:
        """The settings of the counting search."""
        config, length = self.config, self.config.tried_length
        # A small base is counted before a GPU, or torch, has started.
        device = "cpu" if config.device == "auto" and is_small(self.kb) else resolve_device(config.device)
        judges = self.held_out[0].facts if self.held_out else self.given
        tried = length if length > config.max_length and can_try(self.kb, judges) else 0
        return config.options(CountOptions, tried_length=tried, device=device, stop=self.stop)

    def learn(self) -> Learned:
        """Run all stages and return the result."""
        started = time.monotonic()
        return replace(self._learned(), seconds=time.monotonic() - started)

    def _learned(self) -> Learned:
        config, kb, stop = self.config, self.kb, self.stop
        if is_joint(kb, self.ids, config):
            rules = class_rules(kb, self.body, self.ids, config, self.progress, stop)
            return Learned(rules, config, self.targets, stop.cut)
        notes = wide_notes(kb)
        if self._wants_program():
            program = learn_programs(kb, self.targets, self.splits, stop)
            if program.rules is not None:
                rules = self._rule_set(self._recounted(program.rules, kb), kb, self.given)
                return self._result(rules, self._theory(rules, None), notes=program.notes)
            notes += program.notes
        trial = self._trial()
        counted: RuleSet | None = None
        if config.search != "neural":
            result = self._count(kb, self.options if trial is None else trial.options)
            counted = result.rules
            notes += result.notes
        found, more = self._trained(counted)
        notes += more
        trained = NeuralResult(RuleSet.empty(kb)) if found is None else found
        rules = self._rule_set(trained.rules if counted is None else counted, kb, self.given)
        validation, held_out = self._validation(rules, trial)
        notes += held_out
        if counted is not None and found is not None:
            rules, validation, training_notes = self._with_training(found, rules, validation)
            notes += training_notes
        if validation is not None and config.search != "neural":
            validation, more = self._judged(validation)
            notes += more
        quality = None
        if validation is not None:
            rules = validation.rules
            with suppress(Stopped):
                self._check_time()
                rules = replace(rules, calibration=calibrate(validation, *self._judging))
                quality = estimate(validation, *self._judging)
        theory = self._theory(rules, validation)
        if theory is not None:
            rules, theory = theory.joined(rules)
        history, attentions = trained.history, trained.attentions
        return self._result(rules, theory, notes=notes, history=history, attentions=attentions, estimate=quality)

    def _result(self, rules: RuleSet, theory: Theory | None, *, notes: Iterable[str], **rest: Any) -> Learned:
        """Return the result, with the reason for each target without rules; `rest` are other fields of it."""
        partial = self.stop.cut  # counting again to find reasons does not make the search partial
        missing = self._missing(rules, partial)
        return Learned(rules, self.config, self.targets, partial, missing, theory=theory, notes=tuple(notes), **rest)

    def _trained(self, counted: RuleSet | None) -> tuple[NeuralResult | None, list[str]]:
        """Train the targets that may be trained, after the `counted` rules; return also notes."""
        config, notes = self.config, list[str]()
        if config.search == "both" and len(self.trainable) < len(self.ids):
            what = f"{len(self.ids) - len(self.trainable):,} of {len(self.ids):,} targets"
            notes.append(
                f"training left out for {what}: {len(self.kb.facts):,} facts, more than neural_facts = "
                f"{config.neural_facts:,}; --set neural_facts=0 removes the limit, --set search=neural only trains"
            )
        if config.search == "count" or not len(self.trainable) or self.stop():
            return None, notes
        found = search_neural(
            self.kb, self.trainable, config, self.splits, counted, self.progress, self.stop, self.checkpoint
        )
        notes += found.notes
        if config.search == "neural" and (nothing := note_on_nothing(found.rules, self.ids, found.history, config)):
            notes.append(nothing)
        return found, notes

    def _wants_program(self) -> bool:
        """Return whether to search for a logic program: if requested, or if all targets have negatives."""
        task = self.config.task
        have = np.isin(self.ids, self.negatives.predicate).all() if len(self.negatives) else False
        return task == "program" or (task == "auto" and self.config.search == "both" and bool(have))

    @property
    def _judging(self) -> tuple[Facts, LearnerConfig, Progress, Stop]:
        """Return the arguments of `calibrate` and `estimate` after the rules."""
        return self.elsewhere, replace(self.config, device=self.options.device), self.progress, self.stop

    def _check_time(self) -> None:
        if self.stop():
            raise Stopped

    def _rule_set(self, rules: RuleSet, kb: KnowledgeBase, valid: Facts) -> RuleSet:
        """Return the rules with the exclusions that hold for all facts.

        They were counted on `kb`, which does not have the `valid` facts.
        """
        return replace(
            rules,
            requested=self.targets,
            aggregation=Aggregation(self.config.aggregation, self.config.aggregation_top),
            exclusions=self._exclusions(kb, valid),
        )

    def _joined(self, rules: RuleSet, others: RuleSet) -> RuleSet:
        """Return the best of both; a trained rule that repeats another one is dropped."""
        if not len(others):
            return rules
        joined = RuleSet.join([rules, others])
        if self.config.search == "both":
            is_new = np.arange(len(joined)) >= len(rules)
            joined = without_repeats(joined, is_new | joined.is_program)
        return self._best(joined)

    def _with_training(
        self, found: NeuralResult, counted: RuleSet, validation: Validation | None
    ) -> tuple[RuleSet, Validation | None, tuple[str, ...]]:
        """Return the `counted` rules with those of training, the `validation` with both, and notes on what it added."""
        after = None if validation is None else validation.changed(self._joining(found.rules, self.kb))
        rules = self._joined(counted, found.rules) if after is None else after.rules
        notes: tuple[str, ...] = ()
        with suppress(Stopped):
            self._check_time()
            notes = training_notes(found, rules, counted, validation, after, *self._judging)
        return rules, after, notes

    def _joining(self, found: RuleSet, kb: KnowledgeBase) -> Callable[[RuleSet, KnowledgeBase], RuleSet]:
        """Return the change that joins the rules `found`, which were counted on `kb`."""
        return lambda rules, base: self._joined(rules, found if base is kb else self._recounted(found, base))

    def _trial(self) -> Trial | None:
        """Try longer chains without the first held-out part, before counting all facts: they are costly to count.

        Returns None if they are not tried, or are tried on given facts (see `_judged`).
        """
        if not self.held_out or not self.options.tried_length:
            return None
        part, stop, least = self.held_out[0], self.stop.part(TRIAL_TIME), self.config.max_length
        counted = self._count(part.kb, replace(self.options, stop=stop), HELD_OUT.format(0))
        if stop():
            return Trial(replace(self.options, tried_length=0), None, (NO_TRIAL,))
        fold = Fold(part.kb, self._rule_set(counted.rules, part.kb, part.facts), part.facts, part.facts + self.given)
        alone = Validation(fold.kb, fold.rules, (fold,))
        length, notes = best_length(alone, least, replace(self.options, stop=stop), self.progress)
        tried = length if length > least else 0
        return Trial(replace(self.options, tried_length=tried), up_to(counted.rules, length), notes)

    def _count(self, kb: KnowledgeBase, options: CountOptions, name: str = "all facts") -> Counted:
        """Run the counting search on the facts of `kb`, called `name`; keep the best rules of each target."""
        if self.checkpoint is not None:
            about = f"{name} {options.max_length} {options.tried_length} {options.memory}"
            options = replace(options, stages=CountedStages(self.checkpoint, about, self.stop))
        if len(self.negatives):
            # Confidence against given negatives differs: accept every supported body, then recount.
            options = replace(options, min_confidence=0.0)
        body = self.body if kb is self.kb else body_facts(kb, self.config)
        counted = count_rules(kb, self.ids, options, body, self.progress)
        rules = self._against_negatives(counted.rules, kb) if len(self.negatives) else counted.rules
        if not rules.support.all():
            rules = rules.take(rules.support > 0)  # the prior of a target without facts explains nothing
        return replace(counted, rules=self._best(rules))

    def _against_negatives(self, rules: RuleSet, kb: KnowledgeBase) -> RuleSet:
        """Recount every rule against the given negatives, and keep the rules with enough confidence."""
        config, parts = self.config, [rules.take(np.zeros(len(rules), bool))]
        for begin in range(0, len(rules), RECOUNTED_RULES):
            if self.stop():
                break
            some = rules.take(np.arange(begin, min(begin + RECOUNTED_RULES, len(rules))))
            parts.append(self._recounted(some, kb))
        found = replace(RuleSet.join(parts), weight=None)  # the smoothed confidence, unrounded
        return found.take((found.support >= config.min_support) & (found.confidence >= config.min_confidence))

    def _recounted(self, rules: RuleSet, kb: KnowledgeBase) -> RuleSet:
        """Return the rules with statistics counted on `kb`."""
        config = self.config
        return count_statistics(rules, kb, self.negatives, config.threads, config.memory, self.progress)

    def _best(self, rules: RuleSet) -> RuleSet:
        """Return the `top_rules` best rules of each target, in the order of the set."""
        return preferred(rules, self.ids, self.config.top_rules)

    def _exclusions(self, kb: KnowledgeBase, valid: Facts) -> tuple[Exclusion, ...]:
        config = self.config
        if not config.exclusions or config.search == "neural":
            return ()
        return find_exclusions(kb, self.ids.tolist(), valid, allowed=allowed_predicates(kb, config), stop=self.stop)

    def _validation(self, rules: RuleSet, trial: Trial | None) -> tuple[Validation | None, tuple[str, ...]]:
        """Return the rules with their validation folds, and notes; None if there are no facts to validate on.

        `rules` were counted on all training facts, those of `trial` without the first held-out part.
        """
        kb, notes = self.kb, () if trial is None else trial.notes
        folds = [Fold(kb, rules, self.given, self.given)] if len(self.given) else []
        num_held_out = 0
        for number, part in enumerate(self.held_out):
            counted = trial.rules if trial is not None and number == 0 else None
            if counted is None:
                if self.stop():
                    notes += (NO_FOLD,)
                    break
                stop = self.stop.part(FOLD_TIME)
                options = replace(self.options if trial is None else trial.options, stop=stop)
                counted = self._count(part.kb, options, HELD_OUT.format(number)).rules
                if stop():
                    notes += (NO_FOLD,)
                    break
            own = self._rule_set(counted, part.kb, part.facts + self.given)
            folds.append(Fold(part.kb, own, part.facts, part.facts + self.given))
            num_held_out += len(part.facts)
        if num_held_out:
            given = f"only {len(self.given):,}" if len(self.given) else "no"
            notes += (
                f"{given} validation facts, so {num_held_out:,} training facts were held out for validation; the "
                "final rules were counted on all training facts",
            )
        return Validation(kb, rules, tuple(folds), num_held_out) if folds else None, notes

    def _judged(self, validation: Validation) -> tuple[Validation, list[str]]:
        """Apply the decisions on validation facts (lengths, conjunctions, residuals, weights); return it with notes."""
        config, notes = self.config, list[str]()
        if self.options.tried_length and not self.held_out:
            length, more = best_length(validation, config.max_length, self.options, self.progress)
            validation = validation.changed(lambda rules, _: up_to(rules, length))
            notes += more
        if config.conjunctions and not len(self.negatives):
            judge = validation.largest
            body = body_facts(judge.kb, config)
            found, more = helpful_conjunctions(judge, self.ids, config.conjunctions, self.options, body, self.progress)
            notes += more
            if len(found):
                validation = validation.changed(self._joining(found, judge.kb))
        if config.residuals and not len(self.negatives) and not self.stop():
            judge = validation.largest
            found, more = residual_rules(judge, self.ids, config, self.progress, self.stop)
            notes += more
            if len(found):
                validation = validation.changed(self._joining(found, judge.kb))
        # The gates were chosen on crisp facts; whether they help with soft ones has not been measured.
        if config.weigh and self.kb.facts.weight is None and not self.stop():
            budget = config.threads, config.memory, self.progress, self.stop
            weighed = fit_weighing(validation, config.seed, *budget)
            validation = validation.changed(lambda rules, _: replace(rules, aggregation=weighed))
        return validation, notes

    def _theory(self, rules: RuleSet, validation: Validation | None) -> Theory | None:
        """Choose a few rules for each target; with few validation facts, measured on held-out facts."""
        config = self.config
        if not config.rules_per_target or not len(rules) or self.stop():
            return None
        from ..theory.build import Judges, make_theory

        budget: dict[str, Any] = {"seed": config.seed, "threads": config.threads, "memory": config.memory}
        common: dict[str, Any] = {"size": config.rules_per_target, "progress": self.progress, "stop": self.stop}
        protocol: dict[str, Any] = {"elsewhere": self.elsewhere, "calibrate": self._meaning}
        fold = None if validation is None else validation.largest
        if fold is None or fold.kb is self.kb:
            common |= budget | protocol
            return make_theory(rules, self.kb, valid=self.given, author=config.theory_author, **common)
        judges = Judges(fold.facts, fold.known, fold.kb)
        judged = make_theory(
            fold.rules, fold.kb, author=config.theory_author, judges=judges, **common, **budget, **protocol
        )
        theory = make_theory(rules, self.kb, valid=self.given, author=judged.authors, **common, **budget)
        return replace(theory, aggregation=judged.aggregation, scores=judged.scores, calibration=judged.calibration)

    def _meaning(self, rules: RuleSet, judges: Judges) -> Calibration | None:
        """Fit the calibration of a theory, on facts that were not used to choose its rules."""
        fold = Fold(judges.kb, rules, judges.facts, judges.known)
        return calibrate(Validation(judges.kb, rules, (fold,)), *self._judging)

    def _missing(self, rules: RuleSet, partial: bool) -> dict[str, str]:
        """Return the reason for each target without rules."""
        explained = np.bincount(rules.head, minlength=self.kb.num_predicates) > 0
        unexplained = self.ids[~explained[self.ids]].tolist()
        second_look = None if len(self.negatives) else self.options
        return missing_reasons(self.kb, unexplained, self.config, partial, second_look, self.body)
