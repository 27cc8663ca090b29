"""Neural-LP (Yang, Yang and Cohen, NIPS 2017): chain rules by attention, with nlil's engine and evaluation.

A recurrent controller reads the target and attends, at each of T steps, to the operators (every predicate, its
inverse, "stay") and to the results of earlier steps; the score of an answer is what arrives there. All targets
share the controller. p(?, y) is a separate query, from y.

As everywhere in nlil, the query's own fact is hidden. (The original hides all facts of the batch.)

The original has no unary targets. u(?) knows no entity, so it starts from all entities of its graph,
unary predicates are operators that filter, and the score of x is what arrives at x. Starting from x and asking
whether the chain comes back, u(x, x), would be answered by "stay" alone. In graphs of more than
`chain_walks.SMALL_WORLD` entities the queries of a batch share one start, so each also hides the facts of the others.
"""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from nlil.config import parse_size
from nlil.data.arrays import Doubles, Ids
from nlil.data.dataset import Dataset
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError, NlilError
from nlil.evaluation.metrics import Metrics
from nlil.kernel.device import resolve_device
from nlil.kernel.threads import one_torch_thread
from nlil.logic.formula import ANY, TRUE, Formula, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule
from nlil.neural.generator import draw
from nlil.neural.paths import PathLimits
from nlil.neural.products import multiply_add
from nlil.neural.sampling import NO_ENTITY
from nlil.neural.space import operators_of
from nlil.progress import Progress, silent
from nlil.settings import Allowed, Settings, at_least, setting

from .chain_walks import THRESHOLD, ChainMap, ChainQueries, Walks, chain_metrics
from .interface import Baseline

UNLIMITED = PathLimits(step_edges=2**62)
LARGEST_GRADIENT = 5.0


@dataclass(frozen=True)
class NeuralLP(Settings):
    """The settings; defaults are the original's.

    Of the facts, the original uses one quarter as queries, always the same; its batches count facts, each a query in
    both directions.
    """

    steps: int = setting(2, "T, steps of the longest chain", at_least(1))
    rank: int = setting(3, "chains that are added up", at_least(1))
    hidden: int = setting(128, "hidden units of the controller", at_least(1))
    epochs: int = setting(10, "epochs")
    share: float = setting(
        1.0,
        "share of the queries, drawn anew for each epoch",
        Allowed("a number above 0 and at most 1", lambda v: 0 < v <= 1),
    )
    lr: float = setting(0.001, "learning rate of Adam")
    batch: int = setting(64, "queries per step", at_least(1))
    seed: int = 0
    device: str = setting("cpu", "cpu or cuda")
    threads: int = setting(1, "threads that score queries; 0: all cores")
    memory: int = setting(2**30, "bytes that batches are sized for", at_least(1), parse_size)
    limits: PathLimits = UNLIMITED

    def fit(
        self, kb: KnowledgeBase, targets: Sequence[str | Predicate] | None = None, progress: Progress = silent
    ) -> NeuralLPModel:
        """One controller for all `targets` (default: every predicate with facts)."""
        trainer = Trainer(self, kb, targets)
        history = []
        for epoch in range(self.epochs):
            loss, seconds = trainer.epoch(progress)
            history.append({"epoch": epoch + 1, "loss": loss, "seconds": seconds})
        return trainer.model(history)


