"""Validation facts, given or held out: decisions are judged on facts that no rule was counted on.

A fold is a base, rules counted on it, and facts that it does not have. Given validation facts are one fold, on the
training facts. If few are given, parts of the training facts are held out in turn, and each part is another fold; the
final rules are counted on all training facts. Code that evaluates rules sees only folds, wherever they come from.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from ..data.arrays import Ids, Longs, Mask, drawn_rows
from ..data.facts import LEAST_TRUE, Facts
from ..data.kb import KnowledgeBase
from ..kernel.ruleset import RuleSet

LEAST_GIVEN = 200
"""With fewer given validation facts of the targets, training facts are held out."""
MOST_FOLDS = 5
"""Limit of the parts that are held out in turn; rules are counted again for each."""
ENOUGH_FACTS = 1_000
"""No further part is held out after this many facts."""
MOST_FACTS = 5_000
"""Limit of the facts of one part: no gate ranks more, and the base should keep the rest."""
LEAST_FACTS = 50
"""Least number of held-out facts in all parts; fewer are not informative."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Facts to validate on, a base without them, and rules counted on that base.

    kb: the base that bodies use; it has none of the facts.
    rules: counted on kb.
    facts: the facts to rank; scene graphs have their `context`.
    known: further facts, besides those of kb, that do not compete with an answer.
    """

    kb: KnowledgeBase
    rules: RuleSet
    facts: Facts
    known: Facts


@dataclass(frozen=True, eq=False)
class Validation:
    """The final rules, and the folds on which decisions about them are judged.

    kb, rules: the training facts, and the rules counted on all of them.
    folds: at least one; given validation facts, if any, come first.
    num_held_out: how many of the facts are held-out training facts.
    """

    kb: KnowledgeBase
    rules: RuleSet
    folds: tuple[Fold, ...]
    num_held_out: int = 0

    @property
    def largest(self) -> Fold:
        """The fold with most facts; ties go to the first."""
        return max(self.folds, key=lambda fold: len(fold.facts))

    @property
    def num_facts(self) -> int:
        """The number of facts of all folds."""
        return sum(len(fold.facts) for fold in self.folds)

    def changed(self, change: Callable[[RuleSet, KnowledgeBase], RuleSet]) -> Validation:
        """Apply the same change to the final rules and to those of every fold.

        `change` receives rules and the base they were counted on.
        """
        rules = change(self.rules, self.kb)
        folds = (
            replace(fold, rules=rules if fold.rules is self.rules else change(fold.rules, fold.kb))
            for fold in self.folds
        )
        return replace(self, rules=rules, folds=tuple(folds))

    def drawn(
        self, most: int, random: np.random.Generator, wanted: Callable[[Fold], Mask] | None = None
    ) -> tuple[Fold, ...]:
        """Return the folds with a sample of at most `most` of the `wanted` facts (None: of all), in order.

        Folds without such facts are left out.
        """
        rows = [np.arange(len(f.facts)) if wanted is None else np.flatnonzero(wanted(f)) for f in self.folds]
        fold = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
        chosen = drawn_rows(len(fold), most, random)
        row, fold = np.concatenate(rows)[chosen], fold[chosen]
        parts = (replace(f, facts=f.facts[row[fold == i]]) for i, f in enumerate(self.folds))
        return tuple(part for part in parts if len(part.facts))


def is_judged(fold: Fold) -> Mask:
    """Return which facts of `fold` are binary and have a predicate that is the head of a rule."""
    return ~fold.facts.is_unary & fold.rules.has_head[fold.facts.predicate]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A part of the training `facts`, and `kb`, the base without them."""

    kb: KnowledgeBase
    facts: Facts


def hold_out(kb: KnowledgeBase, targets: Ids, share: float, random: np.random.Generator) -> tuple[HeldOut, ...]:
    """Return the parts of the targets' facts to hold out in turn; none if there are too few facts.

    Scene graphs are held out as a whole: their objects are judged in graphs that no rule was counted on.

    Args:
        kb: the training facts.
        targets: predicate ids; all other facts stay.
        share: the share of the facts (or graphs) in one part.
        random: chooses the facts.
    """
    facts = kb.facts
    wanted = np.isin(facts.predicate, targets)
    if kb.graph_of is not None:
        wanted &= np.isin(facts.predicate, list(kb.classes))
    if facts.weight is not None:
        wanted &= facts.weight >= LEAST_TRUE
    rows = np.flatnonzero(wanted)
    unit = rows if kb.graph_of is None else kb.graph_of[facts.subject[rows]]
    units = rows if kb.graph_of is None else np.unique(unit)
    size = int(min(share * len(units), MOST_FACTS * len(units) / max(len(rows), 1)))
    per_part = size * len(rows) / max(len(units), 1)
    count = int(min(MOST_FOLDS, np.ceil(ENOUGH_FACTS / max(per_part, 1)), 1 / share)) if share else 0
    if per_part * count < LEAST_FACTS:
        return ()
    order = random.permutation(units)
    return tuple(_without(kb, rows[np.isin(unit, order[i * size : (i + 1) * size])]) for i in range(count))


def _without(kb: KnowledgeBase, rows: Longs) -> HeldOut:
    facts = kb.facts[rows].crisp()
    gone = np.zeros(len(kb.facts), bool)
    gone[rows] = True
    if kb.graph_of is not None:
        graphs = np.unique(kb.graph_of[facts.subject])
        gone = np.isin(kb.graph_of[kb.facts.subject], graphs)
        facts = replace(facts, context=kb.facts[gone])
    return HeldOut(replace(kb, facts=kb.facts[~gone]), facts)
