"""Queries of binary targets: those of given facts, each query once, and which answers are known."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets
from ..data.facts import Facts
from ..kernel.ruleset import RuleSet
from ..progress import Progress
from .plan import Plan

Group = tuple[int, int, Longs]
"""A target, a direction, and rows of facts."""


@dataclass(frozen=True, eq=False)
class Answers:
    """Known answers of one target in one direction: those of a query at e are answer[pointer[e] : pointer[e + 1]]."""

    pointer: Longs
    answer: Ids

    @classmethod
    def of(cls, facts: Facts, target: int, direction: int, num_entities: int) -> Answers:
        """Collect the answers that `facts` hold for a target, in one direction of query; there are `num_entities`."""
        mine = facts.of(target)
        ends = (mine.subject, mine.object)
        known, answer = ends[direction], ends[1 - direction]
        pairs = np.unique(known.astype(np.int64) * num_entities + answer)
        return cls(offsets(pairs // num_entities, num_entities), (pairs % num_entities).astype(np.int32))

    def to(self, entity: int) -> Ids:
        """Return the known answers of the query at `entity`."""
        return self.answer[self.pointer[entity] : self.pointer[entity + 1]]


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """The queries of one target in one `direction`, each once: query[i] is the entity that it knows.

    The facts pointer[i] .. pointer[i + 1] of `rows` are those of query i, and `answer` holds their other ends.
    hidden[i] is the other end of its own fact, or -1. `plan` has the rules of the target, `rest` those without a loop
    there, `answers` what does not compete.
    """

    plan: Plan
    rest: RuleSet
    answers: Answers
    direction: int
    query: Ids
    hidden: Ids
    pointer: Longs
    rows: Longs
    answer: Ids

    @classmethod
    def of(
        cls,
        target: int,
        direction: int,
        rows: Longs,
        plan: Plan,
        rest: RuleSet,
        facts: Facts,
        known: Facts,
        own: Mask,
        num_entities: int,
    ) -> QueryBatch:
        """Collect the queries of those `facts` that are in `rows`; `own` marks facts that their query must not see.

        `plan` and `rest` as above; there are `num_entities`.
        """
        ends = (facts.subject[rows], facts.object[rows])
        query, answer = ends[direction], ends[1 - direction]
        hidden = np.where(own[rows], answer, -1).astype(np.int32)
        order = np.lexsort((hidden, query))
        rows, query, answer, hidden = rows[order], query[order], answer[order], hidden[order]
        first = np.ones(len(rows), bool)
        first[1:] = (query[1:] != query[:-1]) | (hidden[1:] != hidden[:-1])
        pointer = np.append(np.flatnonzero(first), len(rows))
        answers = Answers.of(known, target, direction, num_entities)
        return cls(plan, rest, answers, direction, query[first], hidden[first], pointer, rows, answer)


@dataclass(frozen=True, eq=False)
class Task:
    """Queries low .. high - 1 of a `batch`, and the evidence of rules that have no loop of their own (`programs`).

    That is in `extra`: rows (candidate, evidence) for each query.
    """

    batch: QueryBatch
    low: int
    high: int
    extra: list[np.ndarray]

    @property
    def rows(self) -> Longs:
        """The rows of the facts that the queries come from."""
        return self.batch.rows[self.batch.pointer[self.low] : self.batch.pointer[self.high]]


def queries_done(progress: Progress, name: str, reached: Longs, all_queries: int) -> Progress:
    """Return a report of queries where tasks are counted: after n of them reached[n] of `all_queries` are done.

    `name` is the stage that `progress` is told of.
    """

    def report(stage: str, done: int, total: int, note: str = "") -> None:
        progress(name, int(reached[done]), all_queries)

    return report
