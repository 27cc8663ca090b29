"""The neural search as the learner uses it: for which targets, with which hints, and which of its rules are kept."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from time import monotonic
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Ids
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..kernel.bodies import NO_STEP
from ..kernel.device import resolve_device
from ..kernel.ruleset import NO_ENTITY, RuleSet
from ..progress import Progress, Stop, silent
from ..search.count import prior_rules
from .checkpoint import Checkpoint
from .missing_rules import allowed_predicates
from .preference import preferred, rule_f1

if TYPE_CHECKING:
    from ..neural.search import Training
    from ..neural.vocabulary import Hints

EXPLAINED_SHARE = 0.9
"""A target is not trained if it has a counted rule of this F1, or rules of this confidence that together support this
share of its facts."""
LEAST_SHARE = 0.1
"""Least share of the target's facts that a rule must support to explain it."""
SHOWN_TARGETS = 3
"""Targets listed in a note."""
MOST_DEAD_SHOWN = 10
"""Rules with dead parts listed in notes."""
HINT_RULES = 50
"""Best counted rules of a target whose predicates the neural search starts from."""


class NeuralResult(NamedTuple):
    """The result of training.

    `rules` have statistics; `targets` were trained, in so many `seconds`; `history` has a record per target and epoch;
    `attentions` are those of the best restart of each target, by name; `notes` point out dead parts of rules.
    """

    rules: RuleSet
    targets: Ids = np.zeros(0, np.int32)
    seconds: float = 0.0
    history: tuple[dict[str, Any], ...] = ()
    attentions: Mapping[str, np.ndarray] = MappingProxyType({})
    notes: tuple[str, ...] = ()


def search_neural(
    kb: KnowledgeBase,
    targets: Ids,
    config: LearnerConfig,
    splits: Splits | None,
    counted: RuleSet | None,
    progress: Progress,
    stop: Stop,
    checkpoint: Checkpoint | None,
) -> NeuralResult:
    """Train for the targets; after counting, only for those that counted rules do not explain, with these as hints.

    Args:
        kb: the training facts.
        targets: predicates to find rules for.
        config: the settings.
        splits: validation facts and given negatives, if any.
        counted: the counted rules; None if nothing was counted.
        progress: receives reports of progress.
        stop: ends the search early.
        checkpoint: stores unfinished training.
    """
    hints, started = {}, monotonic()
    if counted is not None:
        targets = unexplained(counted, targets, config.neural_targets)
        hints = {int(t): hint_of(counted, int(t), kb.num_codes) for t in targets}
    if not len(targets):
        return NeuralResult(RuleSet.empty(kb))
    training = train(kb, targets, config, splits, hints, progress, stop, checkpoint)
    rules = training.rules(config, progress, stop)
    if counted is None:
        rules = preferred(rules, targets, config.top_rules, first_explains=True)
        if config.priors:
            rules = RuleSet.join([rules, prior_rules(kb, targets, config.min_support)])
    notes = () if config.select else dead_part_notes(rules, kb, config)
    seconds = monotonic() - started
    return NeuralResult(rules, targets, seconds, tuple(training.history), training.attentions, notes)


