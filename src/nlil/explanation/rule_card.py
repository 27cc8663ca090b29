"""rule_card: a rule with its counts, a confidence interval, examples, counterexamples and predictions.

The instances of a rule are listed page by page, by subject and object id, until the page is full. On a small base they
are found one by one (`kernel/grounding.py`), in less time than it takes to import torch; on a large one the tensor
evaluator tests candidates in blocks, the first blocks small. Both find the same.

`offset` and `limit` select a page: the number of instances to skip, and the most to list.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import TYPE_CHECKING, Any

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import NO_OBJECT, Facts
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..evaluation.metrics import wilson_interval
from ..kernel.binding import bind
from ..kernel.bodies import IdHead
from ..kernel.graph import Graph
from ..kernel.grounding import Grounding, RuleQueries
from ..kernel.ruleset import RuleSet
from ..kernel.statistics import fact_keys, matching, rule_stats
from ..logic.figures import number, plural
from ..logic.formula import And, Formula, Or, Statement, X
from ..logic.labels import Labels
from ..logic.parse import parse_rule
from ..logic.predicate import Fact
from ..logic.rule import Rule, RuleStats, ScoredRule
from .changes import Scenes, find_fact
from .disputes import is_functional
from .outline import HasOutline, Item, fact_document, grounding_document, grounding_line
from .why import specific_groundings

if TYPE_CHECKING:
    from ..kernel.evaluator import Evaluator

MAX_ANSWERS = 3
"""Known answers shown beside a counterexample."""
MAX_SCANNED = 2_000
"""Limit of the instances searched for different subjects."""
SMALL_FACTS = 5_000
"""A base with at most so many facts is searched instance by instance."""
FIRST_BLOCK = 64
"""Candidates in the first block; each following block is twice as large."""

Tuple = tuple[int, int]
"""Subject and object; the object of a unary head is NO_OBJECT."""


@dataclass(frozen=True)
class Instance:
    """A head tuple whose body holds, with one `grounding` (None if none was searched).

    `known` are answers in the data for the subject of a counterexample, `num_known` is their number; they contradict
    the rule if the predicate has a single answer. `is_held_out`: the tuple is a fact of another split.
    """

    fact: Fact
    grounding: Grounding | None
    known: tuple[str, ...] = ()
    num_known: int = 0
    is_held_out: bool = False


@dataclass(frozen=True, repr=False)
class RuleCard(HasOutline):
    """A `rule` with its `stats` and `weight`, and its instances.

    `interval` is the 95 % confidence interval of the confidence (Wilson).

    `examples` are facts. If negatives are given (`has_negatives`), `counterexamples` are given as false and
    `predictions` are unknown. Otherwise a counterexample is a prediction that is not in the data; it need not be false.
    `is_functional`: the target nearly always has a single answer. The lists start at `offset`.

    Attributes:
        weight: None if the rule is not in a set.
        dead: branches of a disjunction that never hold in the data.
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
    dead: tuple[Formula, ...] = ()
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON."""
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
            "dead_branches": self.dead_branches,
            **{
                name: [self._instance(i) for i in getattr(self, name)]
                for name in ("examples", "counterexamples", "predictions")
            },
        }

    @property
    def dead_branches(self) -> list[str]:
        """The branches of a disjunction that never hold in the data, as text."""
        return [self.labels.formula(branch, False) for branch in self.dead]

    def _instance(self, instance: Instance) -> dict[str, Any]:
        way = instance.grounding
        return fact_document(
            instance.fact,
            self.labels,
            grounding=None if way is None else grounding_document(way, self.rule.distinct, self.labels),
            known_answers=list(instance.known),
            num_known_answers=instance.num_known,
            is_held_out=instance.is_held_out,
        )

    def outline(self) -> Item:
        """Return the rule, its confidence, and its instances by kind."""
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
        dead = tuple(Item(f"never holds: {text}") for text in self.dead_branches)
        return Item(self.labels.short_rule(self.rule), note, (*dead, *below))

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
                + (f" and {plural(more, 'other')}" if more else "")
            )
        if instance.is_held_out:
            notes.append("a fact held out")
        return Item(self.labels.fact(instance.fact), "; ".join(notes))


class RuleCards:
    """Makes cards of rules over one base. `known` are the facts of all splits, `negatives` the given false facts.

    `rules` has the statistics of its rows; without it, every rule is counted. `memory` is in bytes.
    """

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

    @property
    def is_small(self) -> bool:
        """Whether instances are found without the evaluator."""
        return len(self.kb.facts) <= SMALL_FACTS

    @cached_property
    def evaluator(self) -> Evaluator:
        """The evaluator of the base."""
        from ..kernel.evaluator import Evaluator  # imports torch

        return Evaluator(self.kb, memory=self.memory)

    def card(
        self,
        rule: int | str | Rule | ScoredRule,
        *,
        examples: int = 5,
        counterexamples: int | None = None,
        offset: int = 0,
        spread: bool = False,
    ) -> RuleCard:
        """Return the card of `rule`: a row of the set, or a rule, which is counted if it has no statistics.

        `examples` and `counterexamples` are the numbers to list (counterexamples default to examples); both lists start
        at `offset`. With `spread` they are about different subjects if possible, which says more than three facts about
        one subject.
        """
        if offset < 0 or examples < 0:
            raise ConfigError(f"a page needs an offset and a size of 0 or more, got {offset} and {examples}", "offset")
        chosen, stats, weight = self._stats(rule)
        size = examples if counterexamples is None else counterexamples
        negatives = self._negatives(chosen)
        found = replace(self.instances(chosen, stats), spread=spread)
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
            self.dead_branches(chosen),
            self.labels,
        )

    def dead_branches(self, rule: Rule) -> tuple[Formula, ...]:
        """Return the branches of a disjunction in the body of `rule` that never hold in this base."""
        found = []
        for branch, body in _branches(rule.body):
            alone = self._found(Rule(rule.head, body, rule.distinct))
            if not alone.examples(0, 1) and not alone.others(0, 1):
                found.append(branch)
        return tuple(found)

    def instances(self, rule: Rule, stats: RuleStats | None = None) -> Instances:
        """Return the instances of `rule`; `stats` of the same base tell when all are found."""
        found = self._found(rule)
        if stats is None or len(found.facts) != stats.head_size:
            return found  # counted on another base, so the numbers of instances are unknown
        others = None if self._negatives(rule) is not None else stats.body_size - stats.support
        return replace(found, most_examples=stats.support, most_others=others)

    def _found(self, rule: Rule) -> Instances:
        return Instances(self.kb, None if self.is_small else self.evaluator, rule)

    def _negatives(self, rule: Rule) -> Facts | None:
        if self.negatives is None:
            return None
        found = self.negatives.of(self.kb.predicate_id(rule.target))
        return found if len(found) else None

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
        # Without constants, the body sees only the scene of x.
        near = self.kb if rule.constants else self._scenes.around([x])
        ways, _ = specific_groundings(near, rule, x, other, 1, hide)
        target = self.kb.predicate_id(rule.target)
        fact = self.kb.fact(target, x, y)
        if find_fact(self.kb.facts, (target, x, y))[1]:
            return Instance(fact, ways[0] if ways else None)
        held_out = self.known is not None and find_fact(self.known, (target, x, y))[1]
        answers = self._answers(target, x) if other is not None else []
        return Instance(fact, ways[0] if ways else None, tuple(answers[:MAX_ANSWERS]), len(answers), held_out)

    def _answers(self, target: int, x: int) -> list[str]:
        graph = Graph.of(self.kb)
        return self.kb.entities.names(graph.neighbour[slice(*graph.edges(x, 2 * target))])


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
    """Return the card of one rule.

    Args:
        rules: The rule set, if `rule` is a row of it; otherwise None is allowed.
        kb: The facts on which the rule was counted, or will be.
        rule: A row of `rules`, a rule with its statistics, or a rule as text or value, which is counted.
        examples: The number of examples, of counterexamples and of predictions.
        offset: The number to skip in each list.
        known: The facts of all splits; a prediction among them is marked as held out.
        negatives: Given false facts, which become the counterexamples.
        memory: Bytes that one evaluation may take.
    """
    return RuleCards(rules, kb, known, negatives, memory).card(rule, examples=examples, offset=offset)


# instances, page by page --------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Instances:
    """The instances of one `rule` on the base `kb`, found by the `evaluator` or, without it, one by one.

    `most_examples` and `most_others` are the numbers of instances, if known; the search stops there. With `spread`,
    lists are about different subjects if possible.
    """

    kb: KnowledgeBase
    evaluator: Evaluator | None
    rule: Rule
    most_examples: int | None = None
    most_others: int | None = None
    spread: bool = False

    def examples(self, offset: int, limit: int) -> list[Tuple]:
        """Return facts of the head whose body holds, each fact hidden from its own body."""
        return self._page(self._supported(self.facts), offset, limit, self.most_examples)

    def covered(self, facts: Facts, offset: int, limit: int) -> list[Tuple]:
        """Return the given `facts` (negatives) that are not in the data and whose body holds."""
        some = matching(self.kb, self.rule, facts.crisp().unique())
        some = some[~np.isin(fact_keys(self.kb, some), self._known)]
        return self._page(self._supported(some), offset, limit, None)

    def others(self, offset: int, limit: int, leave_out: Facts | None = None) -> list[Tuple]:
        """Return head tuples whose body holds and that are neither facts nor in `leave_out`."""
        known, most = self._known, self.most_others
        if leave_out is not None:
            known = np.union1d(known, fact_keys(self.kb, matching(self.kb, self.rule, leave_out)))
            most = None
        return self._page(self._predicted(known), offset, limit, most)

    @property
    def facts(self) -> Facts:
        """The facts that the head can match."""
        return matching(self.kb, self.rule, self.kb.facts)

    @property
    def _known(self) -> Longs:
        return fact_keys(self.kb, self.facts)

    def _page(self, found: Iterator[Tuple], offset: int, limit: int, most: int | None) -> list[Tuple]:
        """Return items offset .. offset + limit - 1; the search stops after `most` items, the total if known."""
        stop = offset + limit if most is None else min(offset + limit, most)
        if stop <= offset:
            return []
        return list(islice(_spread(found, stop) if self.spread else found, offset, stop))

    def _supported(self, facts: Facts) -> Iterator[Tuple]:
        is_binary = self.rule.target.arity == 2
        queries = RuleQueries(self.kb, self.rule, hide=True)
        for low, high in _blocks(len(facts)):
            some = facts[low:high]
            if self.evaluator is None:
                pairs = zip(some.subject.tolist(), some.object.tolist())
                yield from ((x, y) for x, y in pairs if queries.holds(x, y if is_binary else None))
                continue
            objects = some.object.astype(np.int64) if is_binary else None
            held = self.evaluator.values(self.rule, some.subject.astype(np.int64), objects, hide=True) > 0
            yield from zip(some.subject[held].tolist(), some.object[held].tolist())

    def _predicted(self, known: Longs) -> Iterator[Tuple]:
        subjects = self._subjects()
        if self.evaluator is None:
            yield from self._predicted_singly(subjects, known)
            return
        size = self.kb.num_entities + 1
        for low, high in _blocks(len(subjects)):
            for x, y in self._answers(self.evaluator, subjects[low:high]):
                new = ~np.isin(x * size + y + 1, known)
                yield from zip(x[new].tolist(), y[new].tolist())

    def _predicted_singly(self, subjects: Longs, known: Longs) -> Iterator[Tuple]:
        size, skipped = self.kb.num_entities + 1, set(known.tolist())
        queries, is_unary = RuleQueries(self.kb, self.rule, hide=False), self.rule.target.arity == 1
        for x in subjects.tolist():
            for y in [NO_OBJECT] if is_unary else queries.candidates(x):
                if x * size + y + 1 not in skipped and queries.holds(x, None if is_unary else y):
                    yield x, y

    def _answers(self, evaluator: Evaluator, x: Longs) -> Iterator[tuple[Longs, Longs]]:
        """Yield the head tuples of these subjects whose body holds, by subject and object."""
        from ..kernel.evaluator import sparse_answers  # imports torch

        if self.rule.target.arity == 1:
            held: Mask = evaluator.values(self.rule, x) > 0
            yield x[held], np.full(int(held.sum()), NO_OBJECT)
            return
        for block, rows in sparse_answers(evaluator, self.rule, evaluator.ids(x)):
            query, node = rows.query.cpu().numpy(), rows.node.cpu().numpy()
            order = np.lexsort((node, query))
            yield x[block][query[order]], node[order]

    def _subjects(self) -> Longs:
        """Return the entities that the body allows for X, ascending."""
        head = IdHead.of(self.kb, self.rule)
        if head.subject >= 0:
            return np.asarray([head.subject])
        possible = _possible_x(self.kb, self.rule.body)
        return np.arange(self.kb.num_entities) if possible is None else possible.astype(np.int64)


def _branches(formula: Formula) -> Iterator[tuple[Formula, Formula]]:
    """Yield each branch of every positive disjunction, with the formula that keeps only this branch."""
    match formula:
        case And(arguments):
            for place, argument in enumerate(arguments):
                for branch, rest in _branches(argument):
                    yield branch, And(*arguments[:place], rest, *arguments[place + 1 :])
        case Or(arguments):
            for argument in arguments:
                yield argument, argument
                yield from _branches(argument)


def _possible_x(kb: KnowledgeBase, body: Formula) -> Longs | None:
    """Return the entities that can take the first step of a required statement starting at X; None without one."""
    for part in body.arguments if isinstance(body, And) else (body,):
        if isinstance(part, Statement) and part.start == X and part.steps:
            step = part.steps[0]
            facts = kb.facts.of(kb.predicate_id(step.predicate))
            return np.unique(facts.object if step.inverse else facts.subject)
    return None


def _blocks(total: int) -> Iterator[tuple[int, int]]:
    low, size = 0, FIRST_BLOCK
    while low < total:
        yield low, min(low + size, total)
        low, size = low + size, 2 * size


def _spread(found: Iterator[Tuple], count: int) -> list[Tuple]:
    """Return `count` items, about different subjects if the first MAX_SCANNED items allow it."""
    first: dict[int, Tuple] = {}
    more: list[Tuple] = []
    for pair in islice(found, MAX_SCANNED):
        if pair[0] not in first:
            first[pair[0]] = pair
        elif len(more) < count:
            more.append(pair)
        if len(first) == count:
            break
    return [*first.values(), *more][:count]
