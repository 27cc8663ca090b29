"""The neural search as a learner uses it: which targets, with what vocabulary, which of its rules are kept."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Doubles, Ids
from ..data.facts import Facts, Splits
from ..data.kb import KnowledgeBase
from ..kernel.bodies import NO_STEP, Bodies
from ..kernel.device import resolve_device
from ..kernel.ruleset import NO_ENTITY, RuleSet
from ..progress import Progress, Stop
from ..search.count import prior_rules
from .checkpoint import Checkpoint
from .reasons import allowed_predicates

EXPLAINED_SHARE = 0.9
"""A target is left to counting when it has a counted rule of this F1, or rules of this confidence that together
support this share of its facts."""
LEAST_SHARE = 0.1
"""Of the target's facts: a rule that supports less says little of why the target holds."""
HINT_RULES = 50
"""Best counted rules of a target whose predicates the neural search starts from."""


class Found(NamedTuple):
    """What training brings."""

    rules: RuleSet  # with statistics
    history: tuple[dict[str, Any], ...] = ()  # of training, by target and epoch
    attentions: Mapping[str, np.ndarray] = MappingProxyType({})  # of the best restart of each target


def search_neural(
    kb: KnowledgeBase,
    targets: Ids,
    config: LearnerConfig,
    splits: Splits | None,
    counted: RuleSet | None,
    progress: Progress,
    stop: Stop,
    checkpoint: Checkpoint | None,
) -> Found:
    """Train for the targets; after counting, only for those it leaves unexplained, starting from what it found.

    Args:
        kb: the training facts.
        targets: predicates to find rules for.
        config: the settings.
        splits: validation facts and given negatives, where there are any.
        counted: what counting found; None where nothing was counted.
        progress: told how far training and counting are.
        stop: ends the search early.
        checkpoint: keeps unfinished training.
    """
    hints = {}
    if counted is not None:
        targets = unexplained(counted, targets, config.neural_targets)
        hints = {int(t): _hint(counted, int(t), kb.num_codes) for t in targets}
    if not len(targets):
        return Found(RuleSet.empty(kb))
    config = replace(
        config,
        device=resolve_device(config.device),
        neural_constants=config.neural_constants if config.constants else 0,
    )
    from ..neural.search import neural_rules  # imports torch

    allowed = allowed_predicates(kb, config)
    negatives = splits.negatives.get("train", Facts.empty()) if splits is not None else None
    valid = None if splits is None else splits.valid
    rules, (attentions, history) = neural_rules(
        kb, targets.tolist(), config, allowed, negatives, valid, progress, stop, checkpoint, hints
    )
    if counted is not None:
        rules = _new(rules, counted)
    else:
        rules = _preferred(rules, targets, config.top_rules)
        if config.priors:
            rules = RuleSet.join([rules, prior_rules(kb, targets, config.min_support)])
    return Found(rules, tuple(history), attentions)


def unexplained(counted: RuleSet, targets: Ids, most: int) -> Ids:
    """Targets whose best counted rule misses much of them; of more than `most` (0: any number) the largest."""
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


def _hint(counted: RuleSet, target: int, num_codes: int) -> np.ndarray:
    """The share of each step code in the best counted rules of the target, weighted by confidence."""
    mine = np.flatnonzero((counted.head == target) & ~counted.is_program)
    best = mine[np.argsort(-counted.weights[mine], kind="stable")[:HINT_RULES]]
    steps = counted.bodies.lines.steps[counted.line[best]].astype(np.int64)
    weight = np.broadcast_to(counted.weights[best][:, None], steps.shape)
    real = steps != NO_STEP
    share = np.bincount(steps[real], weights=weight[real], minlength=num_codes)
    return share / max(share.sum(), 1e-9)


def _preferred(rules: RuleSet, targets: Ids, most: int) -> RuleSet:
    """The `most` rules of each target (0: all), by F1: of what was tried on validation facts the best order."""
    if not most:
        return rules
    f1 = rule_f1(rules)
    order = rules.order()
    keep: list[int] = []
    for target in targets:
        mine = order[rules.head[order] == target]
        by_f1 = mine[np.argsort(-f1[mine], kind="stable")].tolist()
        if rules.predicates[target].arity == 1 and by_f1:
            by_f1.insert(0, min(by_f1))  # judged by its fixpoint where it is recursive
        keep += list(dict.fromkeys(by_f1))[:most]
    return rules.take(np.sort(np.array(keep, np.int64)))


def rule_f1(rules: RuleSet) -> Doubles:
    """Of each rule's answers against the target's facts."""
    return 2 * rules.support / np.maximum(rules.body_size.astype(np.int64) + rules.head_size, 1)


def _new(rules: RuleSet, counted: RuleSet) -> RuleSet:
    """The rules that counting has not found already."""
    near = counted.take(np.isin(counted.head, np.unique(rules.head)) & (counted.head_entity == NO_ENTITY))
    _, (old, new) = Bodies.join([near.bodies, rules.bodies])
    known = set(zip(near.head.tolist(), old[near.body].tolist()))
    is_new = [pair not in known for pair in zip(rules.head.tolist(), new[rules.body].tolist())]
    return rules.take(np.array(is_new, bool) | (rules.head_entity != NO_ENTITY))
