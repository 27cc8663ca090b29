"""Metrics of a chain model: its scores, and the ranks and figures of `nlil.evaluation`.

Every reachable entity has some score, most of them tiny. Rounding a score u to 1e-9 would tie them with entities
that no chain reaches, so what is rounded and compared is 1 - log u / log threshold: same order, same [0, 1].
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np

from nlil.data.arrays import Doubles, Ids, Longs, Mask
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.evidence import evidence, tie_bounds
from nlil.evaluation.metrics import Metrics, class_ranks
from nlil.evaluation.protocol import Part, binary_figures, class_figures, member_figures, peak_memory_mb
from nlil.evaluation.ranking import Answers, Ranks, known_rows
from nlil.evaluation.scoring import count_ranks
from nlil.kernel.pool import Pool
from nlil.neural.sources import NOBODY
from nlil.progress import Progress

from .chain_walks import ChainMap, ChainQueries, Walks
from .controller import THRESHOLD

if TYPE_CHECKING:
    from .neural_lp import NeuralLPModel

BLOCK = 256
"""Queries of one task."""


def chain_metrics(
    model: NeuralLPModel, kb: KnowledgeBase, facts: Facts, splits: Splits | None, split: str, progress: Progress
) -> Metrics:
    """As `evaluation.evaluate` does it for rules."""
    started = time.perf_counter()
    known = (splits.all() if splits is not None else facts) + kb.facts
    context = splits.context.get(split) if splits is not None else facts.context
    if context is not None:
        kb = kb.with_facts(context)
    ids = np.array([kb.predicate_id(p) for p in model.targets], np.int32)
    facts = facts[np.isin(facts.predicate, ids)]
    scorer = ChainScorer(model, kb, progress)
    parts = [
        _binary(scorer, facts[~facts.is_unary], known),
        _classes(scorer, facts),
        member_figures(scorer.member_evidence, kb, facts, known),
    ]
    values = {name: value for part in parts for name, value in part[0].items()}
    per_predicate = {name: figures for part in parts for name, figures in part[1].items()}
    return Metrics(
        values,
        per_predicate,
        sum(part[2] for part in parts),
        0,
        time.perf_counter() - started,
        peak_memory_mb(),
        ("soft scores of Neural-LP, no rules",),
    )


def score_evidence(score: Doubles) -> Longs:
    """Evidence of 1 - log u / log threshold; 0 below the threshold."""
    return evidence(1 - np.log(np.maximum(score, THRESHOLD)) / np.log(THRESHOLD))


def _binary(scorer: ChainScorer, facts: Facts, known: Facts) -> Part:
    return binary_figures(scorer.ranks(facts, known), facts, scorer.kb) if len(facts) else ({}, {}, 0)


def _classes(scorer: ChainScorer, facts: Facts) -> Part:
    kb = scorer.kb
    classes = np.array([p for p in map(kb.predicate_id, scorer.model.targets) if p in kb.classes], np.int32)
    facts = facts[np.isin(facts.predicate, classes)]
    if not len(facts):
        return {}, {}, 0
    total = np.stack([scorer.class_evidence(int(p), facts.subject) for p in classes], 1)
    answer = (facts.predicate[:, None] == classes).argmax(1)
    return class_figures(class_ranks(total, answer), facts, kb)


class ChainScorer:
    """Scores of many queries, block by block on several threads."""

    def __init__(self, model: NeuralLPModel, kb: KnowledgeBase, progress: Progress) -> None:
        config = model.config
        self.model, self.kb, self.progress = model, kb, progress
        self.map = ChainMap(kb, config.steps, config.limits, str(model.controller.embedding.device))
        self.work = self.map.work()
        self.pool: Pool[Longs] = Pool(lambda: np.zeros(kb.num_entities, np.int64), config.threads)

    def ranks(self, facts: Facts, known: Facts) -> Ranks:
        """Filtered ranks of both directions of every fact."""
        queries = ChainQueries.of(facts, known_rows(facts, self.kb.facts, self.kb.num_entities))
        answers = {
            int(code): Answers.of(known, int(code) // 2, int(code) % 2, self.kb.num_entities)
            for code in np.unique(queries.code)
        }
        order = np.lexsort((queries.known, queries.code))  # equal queries stand together and share their walks

        def run(total: Longs, part: ChainQueries) -> np.ndarray:
            return self._rank_part(total, part, answers)

        ranked = self.pool.map(run, list(self._parts(queries[order])), "rank", self.progress)
        result = np.empty((2, len(queries)), np.int64)
        result[:, order] = np.concatenate(ranked, axis=1)
        return Ranks(np.tile(np.arange(len(facts)), 2), queries.code % 2, *result)

    def _rank_part(self, total: Longs, part: ChainQueries, answers: dict[int, Answers]) -> np.ndarray:
        walks = self.map.walks(part)
        power = score_evidence(self.model.row_scores(walks).cpu().numpy())
        key, width = walks.key.cpu().numpy(), self.kb.num_entities
        low, high = self._rows(walks)
        result = np.empty((2, len(part)), np.int64)
        for i, answer in enumerate(part.answer):
            nodes = key[low[i] : high[i]] % width
            total[nodes] = power[low[i] : high[i]]
            of_query = answers[int(part.code[i])].to(int(part.known[i]))
            result[:, i] = count_ranks(total, answer, of_query, *tie_bounds(total[answer]))
            total[nodes] = 0
        return result

    def class_evidence(self, target: int, entities: Ids) -> Longs:
        """The evidence of a class for each x, whatever class x has being hidden: comparable between classes."""

        def run(_: Longs, part: ChainQueries) -> Longs:
            walks = self.map.walks(part)
            score = self.model.row_scores(walks).cpu().numpy()
            row = walks.answer.cpu().numpy()
            return score_evidence(np.where(row == NOBODY, 0.0, score[row]))

        return self._of_entities(run, target, entities, np.ones(len(entities), bool))

    def member_evidence(self, target: int, entities: Ids) -> Longs:
        """The place of each x in the answers of target(?), from 0 (last) to 1, its own fact hidden, as evidence.

        Scores cannot be compared themselves: what is hidden changes the sum by which all of them are divided, so
        members would stand out by being hidden. Places among the entities not known to be members can.
        """
        members = self.kb.members(target)

        def run(_: Longs, part: ChainQueries) -> Longs:
            walks = self.map.walks(part)
            power = score_evidence(self.model.row_scores(walks).cpu().numpy())
            low, high = self._rows(walks)
            place = np.empty(len(part))
            for i, answer in enumerate(part.answer):
                nodes = walks.key[low[i] : high[i]].cpu().numpy() % self.kb.num_entities
                others = np.flatnonzero(np.isin(nodes, members))
                own, total = int(np.searchsorted(nodes, answer)), power[low[i] : high[i]]
                above, tied = count_ranks(total, own, others, *tie_bounds(total[own]))
                rivals = len(nodes) - len(np.setdiff1d(others, own)) - 1
                place[i] = 1 - (above + (tied - 1) / 2) / max(rivals, 1)
            return evidence(place)

        return self._of_entities(run, target, entities, np.isin(entities, members))

    def _of_entities(
        self, run: Callable[[Longs, ChainQueries], Longs], target: int, entities: Ids, hide: Mask
    ) -> Longs:
        nobody = np.full(len(entities), NOBODY, np.int64)
        queries = ChainQueries(np.full_like(nobody, 2 * target), nobody, entities.astype(np.int64), hide)
        parts = self.pool.map(run, list(self._parts(queries)), "score", self.progress)
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def _rows(self, walks: Walks) -> tuple[Longs, Longs]:
        """(low, high): the rows of each query."""
        key, first = walks.key.cpu().numpy(), walks.source_of * self.kb.num_entities
        return np.searchsorted(key, first), np.searchsorted(key, first + self.kb.num_entities)

    def _parts(self, queries: ChainQueries) -> Iterator[ChainQueries]:
        memory = self.model.config.memory // self.pool.threads
        for low in range(0, len(queries), BLOCK):
            yield from self.map.parts(queries[low : low + BLOCK], self.work, memory)
