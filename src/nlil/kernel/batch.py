"""Statistics of many rules over the same statements: each statement is evaluated once, then and, or, not combine them.

The results are truth values: of the target facts, each hidden from itself, and of all other head tuples. For a head
p(X, Y) the others are pairs of entities: bits if they are few, otherwise the sorted keys x * n + y that some statement
of the rule reaches. `rule_stats` counts what fits neither; it returns the same integers.

`rule` is always a rule of the current head; where a `statement` is given too, only the head and `distinct` matter.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod

import numpy as np

from ..data.arrays import Longs, Mask
from ..data.facts import Facts
from ..errors import LimitError
from ..logic.formula import Statement
from ..logic.rule import Head, Rule, RuleStats
from .array_cache import ArrayCache, TooLarge
from .bodies import IdHead, Line
from .evaluator import Evaluator, is_guarded
from .frontier import Queries
from .hidden import Hidden
from .pairs import ALL, Pairs, among, combined, line_members, pack, row_counts, truth_of
from .statistics import false_facts, matching, rule_stats, target_facts
from .threads import one_torch_thread

MAX_TUPLES = 100_000
"""Limit of the pairs of entities of a truth table for p(X, Y)."""


class BatchStatistics:
    """Computes `rule_stats(evaluator, rule, negatives)`, but is cheap for rules that share statements."""

    def __init__(self, evaluator: Evaluator, negatives: Facts | None = None) -> None:
        self.evaluator = evaluator.crisp
        self.negatives = negatives
        self.pairs = Pairs(self.evaluator)
        self._table: tuple[Head, HeadTable] | None = None

    def stats(self, rule: Rule, max_answers: float = math.inf) -> RuleStats:
        """Return the statistics of `rule`, the same integers as `rule_stats`.

        Raises LimitError if `rule_stats` does; `max_answers` applies only if the answers cannot be cached.
        """
        with one_torch_thread():  # many small steps: more threads would mostly wait for each other
            try:
                return self.table(rule).stats(rule)
            except (TooLarge, LimitError):
                return rule_stats(self.evaluator, rule, self.negatives, max_answers)

    def table(self, rule: Rule) -> HeadTable:
        """Return the table of the head of `rule`; rules come target by target, so only the last one is cached."""
        if self._table is None or self._table[0] != rule.head:
            is_open = IdHead.of(self.evaluator.kb, rule).is_open
            table = (
                OpenHead(self.evaluator, rule, self.negatives, self.pairs)
                if is_open
                else EntityHead(self.evaluator, rule, self.negatives)
            )
            self._table = (rule.head, table)
        return self._table[1]


class HeadTable(ABC):
    """What the rules of one head share: its facts, the given negatives, and the truth of statements for them.

    `evaluator` evaluates statements; the head is that of `rule`; `negatives` are given false facts (None: there are
    none).
    """

    def __init__(self, evaluator: Evaluator, rule: Rule, negatives: Facts | None) -> None:
        kb = evaluator.kb
        facts = matching(kb, rule, kb.facts)
        false = false_facts(kb, rule, negatives, facts)
        self.evaluator, self.num_facts, self.against_negatives = evaluator, len(facts), false is not None
        listed = facts if false is None else facts + false
        self.x, self.y = listed.subject.astype(np.int64), listed.object.astype(np.int64)
        self.has_fact = np.zeros(kb.num_entities, bool)
        self.has_fact[target_facts(kb, rule, kb.facts).subject] = True
        self.hidden = Hidden.of(kb, rule)
        self.listed_queries = self.queries(self.x, self.y if rule.target.arity == 2 else None)
        self.cache = ArrayCache(evaluator.memory // 8)

    def queries(self, x: Longs, y: Longs | None) -> Queries:
        """Return queries about the entities `x` and, for a binary head, `y`, on the device of the evaluator."""
        to_device = self.evaluator.ids
        return self.evaluator.pairs(to_device(x), None if y is None else to_device(y))

    def stats(self, rule: Rule) -> RuleStats:
        """Return the statistics of a rule of this head."""
        holds = np.broadcast_to(combined(rule.body, lambda s: self.holds(rule, s), True), self.x.shape)
        support = int(holds[: self.num_facts].sum())
        if self.against_negatives:
            covered = self.x[self.num_facts :][holds[self.num_facts :]]
            others, with_fact = len(covered), int(self.has_fact[covered].sum())
        else:
            others, with_fact = self.others(rule)
        pca_body = support + with_fact if rule.target.arity == 2 else None
        return RuleStats(support, support + others, self.num_facts, pca_body)

    def holds(self, rule: Rule, statement: Statement) -> Mask:
        """Return the truth of a statement for each listed tuple, with its own fact hidden."""
        line = Line.of(self.evaluator.kb, statement)
        if not self.hidden.touches(line):
            return self.unhidden(rule, statement)
        return self.cache.get(
            (statement, rule.distinct), lambda: truth_of(self.evaluator, rule, line, self.listed_queries, self.hidden)
        )

    @abstractmethod
    def unhidden(self, rule: Rule, statement: Statement) -> Mask:
        """Return the truth of a statement that no hidden fact can change, for each listed tuple."""

    @abstractmethod
    def others(self, rule: Rule) -> tuple[int, int]:
        """Count the head tuples other than facts whose body holds, and those of them whose x has some fact."""


class OpenHead(HeadTable):
    """p(X, Y): the head tuples are the pairs of entities of one graph.

    `pairs` has the truth of statements for all pairs; `evaluator`, `rule` and `negatives` as in HeadTable.
    """

    def __init__(self, evaluator: Evaluator, rule: Rule, negatives: Facts | None, pairs: Pairs) -> None:
        super().__init__(evaluator, rule, negatives)
        self.pairs = pairs
        self.fact_keys = np.sort(self.x * pairs.n + self.y)  # without given negatives, the listed tuples are the facts
        if pairs.as_bits and not self.against_negatives:
            graph_of = evaluator.kb.graph_of
            unknown = np.ones((pairs.n, pairs.n), bool) if graph_of is None else graph_of[:, None] == graph_of[None, :]
            unknown[self.x, self.y] = False
            self.unknown = pack(unknown)

    def unhidden(self, rule: Rule, statement: Statement) -> Mask:
        return self.pairs.at(rule, statement, self.x, self.y)

    def others(self, rule: Rule) -> tuple[int, int]:
        if self.pairs.as_bits:
            counts = row_counts(self.unknown & combined(rule.body, lambda s: self.pairs.words(rule, s), ALL))
            return int(counts.sum()), int(counts[self.has_fact].sum())
        if not is_guarded(self.evaluator, rule.body):
            raise TooLarge
        keys = self.pairs.reached(rule, rule.body)
        keys = keys[~among(keys, self.fact_keys)]
        x, y = keys // self.pairs.n, keys % self.pairs.n
        subjects = x[combined(rule.body, lambda s: self.pairs.at(rule, s, x, y), True)]
        return len(subjects), int(self.has_fact[subjects].sum())


class EntityHead(HeadTable):
    """p(X), p(X, c), p(c, Y): a head tuple is one entity on the open side.

    `evaluator`, `rule` and `negatives` as in HeadTable.
    """

    def __init__(self, evaluator: Evaluator, rule: Rule, negatives: Facts | None) -> None:
        super().__init__(evaluator, rule, negatives)
        head, everything = IdHead.of(evaluator.kb, rule), np.arange(evaluator.kb.num_entities)
        self.subject, object_ = everything, None
        self.place = self.x if head.subject < 0 else self.y
        if head.subject >= 0:
            self.subject, object_ = np.full_like(everything, head.subject), everything
        elif head.object is not None:
            object_ = np.full_like(everything, head.object)
        self.tuples = self.queries(self.subject, object_)
        self.unknown = np.ones(len(everything), bool)
        if evaluator.kb.graph_of is not None and object_ is not None:
            self.unknown = evaluator.kb.graph_of[self.subject] == evaluator.kb.graph_of[object_]
        if object_ is None:
            self.unknown &= evaluator.kb.domain
        self.unknown[self.place[: self.num_facts]] = False
        self.is_class = evaluator.kb.predicate_id(rule.target) in evaluator.kb.classes
        self.answers = ArrayCache(evaluator.memory // 8)

    def answers_of(self, rule: Rule, statement: Statement) -> Mask:
        """Return the truth of a statement for every entity on the open side; nothing is hidden."""
        line = Line.of(self.evaluator.kb, statement)

        def make() -> Mask:
            members = None if rule.distinct else line_members(self.evaluator, line)
            return truth_of(self.evaluator, rule, line, self.tuples, None) if members is None else members

        return self.answers.get((statement, rule.distinct), make)

    def unhidden(self, rule: Rule, statement: Statement) -> Mask:
        return self.answers_of(rule, statement)[self.place]

    def hidden_answers_of(self, rule: Rule, statement: Statement) -> Mask:
        """Return `answers_of` with hidden facts: a query for the class of an object hides all its classes."""
        line = Line.of(self.evaluator.kb, statement)
        if not self.is_class or not self.hidden.touches(line):
            return self.answers_of(rule, statement)
        return self.cache.get(
            (statement, rule.distinct, "all"), lambda: truth_of(self.evaluator, rule, line, self.tuples, self.hidden)
        )

    def others(self, rule: Rule) -> tuple[int, int]:
        holds = self.unknown & combined(rule.body, lambda s: self.hidden_answers_of(rule, s), True)
        return int(holds.sum()), int(self.has_fact[self.subject[holds]].sum())


class TruthTable:
    """The truth of statements for the head tuples of `rule`, from the answers that `counts` caches.

    `label` says which tuples are facts of the target, `of` where a statement holds, with each fact hidden from itself.
    With given negatives, the tuples are the facts and the negatives; otherwise all tuples of the head.
    """

    def __init__(self, counts: BatchStatistics, rule: Rule) -> None:
        self.rule = Rule(rule.head, rule.body)  # entities need not be distinct
        self.table = table = counts.table(rule)
        self.listed = table.against_negatives
        self.num_entities = counts.evaluator.kb.num_entities
        self.label = np.zeros(0, bool)
        if not self.exists:
            return
        if self.listed:
            self.label = np.arange(len(table.x)) < table.num_facts
        elif isinstance(table, EntityHead):
            self.fact_positions = table.place[: table.num_facts]
            self.usable = table.unknown.copy()
            self.usable[self.fact_positions] = True
            self.label = self._with_facts(np.zeros(self.num_entities, bool), np.ones(len(self.fact_positions), bool))
        else:
            self.fact_positions = table.x * self.num_entities + table.y
            self.usable = np.ones(self.num_entities**2, bool)
            self.label = self._with_facts(np.zeros(len(self.usable), bool), np.ones(len(self.fact_positions), bool))

    @property
    def exists(self) -> bool:
        """Whether the tuples are few enough for a table."""
        if self.listed or isinstance(self.table, EntityHead):
            return True
        return (
            isinstance(self.table, OpenHead)
            and self.table.pairs.as_bits
            and self.num_entities**2 <= MAX_TUPLES
            and self.table.evaluator.kb.graph_of is None
        )

    def of(self, statement: Statement) -> Mask | None:
        """Return where `statement` holds; None if its answers exceed the memory budget."""
        try:
            return self._of(statement)
        except (TooLarge, LimitError):
            return None

    def _of(self, statement: Statement) -> Mask:
        table, rule = self.table, self.rule
        if self.listed:
            return np.broadcast_to(table.holds(rule, statement), table.x.shape)
        if isinstance(table, EntityHead):
            truth = table.answers_of(rule, statement)
        else:
            assert isinstance(table, OpenHead)
            truth = self._unpacked(table.pairs.words(rule, statement))
        if table.hidden.touches(Line.of(table.evaluator.kb, statement)):
            return self._with_facts(truth, table.holds(rule, statement)[: table.num_facts])
        return truth[self.usable]

    def _unpacked(self, words: np.ndarray) -> Mask:
        n = self.num_entities
        bits = np.unpackbits(np.ascontiguousarray(words).astype("<u8").view(np.uint8), axis=-1, bitorder="little")
        whole = bits[:, :1] if words.shape[1] == 1 and n > 64 else bits[:, :n]
        return np.broadcast_to(whole.astype(bool), (n, n)).ravel()

    def _with_facts(self, truth: Mask, of_facts: Mask) -> Mask:
        truth = truth.copy()
        truth[self.fact_positions] = of_facts
        return truth[self.usable]