def dead_part_notes(rules: RuleSet, kb: KnowledgeBase, config: LearnerConfig) -> tuple[str, ...]:
    """Return notes on the parts of trained `rules` that change no count, if `config` keeps such parts.

    Args:
        rules: the trained rules.
        kb: the training facts.
        config: the settings.
    """
    from ..kernel.evaluator import Evaluator  # imports torch
    from ..logic.text import formula_text
    from ..neural.select import WALK_SHARE, Judge

    judge = Judge(Evaluator(kb, memory=config.memory // WALK_SHARE))
    found = []
    for scored in rules:
        if parts := [formula_text(part, scored.rule.distinct) for part, _ in judge.dead_parts(scored)]:
            found.append(f"dead part, which changes no count: {' ; '.join(dict.fromkeys(parts))} in {scored.rule}")
    more = len(found) - MOST_DEAD_SHOWN
    return (*found[:MOST_DEAD_SHOWN], *([f"{more:,} more rules have dead parts"] if more > 0 else []))


def train(
    kb: KnowledgeBase,
    targets: Ids,
    config: LearnerConfig,
    splits: Splits | None = None,
    hints: Hints | None = None,
    progress: Progress = silent,
    stop: Stop | None = None,
    checkpoint: Checkpoint | None = None,
) -> Training:
    """Run the neural search with these settings and return its result, before rules are counted.

    `hints` come from counted rules (None: no hints); `checkpoint` stores unfinished training (None: nothing is stored).
    """
    from ..neural.search import train_targets  # imports torch

    config = replace(
        config,
        device=resolve_device(config.device),
        neural_constants=config.neural_constants if config.constants else 0,
    )
    allowed = allowed_predicates(kb, config)
    negatives = splits.negatives.get("train", Facts.empty()) if splits is not None else None
    valid = None if splits is None else splits.valid
    return train_targets(kb, targets.tolist(), config, allowed, negatives, valid, progress, stop, checkpoint, hints)


def unexplained(counted: RuleSet, targets: Ids, most: int) -> Ids:
    """Return the `targets` that the `counted` rules do not explain well: the `most` largest (0: all)."""
    f1 = rule_f1(counted)
    # A head with a constant explains only its own part of the target.
    whole = counted.head_entity == NO_ENTITY
    sure = whole & (counted.confidence >= EXPLAINED_SHARE) & (counted.support >= LEAST_SHARE * counted.head_size)
    best, size, covered = np.zeros((3, len(counted.predicates)))
    np.maximum.at(best, counted.head[whole], f1[whole])
    np.maximum.at(size, counted.head, counted.head_size)
    np.add.at(covered, counted.head[sure], counted.support[sure])
    left = [t for t in targets if best[t] < EXPLAINED_SHARE and covered[t] < EXPLAINED_SHARE * size[t]]
    left.sort(key=lambda t: (-size[t], t))
    return np.array(sorted(left[:most] if most else left), np.int32)


def hint_of(counted: RuleSet, target: int, num_codes: int) -> np.ndarray:
    """Return the share of each of `num_codes` step codes in the best `counted` rules of `target`, by confidence."""
    rows = np.flatnonzero((counted.head == target) & ~counted.is_program)
    best = rows[np.argsort(-counted.weights[rows], kind="stable")[:HINT_RULES]]
    steps = counted.bodies.lines.steps[counted.line[best]].astype(np.int64)
    weight = np.broadcast_to(counted.weights[best][:, None], steps.shape)
    real = steps != NO_STEP
    share = np.bincount(steps[real], weights=weight[real], minlength=num_codes)
    return share / max(share.sum(), 1e-9)


def note_on_nothing(rules: RuleSet, targets: Ids, history: Sequence[Mapping[str, Any]], config: LearnerConfig) -> str:
    """Return a note on the trained targets without a rule, or an empty string.

    Args:
        rules: the trained rules.
        targets: the predicates that were trained.
        history: the records of training, with the F1 on validation queries.
        config: the settings.
    """
    has_rule = np.bincount(rules.head[~rules.is_prior], minlength=len(rules.predicates)) > 0
    best = {record["target"]: float(record["valid_f1"]) for record in history}
    without = [name for t in targets if not has_rule[t] and (name := str(rules.predicates[t])) in best]
    if not without:
        return ""
    shown = ", ".join(without[:SHOWN_TARGETS]) + (", ..." if len(without) > SHOWN_TARGETS else "")
    reached = max(best[name] for name in without)
    return (
        f"training found no rule for {len(without):,} of {len(best):,} targets ({shown}): it reached F1 up to "
        f"{reached:.2f} on validation queries, but counted on all facts, no extracted rule explains "
        f"{config.min_support} of them with confidence {config.min_confidence:g}; lower min_confidence or min_support, "
        "or train with more restarts or epochs"
    )