class Trainer:
    """The controller, its optimiser, and the queries in an order drawn anew for each epoch."""

    def __init__(self, config: NeuralLP, kb: KnowledgeBase, targets: Sequence[str | Predicate] | None = None) -> None:
        self.config, self.kb, self.targets = config, kb, _targets(kb, targets)
        self.map = ChainMap(kb, config.steps, config.limits, resolve_device(config.device))
        ids = np.array([kb.predicate_id(p) for p in self.targets], np.int32)
        facts = kb.crisp.facts
        facts = facts[np.isin(facts.predicate, ids)]
        self.queries = ChainQueries.of(facts, np.ones(len(facts), bool))
        self.vocabulary = np.array([2 * p + d for p in sorted(ids.tolist()) for d in range(kb.predicates[p].arity)])
        self.controller = Controller(
            len(self.vocabulary), self.map.num_operators, config.steps, config.rank, config.hidden, config.seed
        ).to(self.map.device)
        self.optimiser = torch.optim.Adam(self.controller.parameters(), config.lr)
        self.random = np.random.default_rng(config.seed)
        self.work = self.map.work()

    def epoch(self, progress: Progress = silent, queries: int | None = None) -> tuple[float, float]:
        """(mean loss, seconds) of one pass over the epoch's share of the queries, or over so many of them."""
        begin = time.perf_counter()
        if queries is None:
            queries = math.ceil(self.config.share * len(self.queries))
        order = self.random.permutation(len(self.queries))[:queries]
        total = 0.0
        with one_torch_thread():
            for low in range(0, len(order), self.config.batch):
                total += self._batch(self.queries[order[low : low + self.config.batch]])
                done = min(low + self.config.batch, len(order))
                progress("neural-lp", done, len(order), f"loss {total / done:.4f}")
        return total / max(len(order), 1), time.perf_counter() - begin

    def _batch(self, queries: ChainQueries) -> float:
        """The summed loss, -log u_y; one step against its mean."""
        self.optimiser.zero_grad()
        total = 0.0
        for part in self.map.parts(queries, self.work, self.config.memory):
            loss = self.loss(self.map.walks(part))
            if loss.requires_grad:
                (loss / len(queries)).backward()
            total += float(loss.detach())
        torch.nn.utils.clip_grad_value_(self.controller.parameters(), LARGEST_GRADIENT)
        self.optimiser.step()
        return total

    def loss(self, walks: Walks) -> torch.Tensor:
        """Summed over the queries; an answer out of reach costs what the threshold says, and teaches nothing."""
        attentions = self.controller(_positions(self.vocabulary, walks.codes, self.map.device))
        value = chain_values(walks, attentions.precise()).mean(1)
        reached = walks.answer[walks.answer != NO_ENTITY]
        lost = len(walks.answer) - len(reached)
        return -value[reached].clamp(min=THRESHOLD).log().sum() - lost * float(np.log(THRESHOLD))

    def model(self, history: Sequence[dict[str, Any]] = ()) -> NeuralLPModel:
        return NeuralLPModel(self.config, self.kb, self.targets, self.vocabulary, self.controller, tuple(history))


class NeuralLPModel:
    """What was trained, with the base that it walks on. `history` has epoch, loss and seconds of each epoch."""

    def __init__(
        self,
        config: NeuralLP,
        kb: KnowledgeBase,
        targets: tuple[Predicate, ...],
        vocabulary: np.ndarray,
        controller: Controller,
        history: tuple[dict[str, Any], ...],
    ) -> None:
        self.config, self.kb, self.targets, self.vocabulary = config, kb, targets, vocabulary
        self.history = history
        self.controller = copy.deepcopy(controller).double()  # equal chains score the same

    @property
    def seconds(self) -> tuple[float, ...]:
        """Of each epoch."""
        return tuple(entry["seconds"] for entry in self.history)

    @torch.no_grad()
    def row_scores(self, walks: Walks) -> torch.Tensor:
        """(rows,): u, the mean over the chains."""
        positions = _positions(self.vocabulary, walks.codes, walks.key.device)
        return chain_values(walks, self.controller(positions)).mean(1)

    def scores(self, target: str | Predicate, x: str | int | None = None, inverse: bool = False) -> tuple[Ids, Doubles]:
        """(entities, scores), best first: the answers of target(x, ?), of target(?, x) if `inverse`; of target(?)
        for a unary target, in the graph of x. Entities that are not listed score 0. Nothing is hidden."""
        p = self._target_id(target)
        unary = self.kb.predicates[p].arity == 1
        entity = 0 if x is None else self.kb.entities.id(x) if isinstance(x, str) else x
        if x is None and not unary:
            raise ConfigError(f"scores: {self.kb.predicates[p]} needs the entity that the query knows; give x", "x")
        known = np.array([NO_ENTITY if unary else entity], np.int64)
        query = ChainQueries(np.array([2 * p + inverse]), known, np.array([entity], np.int64), np.zeros(1, bool))
        walks = ChainMap(self.kb, self.config.steps, self.config.limits, str(_device(self.controller))).walks(query)
        score = self.row_scores(walks).cpu().numpy()
        order = np.argsort(-score, kind="stable")
        order = order[score[order] > 0]
        return (walks.key.cpu().numpy()[order] % self.kb.num_entities).astype(np.int32), score[order]

    def rank(
        self,
        kb: KnowledgeBase,
        facts: Facts,
        splits: Splits | None = None,
        split: str = "test",
        progress: Progress = silent,
    ) -> Metrics:
        """The figures of `nlil.evaluate` on the facts of the targets: same queries, filter, ties and metrics."""
        if kb.predicates != self.kb.predicates:
            raise NlilError(
                "neural-lp: expected a base with the predicates that it was trained on, got others; "
                "load both from one data set"
            )
        with one_torch_thread():
            return chain_metrics(self, kb, facts, splits, split, progress)

    def rules(self, k: int = 3) -> dict[Predicate, list[SoftRule]]:
        """The k chains of each target with the largest product of attentions, for reading only.

        What Neural-LP prints is not what it scores: a score adds up all chains at once, normalised at each step by
        what they reach, and no set of printed rules gives the same ranks.
        """
        return soft_rules(self, k)

    def _target_id(self, target: str | Predicate) -> int:
        p = self.kb.predicate_id(self.kb.predicate(target) if isinstance(target, str) else target)
        if self.kb.predicates[p] not in self.targets:
            raise ConfigError(
                f"neural-lp: expected one of its {len(self.targets)} targets, "
                f"got {self.kb.predicates[p]}; train it with that target",
                "target",
            )
        return p


