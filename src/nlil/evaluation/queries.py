"""Queries of binary targets: the distinct queries of given facts, and their known answers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from ..data.arrays import Ids, Longs, Mask, offsets, ranges, run_starts
from ..data.facts import Facts
from ..kernel.graph import Graph
from ..kernel.ruleset import RuleSet
from ..progress import Progress
from .places import QueryBlock
from .plan import Plan

TargetGroup = tuple[int, int, Longs]
"""A target, a direction, and rows of facts."""


class TargetQueries(NamedTuple):
    """Queries of one target in one direction.

    Attributes:
        target: a predicate id.
        direction: 0 asks for objects, 1 for subjects.
        query: the known entity of each query.
        hidden: the other end of its hidden fact, or -1.
    """

    target: int
    direction: int
    query: Ids
    hidden: Ids


@dataclass(frozen=True, eq=False)
class AnswerIndex:
    """The known answers of one target in one direction: answer[pointer[e] : pointer[e + 1]] for the query at e."""

    pointer: Longs
    answer: Ids

    @classmethod
    def of(cls, facts: Facts, target: int, direction: int, num_entities: int) -> AnswerIndex:
        """Collect the answers of `target` and `direction` in `facts`, by known entity; ids are below `num_entities`."""
        found = facts.of(target)
        ends = (found.subject, found.object)
        known, answer = ends[direction], ends[1 - direction]
        pairs = np.unique(known.astype(np.int64) * num_entities + answer)
        return cls(offsets(pairs // num_entities, num_entities), (pairs % num_entities).astype(np.int32))

    def to(self, entity: int) -> Ids:
        """Return the known answers of the query at `entity`."""
        return self.answer[self.pointer[entity] : self.pointer[entity + 1]]


def known_answers(graph: Graph, more: Facts, target: int, direction: int, query: Ids) -> tuple[Longs, Ids]:
    """Return (pointer, answer): the known answers of each query, ascending.

    They come from the facts of `graph` and from `more` facts. query[i] (`query`) is the known entity of a query of the
    predicate id `target` in this `direction`.
    """
    low, high = graph.edges(query, 2 * target + direction)
    answer = graph.neighbour[ranges(low, high - low)]
    first, others = answers_among(more, target, direction, query)
    row = np.concatenate([np.repeat(np.arange(len(query)), count) for count in (high - low, np.diff(first))])
    pairs = np.unique(row * graph.num_entities + np.concatenate((answer, others)))
    return offsets(pairs // graph.num_entities, len(query)), (pairs % graph.num_entities).astype(np.int32)


def answers_among(facts: Facts, target: int, direction: int, query: Ids) -> tuple[Longs, Ids]:
    """Return (pointer, answer): the answers of each query in `facts`; other arguments as in `known_answers`."""
    known = facts.of(target)
    ends = (known.subject, known.object)
    order = np.argsort(ends[direction], kind="stable")
    given = ends[direction][order]
    first, last = np.searchsorted(given, query), np.searchsorted(given, query, side="right")
    return np.append(0, np.cumsum(last - first)), ends[1 - direction][order][ranges(first, last - first)]


@dataclass(frozen=True, eq=False)
class QueryBatch:
    """The distinct queries of one target in one `direction`: query[i] is the known entity.

    rows[pointer[i] : pointer[i + 1]] are the facts of query i, and `answer` has their other ends. `known` and
    `known_pointer` are the `known_answers`, which do not compete. hidden[i] is the other end of the hidden fact of
    query i, or -1. `plan` has the rules of the target with a loop, `rest` the others.
    """

    plan: Plan
    rest: RuleSet
    direction: int
    query: Ids
    hidden: Ids
    pointer: Longs
    rows: Longs
    answer: Ids
    known_pointer: Longs
    known: Ids

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
        graph: Graph,
    ) -> QueryBatch:
        """Collect the queries of the given `rows` of `facts`; `own` marks facts to hide from their own query.

        `plan` and `rest` are as above; the facts of `graph` and the `known` facts do not compete.
        """
        ends = (facts.subject[rows], facts.object[rows])
        query, answer = ends[direction], ends[1 - direction]
        hidden = np.where(own[rows], answer, -1).astype(np.int32)
        order = np.lexsort((hidden, query))
        rows, query, answer, hidden = rows[order], query[order], answer[order], hidden[order]
        first = run_starts(query, hidden)
        pointer = np.append(np.flatnonzero(first), len(rows))
        query, hidden = query[first], hidden[first]
        answers = known_answers(graph, known, target, direction, query)
        return cls(plan, rest, direction, query, hidden, pointer, rows, answer, *answers)


@dataclass(frozen=True, eq=False)
class RankingTask:
    """Queries `low` .. `high` - 1 of a `batch`.

    `extra` has rows (candidate, evidence) for each query, from rules without a loop (`programs`).
    """

    batch: QueryBatch
    low: int
    high: int
    extra: list[np.ndarray]

    @property
    def rows(self) -> Longs:
        """The rows of the facts of the queries."""
        return self.batch.rows[self.batch.pointer[self.low] : self.batch.pointer[self.high]]

    @property
    def block(self) -> QueryBlock:
        """The queries in the form that compiled loops expect."""
        batch, some = self.batch, slice(self.low, self.high)
        pointer, known = (p[self.low : self.high + 1] for p in (batch.pointer, batch.known_pointer))
        return QueryBlock(
            batch.query[some],
            batch.hidden[some],
            batch.answer[pointer[0] : pointer[-1]],
            pointer - pointer[0],
            batch.known[known[0] : known[-1]],
            known - known[0],
            *flat(self.extra),
        )


def flat(extra: list[np.ndarray]) -> tuple[np.ndarray, Longs]:
    """Return `extra`, the rows of each query, concatenated, with the offset of each query."""
    return np.concatenate(extra), np.cumsum([0] + [len(rows) for rows in extra])


def queries_done(progress: Progress, name: str, reached: Longs, all_queries: int) -> Progress:
    """Return a progress callback that converts numbers of tasks into numbers of queries.

    After n tasks, reached[n] (`reached`) of `all_queries` are done. `name` is the stage reported to `progress`.
    """

    def report(stage: str, done: int, total: int, note: str = "") -> None:
        progress(name, int(reached[done]), all_queries)

    return report
