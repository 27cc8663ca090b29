"""Training of one stack: cross-entropy over blocks of queries, attentions that concentrate.   [paper §5]

Everything random is drawn from (seed, epoch), and the state of a run is the parameters, the optimiser and the
best so far: a run that continues from a saved state ends with the same bits as one that was never stopped.
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
from .plan import Given, Plan
from .soft import Lifted, Squash, clamp, scores, sigmoid
from .space import Attentions

MARGIN = 1e-5
"""Scores are kept this far from 0 and 1: a positive that no path reaches costs -log(MARGIN) and has no gradient."""
SOLVED_LOSS = 0.01
"""A target is solved by a restart with less loss than this, that of its attentions and that of its largest choices."""
VALIDATION_EPOCHS = 5
"""Epochs from one look at the validation queries to the next."""
FIRST_FLOOR = 1e-4
"""The least that a statement is divided by at the start of training; 1 at its end."""
ANNEALING = 0.8
"""The part of the epochs in which temperature and floor reach their last values."""
COLUMNS = ("loss", "valid_loss", "valid_f1", "entropy")
"""What the history has of every member."""
MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq", "s": "step"}
"""Names of Adam's state in a checkpoint."""


@dataclass(frozen=True, eq=False)
class Block:
    """A plan and the labels of its queries, `label` (G, B).

    Attributes:
        label: (G, B).
        positives: what all positives weigh; negatives weigh the rest, up to 1.
    """

    plan: Plan | Given
    label: Tensor
    positives: float = 0.5

    def losses(self, attentions: Attentions, squash: Squash) -> tuple[Tensor, Tensor]:
        """Return (cross-entropy, scores): (G, R) mean over the real queries, and (G, B, R)."""
        score = scores(self.plan, attentions, squash)
        inside = score.clamp(MARGIN, 1 - MARGIN)
        label = self.label[..., None]
        entropy = -(label * inside.log() + (1 - label) * (1 - inside).log())
        return (entropy * self.weight[..., None]).sum(1), score

    @cached_property
    def weight(self) -> Tensor:
        """(G, B): positives weigh as much as negatives, so that a score that is always the same gains nothing.

        Where a false answer is worse than a missed one, negatives weigh more (`positives` below .5).
        """
        parts = [share * self.plan.real for share in (self.label, 1 - self.label)]
        true, false = (part / part.sum(1, keepdim=True).clamp(min=1) for part in parts)
        return self.positives * true + (1 - self.positives) * false