@dataclass(frozen=True)
class EpochTime:
    """`seconds` of a whole epoch of `queries` queries, from `measured` of them."""

    seconds: float
    queries: int
    measured: int


def chain_epoch_seconds(
    kb: KnowledgeBase,
    targets: Sequence[str | Predicate] | None = None,
    length: int = 2,
    queries: int | None = None,
    **settings: Any,
) -> EpochTime:
    """The time of one training epoch with chains of up to `length` atoms; the first batch, which compiles, is apart.

    `queries`: measure a random sample of so many and scale up; long chains reach everything from everywhere.
    """
    config = NeuralLP(steps=length, **settings)
    trainer = Trainer(config, kb, targets)
    trainer.epoch(queries=min(config.batch, queries or config.batch))
    measured = min(queries or len(trainer.queries), len(trainer.queries))
    _, seconds = trainer.epoch(queries=measured)
    return EpochTime(seconds * len(trainer.queries) / max(measured, 1), len(trainer.queries), measured)


def _positions(vocabulary: np.ndarray, codes: np.ndarray, device: torch.device) -> torch.Tensor:
    return torch.from_numpy(np.searchsorted(vocabulary, codes)).to(device)


def _device(controller: Controller) -> torch.device:
    return controller.embedding.device


def _targets(kb: KnowledgeBase, targets: Sequence[str | Predicate] | None) -> tuple[Predicate, ...]:
    if targets is None:
        found = [p for p, count in zip(kb.predicates, kb.predicate_counts) if count]
    else:
        found = [kb.predicate(t) if isinstance(t, str) else kb.predicates[kb.predicate_id(t)] for t in targets]
    if not found:
        raise NlilError("neural-lp: there is no predicate with facts to learn; check the data with: nlil inspect")
    return tuple(dict.fromkeys(found))


LARGEST_INNER_GRADIENT = 1e15
"""Of the recurrence in double precision: what is passed back to the controller in single precision stays below."""


@dataclass(frozen=True, eq=False)
class ChainAttentions:
    """For C query codes and R chains; each distribution sums to 1 over its last dimension."""

    operators: Tensor  # a (C, R, T, O)
    memories: tuple[Tensor, ...]  # b_1 .. b_(T + 1): (C, R, t), over u_0 .. u_(t - 1)

    def precise(self) -> ChainAttentions:
        """The same for a recurrence in double precision: gradients through two sums near the threshold need it.

        What comes back is cut to a size that the controller can bear in single precision.
        """

        def widened(t: Tensor) -> Tensor:
            wide = t.double()
            if wide.requires_grad:
                wide.register_hook(lambda gradient: gradient.clamp(-LARGEST_INNER_GRADIENT, LARGEST_INNER_GRADIENT))
            return wide

        return ChainAttentions(widened(self.operators), tuple(map(widened, self.memories)))


