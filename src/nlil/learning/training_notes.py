"""What training added to the counted rules, as notes for the user: how many rules, what they gain, and the time."""

from __future__ import annotations

import numpy as np

from ..config import LearnerConfig
from ..data.arrays import Ids, Mask
from ..data.facts import Facts
from ..kernel.ruleset import RuleSet
from ..logic.figures import number, plural
from ..progress import Progress, Stop, silent
from .estimates import MOST_FACTS, Quality, measure
from .neural import SHOWN_TARGETS, NeuralResult
from .validation import Fold, Validation

UNARY_FIGURES = ("r@1", "f1")
"""The figure of unary targets that a note quotes: the first that there is."""
STANDARD_ERRORS = 2.0
"""A gain in MRR below this many standard errors of its mean may be chance."""


def training_notes(
    found: NeuralResult,
    rules: RuleSet,
    counted: RuleSet,
    before: Validation | None,
    after: Validation | None,
    elsewhere: Facts,
    config: LearnerConfig,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> tuple[str, ...]:
    """Return a note on what the rules of training add to the counted ones on validation facts.

    Args:
        found: the result of training.
        rules: the counted rules and those of training, or the best of both.
        counted: the counted rules.
        before: the counted rules with their folds; None: there are no facts to validate on.
        after: the same with the rules of training.
        elsewhere: facts of other splits.
        config: seed, threads, memory and device.
        progress: receives reports of progress.
        stop: raises Stopped.
    """
    if not len(found.targets):
        return ("training: no target needs it, the counted rules explain all of them",)
    names = [str(found.rules.predicates[t]) for t in found.targets[:SHOWN_TARGETS].tolist()]
    more = f" and {len(found.targets) - len(names):,} more" if len(found.targets) > len(names) else ""
    work = f"training of {', '.join(names)}{more}, {found.seconds:.1f} s"
    joined = num_new(rules, counted, found.targets, config.top_rules)
    if not joined:
        return (f"{work}: it found no rule that counting had not found",)
    added = plural(joined, "new rule")
    if before is None or after is None:
        return (f"{work}: {added}; the gain was not measured, for lack of validation facts",)

    def is_trained(fold: Fold) -> Mask:
        return np.isin(fold.facts.predicate, found.targets)

    old, new = (
        measure(
            one.drawn(MOST_FACTS, np.random.default_rng((config.seed, 14)), is_trained),
            elsewhere,
            config,
            progress,
            stop,
        )
        for one in (before, after)
    )
    gains = gain_texts(old, new)
    if not gains:
        return (f"{work}: {added}; the gain was not measured, for lack of validation facts of these targets",)
    seen = " (training has seen some of these facts)" if before.num_held_out else ""
    return (f"{work}: {added}; validation facts{seen}: {', '.join(gains)}",)


def num_new(rules: RuleSet, counted: RuleSet, targets: Ids, top_rules: int) -> int:
    """Return how many of the `rules` of the trained `targets` are not among the `counted` ones.

    With `top_rules`, new rules may have replaced counted ones.
    """
    if not top_rules:
        return len(rules) - len(counted)
    some, known = ({str(scored.rule) for scored in one.take(np.isin(one.head, targets))} for one in (rules, counted))
    return len(some - known)


def gain_texts(old: Quality, new: Quality) -> list[str]:
    """Return what changed from the `old` to the `new` quality of the same facts, by kind of target."""
    texts = []
    for name in [name for name in UNARY_FIGURES if name in old.figures][:1]:
        one, two = number(old.figures[name]), number(new.figures[name])
        texts.append(f"{name} {one} to {two}" if one != two else f"{name} {one}, nothing gained")
    if len(old.reciprocal):
        gain = new.reciprocal - old.reciprocal
        error = float(gain.std() / np.sqrt(len(gain)))
        one, two = number(old.figures["mrr"]), number(new.figures["mrr"])
        if not gain.any():
            texts.append(f"MRR {one}, nothing gained")
        else:
            chance = ", nothing gained beyond chance" if gain.mean() <= STANDARD_ERRORS * error else ""
            texts.append(f"MRR {one} to {two} (± {number(error)}){chance}")
    return texts
