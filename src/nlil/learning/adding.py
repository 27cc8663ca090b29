"""Conjunctions for a counted rule set: found on the training facts, kept only where validation facts rise by them."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Ids
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..evaluation.adding import LEAST_FACTS, helpful, is_gain
from ..evaluation.ranking import Ranker
from ..kernel.ruleset import RuleSet
from ..progress import Progress, Stop, silent
from ..search.conjunctions import MOST_ENTITIES, Conjunctions
from ..search.options import CountOptions

LATE, MOST_TIME = 1 / 3, 0.75
"""Share of a limit of time after which conjunctions are not begun, and share of the time left that they may take at the
pace of the targets so far: to weigh rules, which comes after them, brings more."""
NO_TIME = "conjunctions left out: they would have taken most of the time left"


@dataclass(frozen=True)
class Added:
    """The rules with the conjunctions behind them, and what was left out."""

    rules: RuleSet
    notes: tuple[str, ...] = ()


def with_conjunctions(
    kb: KnowledgeBase,
    rules: RuleSet,
    targets: Ids,
    valid: Facts,
    most: int,
    options: CountOptions,
    body: KnowledgeBase | None = None,
    progress: Progress = silent,
    stop: Stop | None = None,
) -> Added:
    """At most `most` conjunctions for each binary target with LEAST_FACTS validation facts or more.

    With fewer, chance decides which rule seems to help: there is none then. There is none at all where the facts of
    one half gain nothing from what the other half chose. Soft facts and scene graphs have none.
    """
    if kb.facts.weight is not None or kb.graph_of is not None or rules.aggregation.kind != "noisy-or":
        return Added(rules)
    facts_of = np.bincount(valid.predicate, minlength=kb.num_predicates)
    asked = [int(t) for t in targets if kb.predicates[t].arity == 2 and facts_of[t] >= LEAST_FACTS]
    if not asked or not rules.aggregation.top:
        return Added(rules)
    if kb.num_entities > MOST_ENTITIES:
        return Added(
            rules,
            (
                f"conjunctions left out: {kb.num_entities:,} entities, and every pair of them takes "
                f"memory; they are looked for with up to {MOST_ENTITIES:,}",
            ),
        )
    if stop is not None and stop.used > LATE * (stop.used + stop.left):
        stop.cut = True
        return Added(rules, (NO_TIME,))
    from ..kernel.evaluator import Evaluator  # imports torch
    from ..kernel.relations import Relations

    search = Conjunctions(kb, body, options)
    ranker = Ranker(rules, kb, options.threads, options.memory)
    relations = Relations(Evaluator(kb, memory=options.memory))
    known, parts, unseen = kb.facts + valid, [rules], [np.zeros(0)]
    began = time.monotonic()
    for done, target in enumerate(asked):
        if stop is not None and stop():
            break
        used = time.monotonic() - began
        if done and stop is not None and used * len(asked) / done > MOST_TIME * (used + stop.left):
            stop.cut = True
            return Added(rules, (NO_TIME,))
        tried = RuleSet.of(kb, search.proposals(rules, target, most))
        if len(tried):
            found = helpful(ranker, relations, target, valid.of(target), known, tried, options.seed)
            parts.append(replace(tried.take(found.rows), weight=None))  # the smoothed confidence, unrounded
            unseen.append(found.unseen)
        progress("conjunctions", done + 1, len(asked))
    return Added(RuleSet.join(parts) if is_gain(np.concatenate(unseen)) else rules)