class Controller(nn.Module):
    """h_t = LSTM(h_(t-1), query), the last input being "end";  a_t = softmax(W h_t + w);
    b_t = softmax over tau < t of h_(tau+1) . h_t: the state that is about to write cell tau + 1 speaks for cell tau.

    Each of the `rank` chains has an LSTM and a W of its own; the embeddings of the queries are shared.
    """

    def __init__(self, num_queries: int, num_operators: int, steps: int, rank: int, hidden: int, seed: int) -> None:
        super().__init__()
        self.steps, self.hidden = steps, hidden

        def parameter(name: str, *sizes: int, deviation: float = 1.0) -> nn.Parameter:
            return nn.Parameter(draw(seed, f"neural-lp.{name}", *sizes, deviation=deviation))

        glorot = math.sqrt(2 / (6 * hidden))
        self.embedding = nn.Parameter(functional.normalize(parameter("embedding", num_queries + 1, hidden).data))
        self.input = parameter("input", rank, hidden, 4 * hidden, deviation=glorot)
        self.recurrent = parameter("recurrent", rank, hidden, 4 * hidden, deviation=glorot)
        self.bias = nn.Parameter(torch.zeros(rank, 1, 4 * hidden))
        self.bias.data[:, :, hidden : 2 * hidden] = 1.0  # a forget gate that is open at first
        self.choose = parameter("choose", rank, hidden, num_operators)
        self.choose_bias = nn.Parameter(torch.zeros(rank, 1, num_operators))

    def forward(self, queries: Tensor) -> ChainAttentions:
        """`queries` (C,): positions in the vocabulary of queries."""
        states = self._states(queries)
        operators = torch.stack(
            [torch.softmax(torch.baddbmm(self.choose_bias, h, self.choose), -1) for h in states[:-1]], 2
        )
        memories = []
        for t in range(1, self.steps + 2):
            earlier = torch.stack(states[:t], 2)  # (R, C, t, hidden)
            memories.append(torch.softmax((earlier * states[t - 1][:, :, None]).sum(-1), -1).transpose(0, 1))
        return ChainAttentions(operators.transpose(0, 1), tuple(memories))

    def _states(self, queries: Tensor) -> list[Tensor]:
        """h_1 .. h_(T + 1), each (R, C, hidden)."""
        rank = len(self.input)
        query, end = self.embedding[queries], self.embedding[-1:].expand(len(queries), -1)
        read, read_end = (torch.baddbmm(self.bias, v.expand(rank, -1, -1), self.input) for v in (query, end))
        h = c = torch.zeros(rank, len(queries), self.hidden, dtype=query.dtype, device=query.device)
        states = []
        for t in range(self.steps + 1):
            gates = torch.baddbmm(read if t < self.steps else read_end, h, self.recurrent)
            write, forget, new, show = gates.chunk(4, -1)
            c = torch.sigmoid(forget) * c + torch.sigmoid(write) * torch.tanh(new)
            h = torch.sigmoid(show) * torch.tanh(c)
            states.append(h)
        return states


def chain_values(walks: Walks, attentions: ChainAttentions) -> Tensor:
    """(rows, R): u of every row, each chain by itself.

        u_t = normal( sum_k a_t^k M_k^T (sum_tau b_t^tau u_tau) ),   u = sum_tau b_(T+1)^tau u_tau

    M_k^T moves from subject to object; normal() divides by the sum over entities, as the original does.
    """
    operators = attentions.operators
    codes, rank, steps, choices = operators.shape
    cells = [walks.start.to(operators.dtype)[:, None].expand(-1, rank).contiguous()]
    one = torch.ones(1, rank, dtype=operators.dtype, device=operators.device)
    for t in range(steps):
        table = operators[:, :, t].transpose(1, 2).reshape(codes * choices, rank).contiguous()
        value = multiply_add(_read(walks, cells, attentions.memories[t]), table, walks.moves[t])
        total = multiply_add(value, one, walks.into_source)
        cells.append(multiply_add(value, 1 / total.clamp(min=THRESHOLD), walks.by_source))
    return _read(walks, cells, attentions.memories[steps])


