"""Training of one stack: cross-entropy over blocks of queries, with annealed attentions.   [paper §5]

All randomness comes from (seed, epoch), and the state of a run consists of the parameters, the optimiser and the best
so far: a run that continues from a saved state ends with the same bits as one that was never interrupted.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..config import LearnerConfig
from ..progress import Stop
from .generator import Stack
from .paths import GivenStatements, QueryPaths
from .soft import Lifted, Squash, clamp, scores, sigmoid
from .space import Attentions

MARGIN = 1e-5
"""Scores are kept this far from 0 and 1: a positive that no path reaches costs -log(MARGIN) and has no gradient."""
SOLVED_LOSS = 0.01
"""A target is solved if a restart has less loss than this, both of its attentions and of its largest choices."""
VALIDATION_EPOCHS = 5
"""Epochs between two evaluations on the validation queries."""
FIRST_FLOOR = 1e-4
"""The floor of `Lifted` at the start of training; it is 1 at the end."""
ANNEALING = 0.8
"""Share of the epochs after which temperature and floor have their final values."""
COLUMNS = ("loss", "valid_loss", "valid_f1", "entropy")
"""The figures in the history of every member."""
MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq", "s": "step"}
"""Names of Adam's state in a checkpoint."""


@dataclass(frozen=True, eq=False)
class Block:
    """The paths of a block of queries, and their labels.

    Attributes:
        label: (G, B).
        positives: the total weight of positives; negatives have the rest, up to 1.
    """

    paths: QueryPaths | GivenStatements
    label: Tensor
    positives: float = 0.5

    def losses(self, attentions: Attentions, squash: Squash) -> tuple[Tensor, Tensor]:
        """Return the mean cross-entropy over the real queries (G, R), and the scores (G, B, R)."""
        score = scores(self.paths, attentions, squash)
        inside = score.clamp(MARGIN, 1 - MARGIN)
        label = self.label[..., None]
        entropy = -(label * inside.log() + (1 - label) * (1 - inside).log())
        return (entropy * self.weight[..., None]).sum(1), score

    @cached_property
    def weight(self) -> Tensor:
        """The weights of queries (G, B): positives weigh as much as negatives, so a constant score gains nothing.

        If a false answer is worse than a missed one, negatives weigh more (`positives` below .5).
        """
        parts = [share * self.paths.real for share in (self.label, 1 - self.label)]
        true, false = (part / part.sum(1, keepdim=True).clamp(min=1) for part in parts)
        return self.positives * true + (1 - self.positives) * false


@dataclass(frozen=True)
class EpochRow:
    """The figures of every member (M,) at the end of an `epoch`.

    `temperature` is that of the softmax; `loss` is on training queries, `valid_loss` and `valid_f1` on validation
    queries; `entropy` is that of the attentions.
    """

    epoch: int
    temperature: float
    loss: np.ndarray
    valid_loss: np.ndarray
    valid_f1: np.ndarray
    entropy: np.ndarray


