"""Where chains lead from the known end of a block of queries: enumerated once, whatever the attentions are.

Rows are (source, node); a source is one query (equal ones share it). A row exists where a chain of at most T
operators leads. `moves[t]` lists the edges of step t + 1 between rows: one sparse product per step and all ranks.

Below it the metrics of a chain model: its scores, and the ranks and figures of `nlil.evaluation`. Every reachable
entity has some score, most of them tiny. Rounding a score u to 1e-9 would tie them with entities that no chain
reaches, so what is rounded and compared is 1 - log u / log threshold: same order, same [0, 1].
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from nlil.data.arrays import Doubles, Ids, Longs, Mask
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.evaluation.metrics import Metrics
from nlil.evaluation.protocol import SplitFigures, binary_figures, class_figures, member_figures
from nlil.evaluation.ranking import AnswerIndex
from nlil.kernel.aggregation import Ranks, class_ranks, count_ranks, evidence, realistic_rank, tie_bounds
from nlil.kernel.calculus import ranges
from nlil.kernel.hidden import class_mask, hides_edge, hides_membership
from nlil.kernel.pool import Pool
from nlil.neural.paths import PathLimits, attention_graph
from nlil.neural.products import Products
from nlil.neural.sampling import NO_ENTITY
from nlil.neural.space import PADDING, operators_of
from nlil.progress import Progress

from .batch_ranking import joined_metrics

if TYPE_CHECKING:
    from .neural_lp import NeuralLPModel

THRESHOLD = 1e-20
"""Less than this is nothing: the floor under sums that divide and under scores in a logarithm."""
SMALL_WORLD = 2048
"""Entities of a graph up to which every unary query has rows of its own."""
BYTES_PER_EDGE = 96
BYTES_PER_EDGE_AND_STEP = 32


@dataclass(frozen=True, eq=False)
class ChainQueries:
    """p(x, ?) has the code 2p and knows x; p(?, y) has 2p + 1 and knows y; u(?) has 2u and knows NO_ENTITY.

    `hide`: the query's own fact is in the base and may not be walked.
    """

    code: Longs
    known: Longs
    answer: Longs
    hide: Mask

    @classmethod
    def of(cls, facts: Facts, hide: Mask) -> ChainQueries:
        """Both directions of binary facts, one query for a unary fact: first those with an even code, in order."""
        p, s, o = (a.astype(np.int64) for a in (facts.predicate, facts.subject, facts.object))
        binary = ~facts.is_unary
        return cls(
            np.concatenate((2 * p, 2 * p[binary] + 1)),
            np.concatenate((np.where(binary, s, NO_ENTITY), o[binary])),
            np.concatenate((np.where(binary, o, s), s[binary])),
            np.concatenate((hide, hide[binary])),
        )

    def __len__(self) -> int:
        return len(self.code)

    def __getitem__(self, rows: Longs | Mask | slice) -> ChainQueries:
        return ChainQueries(self.code[rows], self.known[rows], self.answer[rows], self.hide[rows])


@dataclass(frozen=True, eq=False)
class Walks:
    """A block of queries, ready for any attentions."""

    codes: Longs  # the different query codes of the block
    key: Tensor  # int64 (rows,): source * num_entities + node, ascending
    start: Tensor  # float32 (rows,): u_0
    moves: tuple[Products, ...]  # left: row, right: position of the query's code * operators + operator
    by_code: Products  # each row beside the position of its query's code
    by_source: Products  # each row beside its source
    into_source: Products  # the rows of each source, added up
    source_of: Longs  # source of each query
    answer: Tensor  # int64 (queries,): row of the answer; NO_ENTITY where no chain leads there

    @property
    def size(self) -> int:
        """Edges that one evaluation walks."""
        return sum(len(m) for m in self.moves)


Edges = tuple[Tensor, Tensor, Tensor, Tensor]
"""From a row, to a row, by an operator, with a weight."""


class ChainMap:
    """The base as chain operators: every step along a predicate, and last "stay", which keeps everything."""

    def __init__(self, kb: KnowledgeBase, steps: int, limits: PathLimits, device: str = "cpu") -> None:
        self.kb, self.steps, self.limits = kb, steps, limits
        self.graph = attention_graph(kb, device)
        self.device = self.graph.pointer.device
        self.operators: Ids = operators_of(kb, np.arange(kb.num_predicates, dtype=np.int32))
        self.stay = len(self.operators)
        operator = np.full(kb.num_codes, PADDING, np.int64)
        operator[self.operators] = np.arange(self.stay)
        self.operator, self.is_class = self._put(operator), self._put(class_mask(kb))
        graph = np.zeros(kb.num_entities, np.int64) if kb.graph_of is None else kb.graph_of.astype(np.int64)
        self.graph_of = np.where(kb.domain, graph, kb.num_graphs)
        self.members = np.argsort(self.graph_of, kind="stable")
        # The last graph is nobody's: entities of other splits.
        self.member_pointer = np.searchsorted(self.graph_of[self.members], np.arange(kb.num_graphs + 2))
        self.is_small = np.diff(self.member_pointer) <= SMALL_WORLD

    @property
    def num_operators(self) -> int:
        return self.stay + 1

    def _put(self, array: np.ndarray) -> Tensor:
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    # blocks ---------------------------------------------------------------------------------------

    def work(self) -> tuple[Longs, Longs]:
        """At most so many edges a query walks: (by its known entity, for unary queries by graph)."""
        pointer, neighbour = self.graph.pointer.cpu().numpy(), self.graph.neighbour.cpu().numpy()
        degree = np.diff(pointer) + 1.0
        node = np.repeat(np.arange(len(degree)), np.diff(pointer))
        edges, before = degree.copy(), np.zeros_like(degree)
        for _ in range(self.steps - 1):
            edges, before = np.minimum(degree + np.bincount(node, edges[neighbour], len(degree)), degree.sum()), edges
            if np.array_equal(edges, before):
                break
        by_graph = np.bincount(self.graph_of, degree, self.kb.num_graphs + 1)
        return edges.astype(np.int64), by_graph.astype(np.int64)

    def parts(self, queries: ChainQueries, work: tuple[Longs, Longs], memory: int) -> Iterator[ChainQueries]:
        """Runs of the queries whose walks fit into the memory."""
        by_entity, by_graph = work
        graph = self.graph_of[queries.answer]
        each = np.where(queries.known == NO_ENTITY, by_graph[graph], by_entity[queries.known])
        each[(queries.known == NO_ENTITY) & ~(queries.hide & self.is_small[graph])] = 1  # they share one source
        most = max(memory // (BYTES_PER_EDGE + self.steps * BYTES_PER_EDGE_AND_STEP), 1)
        low, total = 0, 0
        for i, edges in enumerate(each):
            if total and total + edges > most:
                yield queries[low:i]
                low, total = i, 0
            total += int(edges)
        if low < len(queries):
            yield queries[low:]

    def walks(self, queries: ChainQueries) -> Walks:
        sources, source_of = self._sources(queries)
        codes, position = np.unique(sources[:, 0], return_inverse=True)
        key, start = self._start(sources)
        key, start, lists = self._reach(key, start, sources, self._hidden_members(queries, source_of))
        source = key // self.kb.num_entities
        code = self._put(position.reshape(-1).astype(np.int64))[source]
        rows = torch.arange(len(key), device=self.device)
        one = torch.zeros_like(rows)
        moves = self._moves(key, lists, code, len(codes))
        wanted = self._put(source_of * self.kb.num_entities + queries.answer)
        row = torch.searchsorted(key, wanted).clamp(max=max(len(key) - 1, 0))
        return Walks(
            codes,
            key,
            start,
            moves,
            Products.of(rows, rows, code, None, len(key), len(key), len(codes)),
            Products.of(rows, rows, source, None, len(key), len(key), len(sources)),
            Products.of(source, rows, one, None, len(sources), len(key), 1),
            source_of,
            torch.where(key[row] == wanted, row, NO_ENTITY),
        )

    def _sources(self, queries: ChainQueries) -> tuple[Longs, Longs]:
        """(code, known, hidden end, graph, group) of each source; source of each query.

        A unary query starts from its whole graph, so in a large one the queries of a block share their source,
        and what one of them hides is hidden from all.
        """
        unary = queries.known == NO_ENTITY
        graph = np.where(unary, self.graph_of[queries.answer], 0)
        group = np.where(queries.hide, np.where(self.is_small[graph], queries.answer, self.kb.num_entities), NO_ENTITY)
        hidden = np.where(queries.hide & ~unary, queries.answer, NO_ENTITY)
        columns = (queries.code, queries.known, hidden, graph, np.where(unary, group, NO_ENTITY))
        sources, source_of = np.unique(np.stack(columns, 1), axis=0, return_inverse=True)
        return sources, source_of.reshape(-1).astype(np.int64)

    def _hidden_members(self, queries: ChainQueries, source_of: Longs) -> Tensor:
        """Keys whose unary facts of the own predicate (or class group) are hidden."""
        is_hidden = (queries.known == NO_ENTITY) & queries.hide
        return self._put(np.unique(source_of[is_hidden] * self.kb.num_entities + queries.answer[is_hidden]))

    def _start(self, sources: Longs) -> tuple[Tensor, Tensor]:
        """u_0: all at the known entity; of a unary query spread over its graph."""
        known, graph = self._put(sources[:, 1]), self._put(sources[:, 3])
        pointer = self._put(self.member_pointer)
        low = torch.where(known == NO_ENTITY, pointer[graph], 0)
        high = torch.where(known == NO_ENTITY, pointer[graph + 1], 1)
        source, position = ranges(low, high)
        node = torch.where(known[source] == NO_ENTITY, self._put(self.members)[position], known[source])
        key, order = torch.sort(source * self.kb.num_entities + node)
        return key, (1.0 / (high - low)[source[order]]).float()

    # steps ----------------------------------------------------------------------------------------

    def _reach(self, key: Tensor, start: Tensor, sources: Longs, hidden: Tensor) -> tuple[Tensor, Tensor, list[Edges]]:
        """All rows within T steps, and by the depth of its first row every edge (row, row, operator, weight)."""
        table = self._put(sources)
        frontier = key
        lists: list[Edges] = []
        for _ in range(self.steps):
            lists.append(self._expand(frontier, table, hidden))
            reached = torch.unique(lists[-1][1])
            place = torch.searchsorted(key, reached).clamp(max=max(len(key) - 1, 0))
            frontier = reached[key[place] != reached]
            key, order = torch.sort(torch.cat([key, frontier]))
            start = torch.cat([start, start.new_zeros(len(frontier))])[order]
        return key, start, [(torch.searchsorted(key, a), torch.searchsorted(key, b), o, w) for a, b, o, w in lists]

    def _expand(self, frontier: Tensor, sources: Tensor, hidden: Tensor) -> Edges:
        """Edges from the frontier, of the sources whose step fits the limit; everyone may stay."""
        width, graph = self.kb.num_entities, self.graph
        source, node = frontier // width, frontier % width
        edges = torch.zeros(len(sources), dtype=torch.int64, device=self.device)
        edges.index_add_(0, source, graph.degree(node))
        within = edges[source] <= self.limits.step_edges
        row, position = graph.edges_of(node[within])
        first = frontier[within][row]
        code, neighbour, owner = graph.code[position], graph.neighbour[position], first // width
        ok = ~self._is_own_fact(first, code, neighbour, sources[owner], hidden)
        weight = graph.weight[position] if len(graph.weight) else torch.ones(len(row), device=self.device)
        second = owner * width + neighbour
        stay = torch.full_like(frontier, self.stay)
        return (
            torch.cat([first[ok], frontier]),
            torch.cat([second[ok], frontier]),
            torch.cat([self.operator[code[ok]], stay]),
            torch.cat([weight[ok], torch.ones_like(stay).float()]),
        )

    def _is_own_fact(self, first: Tensor, code: Tensor, neighbour: Tensor, source: Tensor, hidden: Tensor) -> Tensor:
        """Whether an edge is the query's own fact, walked either way."""
        own, known, end = source[:, 0], source[:, 1], source[:, 2]
        is_own = (end != NO_ENTITY) & hides_edge(own, known, end, code, first % self.kb.num_entities, neighbour)
        if not len(hidden):
            return is_own
        place = torch.searchsorted(hidden, first).clamp(max=len(hidden) - 1)
        return is_own | (hides_membership(self.is_class, own // 2, code // 2) & (hidden[place] == first))

    def _moves(self, key: Tensor, lists: list[Edges], code: Tensor, num_codes: int) -> tuple[Products, ...]:
        """Step t leaves from every row within t - 1 steps; once nothing new is reached all steps are the same."""
        moves: list[Products] = []
        for t in range(1, self.steps + 1):
            if moves and not len(lists[t - 1][0]):
                moves.append(moves[-1])
                continue
            first, second, operator, weight = (torch.cat([e[i] for e in lists[:t]]) for i in range(4))
            choice = code[first] * self.num_operators + operator
            moves.append(
                Products.of(
                    second,
                    first,
                    choice,
                    weight if len(self.graph.weight) else None,
                    len(key),
                    len(key),
                    num_codes * self.num_operators,
                )
            )
        return tuple(moves)


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
    return joined_metrics(parts, started, ["soft scores of Neural-LP, no rules"])


def score_evidence(score: Doubles) -> Longs:
    """Evidence of 1 - log u / log threshold; 0 below the threshold."""
    return evidence(1 - np.log(np.maximum(score, THRESHOLD)) / np.log(THRESHOLD))


def _binary(scorer: ChainScorer, facts: Facts, known: Facts) -> SplitFigures:
    return binary_figures(scorer.ranks(facts, known), facts, scorer.kb) if len(facts) else ({}, {}, 0)


def _classes(scorer: ChainScorer, facts: Facts) -> SplitFigures:
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
        queries = ChainQueries.of(facts, facts.isin(self.kb.facts))
        answers = {
            int(code): AnswerIndex.of(known, int(code) // 2, int(code) % 2, self.kb.num_entities)
            for code in np.unique(queries.code)
        }
        order = np.lexsort((queries.known, queries.code))  # equal queries stand together and share their walks

        def run(total: Longs, part: ChainQueries) -> np.ndarray:
            return self._rank_part(total, part, answers)

        ranked = self.pool.map(run, list(self._parts(queries[order])), "rank", self.progress)
        result = np.empty((2, len(queries)), np.int64)
        result[:, order] = np.concatenate(ranked, axis=1)
        return Ranks(np.tile(np.arange(len(facts)), 2), queries.code % 2, *result)

    def _rank_part(self, total: Longs, part: ChainQueries, answers: dict[int, AnswerIndex]) -> np.ndarray:
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
            return score_evidence(np.where(row == NO_ENTITY, 0.0, score[row]))

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
                place[i] = 1 - (realistic_rank(above, tied) - 1) / max(rivals, 1)
            return evidence(place)

        return self._of_entities(run, target, entities, np.isin(entities, members))

    def _of_entities(
        self, run: Callable[[Longs, ChainQueries], Longs], target: int, entities: Ids, hide: Mask
    ) -> Longs:
        nobody = np.full(len(entities), NO_ENTITY, np.int64)
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