@dataclass(frozen=True)
class Row:
    """How an `epoch` ended, for every member: (M,) each.

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
    """Trains all members of a stack at once; they share nothing, so each ends as if it were alone."""

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
            accepts: whether the rule of a member's largest choices is one that may be kept.
            fresh: draws the block of a round, 1, 2, ..., which takes the place of the oldest one; None: nothing is new.
        """
        self.stack, self.blocks, self.valid, self.config = stack, blocks, valid, config
        self.fresh = fresh if config.fresh else None
        self.optimiser = torch.optim.Adam(stack.rates(config.rate, config.score_rate), fused=True)
        self.accepts = accepts
        self.epoch = 0
        self.best = np.full(len(stack), np.inf)
        self.waited = np.zeros(len(stack), np.int64)
        self.history: list[Row] = []
        self.solved = False

    def temperature(self, epoch: int) -> float:
        """Return the temperature of an `epoch`: from 1 down to the last value by equal ratios."""
        return float(self.config.temperature ** self._annealed(epoch))

    def squash(self, epoch: int) -> Squash:
        """Return the squash of an `epoch`: the paper's sigmoid, or a clamp that is lifted less and less.

        At the end the clamp is exact.
        """
        return sigmoid if self.config.squash == "sigmoid" else Lifted(FIRST_FLOOR ** (1 - self._annealed(epoch)))

    def _annealed(self, epoch: int) -> float:
        return min(1.0, epoch / max(1, int(ANNEALING * self.config.epochs)))

    @property
    def done(self) -> bool:
        """All epochs; or every target is solved; or at the last temperature no member has improved for a while."""
        last = self.temperature(self.epoch) <= self.config.temperature
        settled = last and bool((self.waited >= self.config.patience).all())
        return self.solved or settled or self.epoch >= self.config.epochs

    @torch.no_grad()
    def order(self) -> np.ndarray:
        """(targets, restarts): the restarts of each target by the loss of the rules that they say, the least first.

        The loss is that of the largest choices, on training and validation queries: the latter alone are few, and what
        attentions mix is not what is read. Of equal ones the restart with the least loss of its attentions is first.
        """
        count = self.config.restarts
        soft = self.history[-1].loss if self.history else np.zeros(len(self.stack))
        keys = [
            np.nan_to_num(some, nan=np.inf).reshape(-1, count) for some in (soft, self._rule_losses().cpu().numpy())
        ]
        return np.lexsort(keys, 1)

    def _rule_losses(self) -> Tensor:
        """(M,) the mean loss of the largest choices over all queries."""
        hard = self.stack.attentions(self.temperature(self.epoch)).one_hot()
        total, queries = torch.zeros(len(self.stack), device=self.stack.device), 0
        for block in (*self.blocks, *self.valid):
            size = int(block.plan.real.sum())
            queries += size
            for piece in self._pieces(block.plan):
                members = self._members(piece)
                total[members] += size * block.losses(hard[members], clamp)[0].flatten()
        return total / max(1, queries)

    def run(self, each: Callable[[Trainer], None], stop: Stop | None = None) -> None:
        """Train until done; `each` is called after every epoch."""
        while not self.done and not (stop is not None and stop()):
            self.step()
            each(self)

    def step(self) -> None:
        """One epoch; before every `fresh` of them the oldest block gives way to one of new queries."""
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
            self.optimiser.step()  # parameters without a gradient stay as they are
        self.epoch += 1
        if self.epoch % VALIDATION_EPOCHS == 0 or self.epoch >= self.config.epochs:
            self._measure(temperature, squash, (total / max(1, len(self.blocks))).cpu().numpy())

    def _learn(self, block: Block, attentions: Attentions, squash: Squash, penalty: float) -> Tensor:
        """(M,) the losses of a block; their gradients are left at the parameters.

        Members share nothing, so that the block is evaluated for as many restarts at a time as fit into memory.
        """
        leaves = attentions.map(lambda t: t.detach().requires_grad_())
        losses = torch.zeros(block.plan.targets, self.config.restarts, device=self.stack.device)
        for piece in self._pieces(block.plan):
            loss, _ = block.losses(leaves[self._members(piece)], squash)
            loss.sum().backward()
            losses[:, piece] = loss.detach()
        both = zip(attentions.tensors().values(), leaves.tensors().values())
        known = [(t, leaf.grad) for t, leaf in both if leaf.grad is not None]  # given statements need no arguments
        entropy = penalty * attentions.entropy().sum()
        torch.autograd.backward([entropy, *(t for t, _ in known)], [None, *(gradient for _, gradient in known)])
        return losses.flatten()

    def _pieces(self, plan: Plan | Given) -> list[slice]:
        """Restarts that are evaluated together: as many as half of the memory holds, shared by all threads."""
        config = self.config
        threads = config.threads or os.cpu_count() or 1
        most = int(config.memory / 2 / (threads if self.stack.device.type == "cpu" else 1) / plan.bytes_of_restart)
        size = min(config.restarts, max(1, most))
        return [slice(low, min(low + size, config.restarts)) for low in range(0, config.restarts, size)]

    def _members(self, piece: slice) -> Tensor:
        """The members of these restarts of all targets."""
        every = torch.arange(len(self.stack), device=self.stack.device).view(-1, self.config.restarts)
        return every[:, piece].flatten()

    def _renew(self, round: int) -> None:
        if self.fresh is not None:
            self.blocks[round % len(self.blocks)] = self.fresh(round)

    @torch.no_grad()
    def _measure(self, temperature: float, squash: Squash, loss: np.ndarray) -> None:
        """Validation: the loss of the soft scores, and F1 of the rule that the largest choices make."""
        attentions = self.stack.attentions(temperature)
        hard = attentions.one_hot()
        valid = torch.zeros(len(self.stack), device=self.stack.device)
        counts = torch.zeros(3, len(self.stack), device=self.stack.device)
        for block in self.valid:
            true = block.label[..., None] >= 0.5
            for piece in self._pieces(block.plan):
                members = self._members(piece)
                soft, _ = block.losses(attentions[members], squash)
                valid[members] += soft.flatten() / len(self.valid)
                says = (scores(block.plan, hard[members], clamp) > 0) & block.plan.real[..., None]
                every = (says & true, says, true.expand_as(says))
                counts[:, members] += torch.stack([part.sum(1) for part in every]).reshape(3, -1).to(counts.dtype)
        f1 = 2 * counts[0] / (counts[1] + counts[2]).clamp(min=1)
        now = valid.cpu().numpy()
        better = now < self.best - 1e-4
        self.waited = np.where(better, 0, self.waited + VALIDATION_EPOCHS)
        self.best = np.where(better, now, self.best)
        row = Row(self.epoch, temperature, loss, now, f1.cpu().numpy(), attentions.entropy().cpu().numpy())
        self.history.append(row)
        self.solved = self._is_solved(row.loss)

    def _is_solved(self, loss: np.ndarray) -> bool:
        """Whether each target has a restart with next to no loss whose largest choices alone say the same, and make a
        rule."""
        restarts = self.config.restarts
        ready = (loss < SOLVED_LOSS).reshape(-1, restarts)
        if not ready.any(1).all():
            return False
        ready &= (self._rule_losses().cpu().numpy() < SOLVED_LOSS).reshape(-1, restarts)
        return all(
            any(self.accepts(self, g * restarts + int(r)) for r in np.flatnonzero(mine)) for g, mine in enumerate(ready)
        )

    # checkpoints ----------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """(arrays, JSON values) from which `load` goes on with the same bits."""
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
        """Go on from a state: `arrays` and `values` as `state` gave them."""
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
        self.history = [Row(*when, *rows) for when, *rows in zip(values["history"], *columns)]