class Trainer:
    """Trains all members of a stack at once; each ends as if it were trained alone."""

    def __init__(
        self,
        stack: Stack,
        blocks: list[Block],
        valid: list[Block],
        config: LearnerConfig,
        accepts: Callable[[Trainer, int], bool] = lambda trainer, member: True,
        fresh: Callable[[int], Block] | None = None,
    ) -> None:
        """
        Args:
            stack: the members.
            blocks: queries of the first epochs.
            valid: validation queries.
            config: the settings.
            accepts: whether the rule of a member's largest choices is valid.
            fresh: draws the block of round 1, 2, ..., which replaces the oldest one; None: blocks are not replaced.
        """
        self.stack, self.blocks, self.valid, self.config = stack, blocks, valid, config
        self.fresh = fresh if config.fresh else None
        self.optimiser = torch.optim.Adam(stack.rates(config.rate, config.score_rate), fused=True)
        self.accepts = accepts
        self.epoch = 0
        self.best = np.full(len(stack), np.inf)
        self.waited = np.zeros(len(stack), np.int64)
        self.history: list[EpochRow] = []
        self.solved = False

    def temperature(self, epoch: int) -> float:
        """Return the temperature of an `epoch`: it falls geometrically from 1 to its final value."""
        return float(self.config.temperature ** self._annealed(epoch))

    def squash(self, epoch: int) -> Squash:
        """Return the squash of an `epoch`: the paper's sigmoid, or `Lifted`, which ends as the exact clamp."""
        return sigmoid if self.config.squash == "sigmoid" else Lifted(FIRST_FLOOR ** (1 - self._annealed(epoch)))

    def _annealed(self, epoch: int) -> float:
        return min(1.0, epoch / max(1, int(ANNEALING * self.config.epochs)))

    @property
    def done(self) -> bool:
        """Whether all epochs are done, every target is solved, or no member improves at the final temperature."""
        last = self.temperature(self.epoch) <= self.config.temperature
        settled = last and bool((self.waited >= self.config.patience).all())
        return self.solved or settled or self.epoch >= self.config.epochs

    @torch.no_grad()
    def order(self) -> np.ndarray:
        """Return (targets, restarts): the restarts of each target by the loss of their rules, the least first.

        The loss is that of the largest choices, since rules are read from these, on training and validation queries,
        since the latter alone are few. Ties are broken by the loss of the attentions.
        """
        count = self.config.restarts
        soft = self.history[-1].loss if self.history else np.zeros(len(self.stack))
        keys = [
            np.nan_to_num(some, nan=np.inf).reshape(-1, count) for some in (soft, self._rule_losses().cpu().numpy())
        ]
        return np.lexsort(keys, 1)

    def _rule_losses(self) -> Tensor:
        """Return the mean loss (M,) of the largest choices over all queries."""
        hard = self.stack.attentions(self.temperature(self.epoch)).one_hot()
        total, queries = torch.zeros(len(self.stack), device=self.stack.device), 0
        for block in (*self.blocks, *self.valid):
            size = int(block.paths.real.sum())
            queries += size
            for piece in self._pieces(block.paths):
                members = self._members(piece)
                total[members] += size * block.losses(hard[members], clamp)[0].flatten()
        return total / max(1, queries)

    def run(self, each: Callable[[Trainer], None], stop: Stop | None = None) -> None:
        """Train until done; `each` is called after every epoch."""
        while not self.done and not (stop is not None and stop()):
            self.step()
            each(self)

    def step(self) -> None:
        """Train for one epoch; every `fresh` epochs the oldest block is first replaced by one of new queries."""
        if self.epoch and self.config.fresh and self.epoch % self.config.fresh == 0:
            self._renew(self.epoch // self.config.fresh)
        temperature, squash = self.temperature(self.epoch), self.squash(self.epoch)
        order = np.random.default_rng((self.config.seed, 2, self.epoch)).permutation(len(self.blocks))
        total = torch.zeros(len(self.stack), device=self.stack.device)
        penalty = self.config.entropy * self.epoch / max(1, self.config.epochs)
        for step, index in enumerate(order, start=1 + self.epoch * len(order)):
            self.optimiser.zero_grad()
            total += self._learn(self.blocks[index], self.stack.attentions(temperature, held=True), squash, penalty)
            if step % self.stack.held_steps == 0:
                self.stack.pass_back()
            self.optimiser.step()  # parameters without a gradient do not change
        self.epoch += 1
        if self.epoch % VALIDATION_EPOCHS == 0 or self.epoch >= self.config.epochs:
            self._measure(temperature, squash, (total / max(1, len(self.blocks))).cpu().numpy())

    def _learn(self, block: Block, attentions: Attentions, squash: Squash, penalty: float) -> Tensor:
        """Return the losses (M,) of a block, and accumulate their gradients in the parameters.

        Members are independent, so the block is evaluated for as many restarts at a time as fit into memory.
        """
        leaves = attentions.map(lambda t: t.detach().requires_grad_())
        losses = torch.zeros(block.paths.targets, self.config.restarts, device=self.stack.device)
        for piece in self._pieces(block.paths):
            loss, _ = block.losses(leaves[self._members(piece)], squash)
            loss.sum().backward()
            losses[:, piece] = loss.detach()
        both = zip(attentions.tensors().values(), leaves.tensors().values())
        known = [(t, leaf.grad) for t, leaf in both if leaf.grad is not None]  # given statements need no arguments
        entropy = penalty * attentions.entropy().sum()
        torch.autograd.backward([entropy, *(t for t, _ in known)], [None, *(gradient for _, gradient in known)])
        return losses.flatten()

    def _pieces(self, paths: QueryPaths | GivenStatements) -> list[slice]:
        """Return slices of restarts to evaluate together: as many as fit into half of the memory, over all threads."""
        config = self.config
        threads = config.threads or os.cpu_count() or 1
        most = int(config.memory / 2 / (threads if self.stack.device.type == "cpu" else 1) / paths.bytes_of_restart)
        size = min(config.restarts, max(1, most))
        return [slice(low, min(low + size, config.restarts)) for low in range(0, config.restarts, size)]

    def _members(self, piece: slice) -> Tensor:
        """Return the members of these restarts of all targets."""
        every = torch.arange(len(self.stack), device=self.stack.device).view(-1, self.config.restarts)
        return every[:, piece].flatten()

    def _renew(self, round: int) -> None:
        if self.fresh is not None:
            self.blocks[round % len(self.blocks)] = self.fresh(round)

    @torch.no_grad()
    def _measure(self, temperature: float, squash: Squash, loss: np.ndarray) -> None:
        """Record validation: the loss of the soft scores, and F1 of the rule of the largest choices."""
        attentions = self.stack.attentions(temperature)
        hard = attentions.one_hot()
        valid = torch.zeros(len(self.stack), device=self.stack.device)
        counts = torch.zeros(3, len(self.stack), device=self.stack.device)
        for block in self.valid:
            true = block.label[..., None] >= 0.5
            for piece in self._pieces(block.paths):
                members = self._members(piece)
                soft, _ = block.losses(attentions[members], squash)
                valid[members] += soft.flatten() / len(self.valid)
                says = (scores(block.paths, hard[members], clamp) > 0) & block.paths.real[..., None]
                every = (says & true, says, true.expand_as(says))
                counts[:, members] += torch.stack([part.sum(1) for part in every]).reshape(3, -1).to(counts.dtype)
        f1 = 2 * counts[0] / (counts[1] + counts[2]).clamp(min=1)
        now = valid.cpu().numpy()
        better = now < self.best - 1e-4
        self.waited = np.where(better, 0, self.waited + VALIDATION_EPOCHS)
        self.best = np.where(better, now, self.best)
        row = EpochRow(self.epoch, temperature, loss, now, f1.cpu().numpy(), attentions.entropy().cpu().numpy())
        self.history.append(row)
        self.solved = self._is_solved(row.loss)

    def _is_solved(self, loss: np.ndarray) -> bool:
        """Return whether each target has a restart with a valid rule and almost no loss, also as largest choices."""
        restarts = self.config.restarts
        ready = (loss < SOLVED_LOSS).reshape(-1, restarts)
        if not ready.any(1).all():
            return False
        ready &= (self._rule_losses().cpu().numpy() < SOLVED_LOSS).reshape(-1, restarts)
        return all(
            any(self.accepts(self, g * restarts + int(r)) for r in np.flatnonzero(row)) for g, row in enumerate(ready)
        )

    # checkpoints ----------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Return (arrays, JSON values) from which `load` continues with the same bits."""
        arrays = {f"p.{name}": t.cpu().numpy() for name, t in self.stack.state().items()}
        for index, parameter in enumerate(self.stack.parameters()):
            moments = self.optimiser.state.get(parameter)
            if moments:
                arrays |= {f"{key}.{index}": moments[name].cpu().numpy() for key, name in MOMENTS.items()}
        arrays |= {f"g.{name}": t.cpu().numpy() for name, t in self.stack.gathered().items()}
        arrays |= {"best": self.best, "waited": self.waited}
        arrays |= {f"h.{name}": np.array([getattr(row, name) for row in self.history]) for name in COLUMNS}
        when = [[row.epoch, row.temperature] for row in self.history]
        return arrays, {"epoch": self.epoch, "history": when, "solved": self.solved}

    def load(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Continue from a state: `arrays` and `values` as returned by `state`."""
        values_of, gathered = (
            {name[2:]: torch.from_numpy(a.copy()) for name, a in arrays.items() if name.startswith(kind)}
            for kind in ("p.", "g.")
        )
        self.stack.load(values_of)
        self.stack.gather(gathered)
        for index, parameter in enumerate(self.stack.parameters()):
            moments = {name: arrays.get(f"{key}.{index}") for key, name in MOMENTS.items()}
            found = {name: torch.from_numpy(a.copy()) for name, a in moments.items() if a is not None}
            if found:
                self.optimiser.state[parameter] = {name: t.to(parameter.device) for name, t in found.items()}
        self.best, self.waited = arrays["best"].copy(), arrays["waited"].copy()
        self.epoch, self.solved = int(values["epoch"]), bool(values["solved"])
        rounds = (self.epoch - 1) // self.config.fresh if self.config.fresh and self.epoch else 0
        for round in range(max(1, rounds - len(self.blocks) + 1), rounds + 1):
            self._renew(round)
        columns = [arrays[f"h.{name}"] for name in COLUMNS]
        self.history = [EpochRow(*when, *rows) for when, *rows in zip(values["history"], *columns)]
