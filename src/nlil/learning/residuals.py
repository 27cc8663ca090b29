"""Training on residuals: rules for the validation facts that the current rules rank badly.

Half of the validation facts of a target are for training, the other half decides what is kept. Bodies use the training
facts and are counted on them like all others, by walks from the known side, so neither the number of facts nor that of
entities is limited. The effort is fixed numbers of targets, restarts, epochs and candidates, whatever the base.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Doubles, Ids
from ..data.facts import Facts
from ..evaluation.ranking import Ranker
from ..kernel.device import resolve_device
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from .conjunctions import CandidateEvidence, helpful_rules
from .gates import RESIDUALS
from .missing_rules import allowed_predicates
from .neural import hint_of
from .preference import without_repeats
from .validation import Fold

RANKED_FACTS = 5_000
"""Limit of the validation facts that are ranked to find those with a bad rank."""
BAD_RANK = 0.75
"""A rank is bad if the mean of 1 / rank over both directions is at most this: one of them is second at best."""
LEAST_BAD = 10
"""A target is trained only if it has this many badly ranked facts."""
RESTARTS, EPOCHS, CANDIDATES = 8, 30, 60
"""Limits of training and of the rules that are counted; smaller settings apply."""
MOST_TRIED = 40
"""Rules per target that are judged on validation facts, most confident first."""


def residual_rules(
    fold: Fold, targets: Ids, config: LearnerConfig, progress: Progress = silent, stop: Stop | None = None
) -> tuple[RuleSet, tuple[str, ...]]:
    """Return rules to add to those of a fold, counted on its base, and notes on what was tried.

    Args:
        fold: its facts are for training and judging; bodies use its base.
        targets: predicates to find rules for.
        config: the settings; `residuals` is the number of targets, those that lose most first.
        progress: receives reports of progress.
        stop: ends the work early.
    """
    kb, rules, none = fold.kb, fold.rules, RuleSet.empty(fold.kb)
    if kb.facts.weight is not None or kb.graph_of is not None or not rules.aggregation.adds:
        return none, ()
    random = np.random.default_rng((config.seed, 12))
    facts = fold.facts[~fold.facts.is_unary & np.isin(fold.facts.predicate, targets)]
    facts = facts[np.sort(random.permutation(len(facts))[:RANKED_FACTS])]
    if not len(facts):
        return none, ()
    ranker = Ranker(rules, kb, config.threads, config.memory)
    score = reciprocal(ranker, facts, fold.known)
    is_bad, trains = score <= BAD_RANK, random.permutation(len(facts)) % 2 == 0
    worst = losing_targets(facts, score, is_bad & trains, ~trains, config.residuals)
    if not worst:
        return none, (f"residuals: no target has {LEAST_BAD} badly ranked validation facts to train on",)
    found = _trained(fold, facts[is_bad & trains], worst, config, progress, stop)
    found = _new(rules, found)
    parts, gains, most = [none], [np.zeros(0)], _facts_in_memory(ranker)
    for target in worst:
        tried = found.take(found.head == target)
        tried = tried.take(np.lexsort((np.arange(len(tried)), -tried.weights))[:MOST_TRIED])
        if not len(tried) or (stop is not None and stop()):
            continue
        own = np.random.default_rng((config.seed, 13, target))
        judges = RESIDUALS.drawn(facts[~trains & (facts.predicate == target)], own)
        evidence = CandidateEvidence.of(ranker, target, judges[:most], fold.known)
        rows, gain = helpful_rules(evidence, tried, own)
        parts.append(replace(tried.take(rows), weight=None))
        gains.append(gain)
    joined, gain = RuleSet.join(parts), np.concatenate(gains)
    is_kept = RESIDUALS.passes(gain)
    names = ", ".join(str(kb.predicates[t]) for t in worst)
    what = f"{len(joined)} joined the rules" if is_kept else "none helped other validation facts beyond chance"
    change = f"MRR {gain.mean():+.4f}" if len(gain) else "nothing to compare"
    note = f"residuals: trained on badly ranked validation facts of {names}: {len(found)} new rules, {what} ({change})"
    return joined if is_kept else none, (note,)


def reciprocal(ranker: Ranker, facts: Facts, known: Facts) -> Doubles:
    """Return for each of `facts` the mean 1 / rank over both directions by `ranker`; `known` facts do not compete."""
    ranks = ranker.rank(facts, known)
    return np.asarray(np.bincount(ranks.fact, 1.0 / ranks.realistic, len(facts)) / 2)


def losing_targets(facts: Facts, score: Doubles, can_train: np.ndarray, can_judge: np.ndarray, most: int) -> list[int]:
    """Return the targets that lose most, among those with enough facts to train and to judge.

    Args:
        facts: the ranked facts.
        score: 1 / rank of each.
        can_train: which facts can be trained on.
        can_judge: which facts judge.
        most: the number of targets.
    """
    size = int(facts.predicate.max(initial=-1)) + 1
    lost = np.bincount(facts.predicate, 1.0 - score, size)
    bad, judges = (np.bincount(facts.predicate[some], minlength=size) for some in (can_train, can_judge))
    enough = np.flatnonzero((bad >= LEAST_BAD) & (judges >= RESIDUALS.least_facts))
    return [int(t) for t in enough[np.lexsort((enough, -lost[enough]))][:most]]


def _trained(
    fold: Fold, positives: Facts, targets: list[int], config: LearnerConfig, progress: Progress, stop: Stop | None
) -> RuleSet:
    """Return the rules that training finds for these facts, counted on the base of the fold."""
    from ..neural.search import train_targets  # imports torch

    config = replace(
        config,
        device=resolve_device(config.device),
        restarts=min(config.restarts, RESTARTS),
        epochs=min(config.epochs, EPOCHS),
        neural_candidates=min(config.neural_candidates, CANDIDATES),
        neural_constants=config.neural_constants if config.constants else 0,
        refine=False,
    )
    hints = {t: hint_of(fold.rules, t, fold.kb.num_codes) for t in targets}
    allowed = allowed_predicates(fold.kb, config)
    training = train_targets(
        fold.kb, targets, config, allowed, progress=progress, stop=stop, hints=hints, positives=positives
    )
    return training.rules(config, progress, stop)


def _new(rules: RuleSet, found: RuleSet) -> RuleSet:
    """Return those of the rules found that differ from the current ones."""
    some = rules.take(np.isin(rules.head, np.unique(found.head)))
    joined = RuleSet.join([some.compact(), found])
    is_new = np.arange(len(joined)) >= len(some)
    columns = (joined.head, joined.head_entity, joined.support, joined.body_size)
    _, same = np.unique(np.stack([c.astype(np.int64) for c in columns], 1), axis=0, return_inverse=True)
    near = np.isin(same, same[is_new])  # only rules with equal counts can be equal
    joined, is_new = joined.take(near), is_new[near]
    kept = without_repeats(replace(joined, weight=joined.weights.astype(np.float32)), is_new)
    return kept.take(np.arange(len(kept)) >= int(np.count_nonzero(~is_new)))


def _facts_in_memory(ranker: Ranker) -> int:
    """Return for how many facts the evidence of all candidates fits into half of the memory."""
    bytes_of_fact = 2 * ranker.kb.num_entities * (8 * (2 + ranker.top) * 2 + 1)
    return max(1, ranker.memory // 2 // bytes_of_fact)
