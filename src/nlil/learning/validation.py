"""Validation facts, given or held out: what learning tries is judged on facts that no rule was counted on.

A fold is a base, rules counted on it, and facts that it does not have. Given validation facts are one fold, on the
training facts. Where few are given, parts of the training facts are held out in turn, and each part is one more fold;
the rules that are learned are counted on all training facts. Whoever judges sees folds, wherever they come from.
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
"""Given validation facts of the targets; with fewer, training facts are held out."""
MOST_FOLDS = 5
"""Parts that are held out in turn: rules are counted once more for each."""
ENOUGH_FACTS = 1_000
"""Held-out facts after which no further part is held out."""
MOST_FACTS = 5_000
"""Facts of one part, however many there are: no gate ranks more, and the rest of the base should stay as it is."""
LEAST_FACTS = 50
"""Held-out facts of all parts; with fewer, nothing could be told from them."""


@dataclass(frozen=True, eq=False)
class Fold:
    """Facts to judge by, and what may be used to judge them.

    kb: what bodies may look at, and what `rules` were counted on; it has none of the facts.
    rules: counted on kb.
    facts: those to rank; scene graphs have their `context`.
    known: facts that do not compete with an answer, beside those of kb.
    """

    kb: KnowledgeBase
    rules: RuleSet
    facts: Facts
    known: Facts


@dataclass(frozen=True, eq=False)
class Validation:
    """What is learned, and the folds that judge it.

    kb, rules: the training facts, and the rules counted on all of them.
    folds: the facts to judge by; there is at least one. Given facts, where there are any, come first.
    num_held_out: how many of the facts are training facts.
    """

    kb: KnowledgeBase
    rules: RuleSet
    folds: tuple[Fold, ...]
    num_held_out: int = 0

    @property
    def largest(self) -> Fold:
        """The fold with most facts, of equal ones the first."""
        return max(self.folds, key=lambda fold: len(fold.facts))

    @property
    def num_facts(self) -> int:
        """How many facts all folds have."""
        return sum(len(fold.facts) for fold in self.folds)

    def changed(self, change: Callable[[RuleSet, KnowledgeBase], RuleSet]) -> Validation:
        """Return the same change to the rules and to those of every fold.

        `change` is told the base they were counted on.
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
        """Return the folds with at most `most` of the `wanted` facts in all, in their order.

        Only folds that have any.
        """
        rows = [np.arange(len(f.facts)) if wanted is None else np.flatnonzero(wanted(f)) for f in self.folds]
        fold = np.repeat(np.arange(len(rows)), [len(some) for some in rows])
        chosen = drawn_rows(len(fold), most, random)
        row, fold = np.concatenate(rows)[chosen], fold[chosen]
        parts = (replace(f, facts=f.facts[row[fold == i]]) for i, f in enumerate(self.folds))
        return tuple(part for part in parts if len(part.facts))


def is_judged(fold: Fold) -> Mask:
    """Return which facts of `fold` are binary and of a predicate that some rule is about."""
    return ~fold.facts.is_unary & fold.rules.has_head[fold.facts.predicate]


@dataclass(frozen=True, eq=False)
class HeldOut:
    """A part of the training `facts`, and `kb`, the base without them."""

    kb: KnowledgeBase
    facts: Facts


def hold_out(kb: KnowledgeBase, targets: Ids, share: float, random: np.random.Generator) -> tuple[HeldOut, ...]:
    """Parts of the facts of the targets to hold out in turn; none where there are too few facts.

    Scene graphs are held out whole: their objects are judged in graphs that no rule was counted on.

    Args:
        kb: the training facts.
        targets: predicate ids; all other facts stay.
        share: of the facts (or graphs), what one part holds.
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