def _read(walks: Walks, cells: list[Tensor], memory: Tensor) -> Tensor:
    """sum_tau b^tau u_tau"""
    parts = [multiply_add(cell, memory[:, :, tau].contiguous(), walks.by_code) for tau, cell in enumerate(cells)]
    return parts[0] if len(parts) == 1 else torch.stack(parts).sum(0)


BEAM = 64
"""Chains kept in each cell of the memory."""

Chain = tuple[int, ...]
"""Step codes; "stay" leaves no trace."""


@dataclass(frozen=True)
class SoftRule:
    """`confidence`: the products of attentions that lead along this chain, added up; means over chains of the rank
    and over both directions of the query. It says how much attention the chain has, not how often it is right."""

    rule: Rule
    confidence: float


def soft_rules(model: NeuralLPModel, k: int) -> dict[Predicate, list[SoftRule]]:
    """The k heaviest rules of each target, heaviest first."""
    kb = model.kb
    operators = operators_of(kb, np.arange(kb.num_predicates, dtype=np.int32))
    with torch.no_grad():
        attentions = model.controller(torch.arange(len(model.vocabulary), device=model.controller.embedding.device))
    choices = attentions.operators.cpu().numpy()
    memories = [b.cpu().numpy() for b in attentions.memories]
    found: dict[Predicate, dict[Rule, float]] = {target: {} for target in model.targets}
    for row, code in enumerate(model.vocabulary.tolist()):
        target = kb.predicates[code // 2]
        rank = choices.shape[1]
        for r in range(rank):
            for chain, weight in _chains(choices[row, r], [b[row, r] for b in memories], operators).items():
                steps = tuple(kb.step(c) for c in chain)
                rule = Rule(Head.of(target), _body(target, steps, bool(code % 2)))
                found[target][rule] = found[target].get(rule, 0.0) + weight / rank / target.arity
    return {
        target: [
            SoftRule(rule, weight)
            for rule, weight in sorted(rules.items(), key=lambda item: (-item[1], str(item[0])))[:k]
        ]
        for target, rules in found.items()
    }


def _chains(choices: np.ndarray, memories: list[np.ndarray], operators: np.ndarray) -> dict[Chain, float]:
    """The weights of the chains of one query and one chain of the rank: the recurrence of u, on chains for entities."""
    cells: list[dict[Chain, float]] = [{(): 1.0}]
    for attention, memory in zip(choices, memories):
        longer: dict[Chain, float] = {}
        heaviest = np.argsort(-attention, kind="stable")[:BEAM].tolist()
        for chain, weight in _mixed(cells, memory).items():
            for o in heaviest:
                after = (*chain, int(operators[o])) if o < len(operators) else chain
                longer[after] = longer.get(after, 0.0) + weight * float(attention[o])
        cells.append(dict(sorted(longer.items(), key=lambda item: (-item[1], item[0]))[:BEAM]))
    return _mixed(cells, memories[-1])


def _mixed(cells: list[dict[Chain, float]], memory: np.ndarray) -> dict[Chain, float]:
    mixed: dict[Chain, float] = {}
    for cell, attention in zip(cells, memory.tolist()):
        for chain, weight in cell.items():
            mixed[chain] = mixed.get(chain, 0.0) + attention * weight
    return mixed


def _body(target: Predicate, steps: tuple[Step, ...], inverse: bool) -> Formula:
    if target.arity == 1:
        return Statement(ANY, steps, X) if steps else TRUE
    return Statement(Y, steps, X) if inverse else Statement(X, steps, Y)


class NeuralLPBaseline(Baseline):
    """All targets of the set share one controller. The settings are the original's: 2 steps, rank 3, 128 hidden
    units, 10 epochs, batches of 64, Adam with lr .001."""

    name = "neural-lp"
    defaults = NeuralLP()
    model: NeuralLPModel

    def _learn(self, dataset: Dataset, seed: int, progress: Progress) -> None:
        self.settings = replace(self.settings, seed=seed)
        self.model = self.settings.fit(dataset.kb, list(dataset.targets), progress)

    def evaluate(self, split: str = "test", progress: Progress = silent) -> Metrics:
        dataset = self.dataset
        return self.model.rank(dataset.kb, dataset.splits[split], dataset.splits, split, progress)
