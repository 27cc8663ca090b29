"""Why a target has no rule, and what to change: one sentence per target.

A search does not record what it prunes. If few targets are left without rules and the base is small, they are counted
again without pruning, so that the stated reason is the true one.

`partial` says whether the search was stopped early.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from ..config import LearnerConfig
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..kernel.ruleset import RuleSet
from ..logic.rule import RuleStats
from ..search.count import count_rules
from ..search.options import CountOptions

MAX_TARGETS = 20
"""Targets are counted again only if at most this many have no rules."""

MAX_FACTS = 1_000_000
"""Targets are counted again only on a base of at most this many facts."""


def missing_reasons(
    kb: KnowledgeBase,
    targets: Sequence[int],
    config: LearnerConfig,
    partial: bool,
    options: CountOptions | None = None,
    body: KnowledgeBase | None = None,
) -> dict[str, str]:
    """Return the reason for each of `targets`, which have no rules.

    `options` are those of the search, to count again (None: do not). `body` has the facts that bodies may use, as in
    `count_rules`.
    """
    best: dict[int, RuleStats] = {}
    if options is not None and not partial:
        worth = [t for t in targets if kb.crisp.predicate_counts[t] >= config.min_support]
        best = best_bodies(kb, worth, config, options, body)
    return {str(kb.predicates[t]): reason(kb, t, config, partial, best.get(t)) for t in targets}


def reason(kb: KnowledgeBase, target: int, config: LearnerConfig, partial: bool, best: RuleStats | None = None) -> str:
    """Say why `target` has no rule.

    `best` are the statistics of the best body, with support 0 if there is none; None if unknown.
    """
    if partial:
        return "the search was stopped before it was done; learn again with more time"
    own = kb.crisp.facts.of(target)
    if not len(own):
        light = int(kb.predicate_counts[target])
        weight = f"all {light} of its facts have a weight below .5" if light else "it has no facts to learn from"
        return f"no support: {weight}; add facts, or leave it out with --target"
    if len(own) < config.min_support:
        return (
            f"too few facts: {len(own)}, while a rule must explain {config.min_support}; add facts, or lower it "
            f"with --set min_support={len(own)}"
        )
    return _no_vocabulary(kb, target, own, config, best) or _pruned(len(own), config, best)


def allowed_predicates(kb: KnowledgeBase, config: LearnerConfig) -> set[int] | None:
    """Return the predicates that bodies may use; None: all."""
    if not config.body and not config.not_body:
        return None
    allowed = {kb.predicate_id(kb.predicate(name)) for name in config.body} or set(range(kb.num_predicates))
    return allowed - {kb.predicate_id(kb.predicate(name)) for name in config.not_body}


def body_facts(kb: KnowledgeBase, config: LearnerConfig) -> KnowledgeBase | None:
    """Return the facts that bodies may use; None: all."""
    allowed = allowed_predicates(kb, config)
    return None if allowed is None else kb.without([p for p in range(kb.num_predicates) if p not in allowed])


def best_bodies(
    kb: KnowledgeBase, targets: Sequence[int], config: LearnerConfig, options: CountOptions, body: KnowledgeBase | None
) -> dict[int, RuleStats]:
    """Return the statistics of the best body of each target, with support 0 if there is none; {} if too costly.

    `options` and `body` as in `missing_reasons`.
    """
    if not 0 < len(targets) <= MAX_TARGETS or len(kb.facts) >= MAX_FACTS:
        return {}
    # A typed variant covers no fact that its chain does not, so chains suffice to find the reason.
    lenient = replace(options, min_support=1, min_confidence=0.0, typed=False)
    counted = count_rules(kb, np.asarray(targets, np.int32), lenient, body)
    if counted.partial:
        return {}
    return {t: _nearest(counted.rules, t, int(kb.crisp.predicate_counts[t]), config.min_support) for t in targets}


def _nearest(rules: RuleSet, target: int, head_size: int, min_support: int) -> RuleStats:
    """Return the most confident rule with enough support, else the one with most support; priors do not count."""
    rows = np.flatnonzero((rules.head == target) & ~rules.is_prior & (rules.support > 0))
    if not len(rows):
        return RuleStats(0, 0, head_size)
    enough = rows[rules.support[rows] >= min_support]
    if len(enough):
        return rules.stats(int(enough[np.lexsort((-rules.support[enough], -rules.confidence[enough]))[0]]))
    return rules.stats(int(rows[np.lexsort((-rules.confidence[rows], -rules.support[rows]))[0]]))


def _no_vocabulary(
    kb: KnowledgeBase, target: int, own: Facts, config: LearnerConfig, best: RuleStats | None
) -> str | None:
    allowed, usable = allowed_predicates(kb, config), kb.crisp.facts
    if allowed is not None:
        usable = usable[np.isin(usable.predicate, sorted(allowed))]
    if not len(usable):
        return "no vocabulary: body and not_body leave no facts for a body to use; allow more predicates there"
    if best is not None and best.support:
        return None
    touched = np.zeros(kb.num_entities + 1, bool)  # the last entry is for the object -1 of unary facts
    touched[own.subject], touched[own.object], touched[-1] = True, True, False
    others = usable[usable.predicate != target]
    if (touched[others.subject] | touched[others.object]).any():
        return None
    restricted = ";" if allowed is None else "; allow more predicates in body and not_body, or"
    return (
        f"no vocabulary: no other fact that a body may use touches the entities of its {len(own)} "
        f"facts{restricted} add facts about them"
    )


def _pruned(facts: int, config: LearnerConfig, best: RuleStats | None) -> str:
    if best is None:
        return (
            f"no body explains {config.min_support} of its {facts} facts with confidence "
            f"{config.min_confidence}; lower min_support or min_confidence, or raise max_length"
        )
    if not best.support:
        return (
            f"no body of up to {config.max_length} atoms explains any of its {facts} facts; raise it with "
            f"--set max_length={config.max_length + 1}, or add facts about their entities"
        )
    if best.support < config.min_support:
        return (
            f"the best body explains {best.support} of its {facts} facts, below min_support {config.min_support}; "
            f"lower it with --set min_support={best.support}"
        )
    if best.confidence < config.min_confidence:
        return (
            f"the best body explains {best.support} facts with confidence {_short(best.confidence)}, below "
            f"min_confidence {_short(config.min_confidence)}; lower it with "
            f"--set min_confidence={_short(_one_digit_below(best.confidence))}"
        )
    return (
        f"a body explains {best.support} facts with confidence {_short(best.confidence)}, but it was not among the "
        f"sampled ones; raise samples or candidates, for example with --set candidates={2 * config.candidates}"
    )


def _one_digit_below(value: float) -> float:
    """Return the next lower number of one digit: the value exceeds such a threshold despite rounding.

    >>> _one_digit_below(0.0037), _one_digit_below(0.3), _one_digit_below(0.1)
    (0.003, 0.2, 0.09)
    """
    unit = 10.0 ** math.floor(math.log10(value))
    below = [rounded for digit in range(1, 10) if (rounded := float(f"{digit * unit:.1g}")) < value * (1 - 1e-9)]
    return max(below, default=float(f"{0.9 * unit:.1g}"))


def _short(value: float) -> str:
    """
    >>> _short(0.0123456), _short(0.5), _short(1.0), _short(0.00002)
    ('.012', '.5', '1', '.00002')
    """
    digits = max(2, 1 - math.floor(math.log10(value))) if value else 2
    text = f"{value:.{digits}f}".rstrip("0").rstrip(".")
    return text.removeprefix("0") or "0"
