"""Chains longer than `max_length`: found on the training facts, kept if they raise the score on validation facts."""

from __future__ import annotations

import time

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.plan import RowsByShape, Shapes
from ..evaluation.ranking import Ranker
from ..evaluation.settling import SHORT_STEPS
from ..kernel.bodies import unary_mask
from ..kernel.graph import Graph
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, Stopped, silent
from ..search.options import CountOptions
from .gates import LENGTHS
from .validation import Fold, Validation, is_judged

SPARE_FACTS = 4
"""Under a time limit, rank every n-th fact if all of them would take too long."""


def can_try(kb: KnowledgeBase, facts: Facts) -> bool:
    """Return whether the validation `facts` suffice. Soft facts are excluded: the gain there has not been measured."""
    return kb.facts.weight is None and int((~facts.is_unary).sum()) >= LENGTHS.least_facts


def best_length(
    validation: Validation, least: int, options: CountOptions, progress: Progress = silent
) -> tuple[int, tuple[str, ...]]:
    """Return the greatest length of lines to keep (see `up_to`), and a note if longer ones are left out.

    Lines of up to `least` steps are kept. Longer ones are kept up to the length that ranks the facts of `validation`
    best, if the gain is more than chance. They are dropped if no time is left. `options` are those of the search.
    """
    sets = {id(rules): rules for rules in (validation.rules, *(f.rules for f in validation.folds))}.values()
    if all(body_lengths(rules).max(initial=0) <= least for rules in sets):  # bodies are few, rules may be millions
        return least, ()
    found = np.unique(np.concatenate([np.flatnonzero(np.bincount(line_lengths(rules))) for rules in sets]))
    lengths = [least, *found[found > least].tolist()]
    if len(lengths) == 1:
        return least, ()

    def wanted(fold: Fold) -> Mask:
        length = line_lengths(fold.rules)
        return is_judged(fold) & np.isin(fold.facts.predicate, np.unique(fold.rules.head[length > least]))

    folds = validation.drawn(LENGTHS.most_facts, np.random.default_rng((options.seed, 7)), wanted)
    ranked = [_reciprocal_ranks(fold, lengths, len(folds), options, progress) for fold in folds]
    is_told = bool(ranked) and all(ranked)
    reciprocal = [np.concatenate(of_length) for of_length in zip(*ranked)] if is_told else [np.zeros(1)]
    best = int(np.argmax([r.mean() for r in reciprocal]))
    if not LENGTHS.passes(reciprocal[best] - reciprocal[0]):
        best = 0
    if best == len(lengths) - 1:
        return lengths[best], ()
    why = "they do not improve the ranks of validation facts" if is_told or not ranked else "no time was left"
    return lengths[best], (f"chains of more than {lengths[best]} steps were tried and left out: {why}",)


def line_lengths(rules: RuleSet) -> Longs:
    """Return the number of steps of each rule whose body is a line; 0 for longer programs."""
    of_body = body_lengths(rules)
    return of_body[rules.body] if len(of_body) else np.zeros(len(rules), np.int64)


def body_lengths(rules: RuleSet) -> Longs:
    """Return the same for each body of `rules`."""
    return np.where(rules.bodies.line < 0, 0, rules.bodies.lengths(unary_mask(rules.predicates)))


def up_to(rules: RuleSet, length: int) -> RuleSet:
    """Return the rules without lines of more than `length` steps."""
    if body_lengths(rules).max(initial=0) <= length:
        return rules
    keep = line_lengths(rules) <= length
    return rules if keep.all() else rules.take(keep)


def _reciprocal_ranks(
    fold: Fold, lengths: list[int], num_folds: int, options: CountOptions, progress: Progress
) -> list[np.ndarray]:
    """Return 1 / rank of every query with lines up to each of the `lengths`; [] if no time is left.

    Starts with the greatest length: most ranks do not depend on long chains and need not be computed again.
    """
    kb, rules, facts, length = fold.kb, fold.rules, fold.facts, line_lengths(fold.rules)
    others = RowsByShape.of(rules, Shapes.of(rules.bodies, Graph.of(kb.crisp))).rest
    can_tell = lengths[0] >= SHORT_STEPS and not (length[others] > SHORT_STEPS).any()  # `walked` covers chains only
    known, found = fold.known, list[np.ndarray]()
    again = np.ones(len(facts), bool)
    for done, most in enumerate(reversed(lengths)):
        if options.stop is not None and options.stop():
            return []
        ranker = Ranker(rules.take(length <= most), kb, options.threads, options.memory, stop=options.stop)
        try:
            if not done:
                facts = _in_time(ranker, facts, known, len(lengths) * num_folds, options.stop)
                again = np.ones(len(facts), bool)
            reciprocal, walked = _ranked(ranker, facts[again], known)
        except Stopped:
            return []
        found.append(found[-1].copy() if found else np.zeros((len(facts), 2)))
        found[-1][again] = reciprocal
        if not done and can_tell:
            again = walked
        progress("lengths", done + 1, len(lengths))
    return [ranks.ravel() for ranks in reversed(found)]


def _ranked(ranker: Ranker, facts: Facts, known: Facts) -> tuple[np.ndarray, Mask]:
    """Return 1 / rank (facts, directions), and which facts have a rank that long chains can change."""
    ranks = ranker.rank(facts, known)
    order = np.lexsort((ranks.direction, ranks.fact))
    walked = np.broadcast_to(ranks.walked, len(order))[order].reshape(-1, 2).max(axis=1, initial=0) > 0
    return (1 / ranks.realistic[order]).reshape(-1, 2), np.asarray(walked)


def _in_time(ranker: Ranker, facts: Facts, known: Facts, times: int, stop: Stop | None) -> Facts:
    """Return all facts, or a part if ranking all would take most of the time left, which weighing needs."""
    if stop is None or not stop.is_timed:
        return facts
    few = facts[::SPARE_FACTS]
    began = time.monotonic()
    _ranked(ranker, few, known)
    if SPARE_FACTS * times * (time.monotonic() - began) <= LENGTHS.most_time * stop.left:
        return facts
    stop.cut = True
    return few
