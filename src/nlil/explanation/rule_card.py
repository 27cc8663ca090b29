"""rule_card: what a rule rests on: its counts with an interval, examples, counterexamples, predictions."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..kernel.binding import bind
from ..kernel.evaluator import Evaluator
from ..kernel.grounding import Grounding
from ..kernel.ruleset import RuleSet
from ..kernel.statistics import rule_stats
from ..logic.labels import Labels
from ..logic.parse import parse_rule
from ..logic.predicate import Fact
from ..logic.rule import Rule, RuleStats, ScoredRule
from ..logic.text import fact_text
from .changes import place
from .disputes import is_functional
from .instances import Instances, Tuple
from .phrases import grounding_document, grounding_line, short_rule
from .scenes import Scenes
from .shown import Item, Shown, many, number
from .specific import specific_groundings

Z_95 = 1.959964
"""The normal quantile of a two-sided interval of 95 %."""
ANSWERS = 3
"""Known answers named beside a counterexample."""


def wilson_interval(hits: int, total: int, z: float = Z_95) -> tuple[float, float]:
    """Wilson's score interval of the share hits / total.

    >>> [round(bound, 3) for bound in wilson_interval(8, 10)], wilson_interval(0, 0)
    ([0.49, 0.943], (0.0, 1.0))
    """
    if total <= 0:
        return 0.0, 1.0
    share, squared = hits / total, z * z
    middle = (share + squared / (2 * total)) / (1 + squared / total)
    half = z / (1 + squared / total) * math.sqrt(share * (1 - share) / total + squared / (4 * total * total))
    # At the ends the interval includes the share exactly; arithmetic alone gives it but for a last bit.
    return 0.0 if hits <= 0 else max(0.0, middle - half), 1.0 if hits >= total else min(1.0, middle + half)


@dataclass(frozen=True)
class Instance:
    """A head tuple whose body holds, and one way in which it does.

    `known` are other answers that the data has for the subject of a counterexample, `num_known` of them in all; a
    predicate that has one answer contradicts the rule there. `is_held_out`: it is a fact of another split.
    """

    fact: Fact
    grounding: Grounding | None
    known: tuple[str, ...] = ()
    num_known: int = 0
    is_held_out: bool = False


@dataclass(frozen=True)
class RuleCard(Shown):
    """`interval` holds the confidence with 95 % certainty (Wilson).

    Without given negatives a counterexample is a prediction that is not in the data, which need not be false; with
    them the counterexamples are given as false, and `predictions` are those that nobody has said anything about.
    """

    rule: Rule
    stats: RuleStats
    weight: float | None
    interval: tuple[float, float]
    examples: tuple[Instance, ...]
    counterexamples: tuple[Instance, ...]
    predictions: tuple[Instance, ...]
    has_negatives: bool
    is_functional: bool
    offset: int = 0
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        return {
            "rule": str(self.rule),
            "label": self.labels.rule(self.rule),
            "target": self.rule.target.name,
            "weight": self.weight,
            **self.stats.to_dict(),
            "confidence_interval": list(self.interval),
            "counterexamples_are": "given as false" if self.has_negatives else "not in the data",
            "is_functional": self.is_functional,
            "offset": self.offset,
            **{
                name: [self._instance(i) for i in getattr(self, name)]
                for name in ("examples", "counterexamples", "predictions")
            },
        }

    def _instance(self, instance: Instance) -> dict[str, Any]:
        grounding = instance.grounding
        return {
            "fact": fact_text(instance.fact),
            "label": self.labels.fact(instance.fact),
            "grounding": None if grounding is None else grounding_document(grounding, self.rule.distinct, self.labels),
            "known_answers": list(instance.known),
            "num_known_answers": instance.num_known,
            "is_held_out": instance.is_held_out,
        }

    def outline(self) -> Item:
        low, high = self.interval
        stats = self.stats
        note = (
            f"confidence {number(stats.confidence)} ({number(low)} to {number(high)}), {stats.support:,} of "
            f"{stats.body_size:,}" + (", variables differ" if self.rule.distinct else "")
        )
        parts = [("examples", self.examples)]
        if self.has_negatives:
            parts += [
                ("counterexamples, given as false", self.counterexamples),
                ("predictions, not in the data", self.predictions),
            ]
        else:
            parts += [("counterexamples: predictions, not in the data", self.counterexamples)]
        below = tuple(Item(name, "" if found else "none", tuple(map(self._line, found))) for name, found in parts)
        return Item(short_rule(self.rule, self.labels), note, below)

    def _line(self, instance: Instance) -> Item:
        notes = []
        if instance.grounding is not None:
            because = grounding_line(instance.grounding, self.rule.distinct, self.labels)
            notes += [f"because {because}"] if because else []
        if instance.known and self.is_functional:
            others = ", ".join(map(self.labels.entity, instance.known))
            more = instance.num_known - len(instance.known)
            notes.append(
                f"known {'answer' if instance.num_known == 1 else 'answers'}: {others}"
                + (f" and {many(more, 'other')}" if more else "")
            )
        if instance.is_held_out:
            notes.append("a fact held out")
        return Item(self.labels.fact(instance.fact), "; ".join(notes))


class RuleCards:
    """Cards of many rules over one base; keep it. `known` are facts of all splits, `negatives` given false facts."""

    def __init__(
        self,
        rules: RuleSet | None,
        kb: KnowledgeBase,
        known: Facts | None = None,
        negatives: Facts | None = None,
        memory: int = 2**30,
    ) -> None:
        self.rules = None if rules is None else bind(rules, kb).rules
        self.kb, self.labels = kb.crisp, Labels.of(kb)
        self.known = None if known is None else known.crisp().unique()
        self.negatives, self.memory = negatives, memory
        self._scenes = Scenes(self.kb)

    @cached_property
    def evaluator(self) -> Evaluator:
        return Evaluator(self.kb, memory=self.memory)

    def card(
        self,
        rule: int | str | Rule | ScoredRule,
        *,
        examples: int = 5,
        counterexamples: int | None = None,
        offset: int = 0,
    ) -> RuleCard:
        """`rule` is a row of the set, or a rule; one without statistics is counted. Both lists start at `offset`."""
        if offset < 0 or examples < 0:
            raise ConfigError(f"a page needs an offset and a size of 0 or more, got {offset} and {examples}", "offset")
        chosen, stats, weight = self._stats(rule)
        size = examples if counterexamples is None else counterexamples
        negatives = self._negatives(chosen)
        found = self.instances(chosen, stats)
        shown = [self._instance(chosen, pair, hide=True) for pair in found.examples(offset, examples)]
        others = found.others(offset, size, negatives)
        predictions = tuple(self._instance(chosen, pair) for pair in others)
        against = predictions
        if negatives is not None:
            against = tuple(self._instance(chosen, pair, True) for pair in found.covered(negatives, offset, size))
        same_target = self.kb.binary.of(self.kb.predicate_id(chosen.target))
        one_answer = chosen.target.arity == 2 and is_functional(same_target, 0)
        return RuleCard(
            chosen,
            stats,
            weight,
            wilson_interval(stats.support, stats.body_size),
            tuple(shown),
            against,
            predictions,
            negatives is not None,
            one_answer,
            offset,
            self.labels,
        )

    def instances(self, rule: Rule, stats: RuleStats | None = None) -> Instances:
        """What the rule covers; statistics of the same base say when all has been found."""
        found = Instances(self.evaluator, rule)
        if stats is None or len(found.facts) != stats.head_size:
            return found  # counted on another base: where to stop is not known
        others = None if self._negatives(rule) is not None else stats.body_size - stats.support
        return Instances(self.evaluator, rule, stats.support, others)

    def _negatives(self, rule: Rule) -> Facts | None:
        if self.negatives is None:
            return None
        mine = self.negatives.of(self.kb.predicate_id(rule.target))
        return mine if len(mine) else None

    def _stats(self, rule: int | str | Rule | ScoredRule) -> tuple[Rule, RuleStats, float | None]:
        if isinstance(rule, int | np.integer):
            if self.rules is None:
                raise ConfigError(f"row {rule}: there is no rule set to take it from; give a rule", "rule")
            rule = self.rules[int(rule)]
        if isinstance(rule, ScoredRule):
            return rule.rule, rule.stats, rule.weight
        chosen = parse_rule(rule) if isinstance(rule, str) else rule
        return chosen, rule_stats(self.evaluator, chosen, self.negatives), None

    def _instance(self, rule: Rule, pair: Tuple, hide: bool = False) -> Instance:
        x, y = pair
        other = None if y == NO_OBJECT else y
        # A constant may stand in another scene; without one the scene of x is all that matters.
        near = self.kb if rule.constants else self._scenes.around([x])
        ways, _ = specific_groundings(near, rule, x, other, 1, hide)
        target = self.kb.predicate_id(rule.target)
        fact = self.kb.fact(target, x, y)
        if place(self.kb.facts, (target, x, y))[1]:
            return Instance(fact, ways[0] if ways else None)
        held_out = self.known is not None and place(self.known, (target, x, y))[1]
        answers = self._answers(target, x) if other is not None else []
        return Instance(fact, ways[0] if ways else None, tuple(answers[:ANSWERS]), len(answers), held_out)

    def _answers(self, target: int, x: int) -> list[str]:
        edges = self.kb.adjacency
        low, high = edges.pointer[x : x + 2]
        low, high = low + np.searchsorted(edges.code[low:high], [2 * target, 2 * target + 1])
        return self.kb.entities.names(edges.neighbour[low:high])


def rule_card(
    rules: RuleSet | None,
    kb: KnowledgeBase,
    rule: int | str | Rule | ScoredRule,
    *,
    examples: int = 5,
    offset: int = 0,
    known: Facts | None = None,
    negatives: Facts | None = None,
    memory: int = 2**30,
) -> RuleCard:
    """The card of one rule: a row of `rules`, or a rule, text or value, whose statistics are counted then."""
    return RuleCards(rules, kb, known, negatives, memory).card(rule, examples=examples, offset=offset)
