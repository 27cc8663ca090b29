"""Training of one stack: cross-entropy over blocks of queries, attentions that concentrate.   [paper §5]

Everything random is drawn from (seed, epoch), and the state of a run is the parameters, the optimiser and the
best so far: a run that continues from a saved state ends with the same bits as one that was never stopped.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from ..config import LearnerConfig
from ..progress import Stop
from .generator import FreeStack, Stack
from .plan import Plan
from .soft import Lifted, Squash, clamp, scores, sigmoid
from .space import Attentions

MARGIN = 1e-5
"""Scores are kept this far from 0 and 1: a positive that no path reaches costs -log(MARGIN) and has no gradient."""
SOLVED_LOSS, SOLVED_F1 = 0.01, 0.99
"""A target is solved by a restart with less loss, and more F1 on the validation queries, than this."""
VALIDATION_EPOCHS = 5
"""Epochs from one look at the validation queries to the next."""
FIRST_FLOOR = 1e-4
"""The least that a statement is divided by at the start of training; 1 at its end."""
ANNEALING = 0.8
"""The part of the epochs in which temperature and floor reach their last values."""
COLUMNS = ("loss", "valid_loss", "valid_f1", "entropy")
"""What the history has of every member."""
MOMENTS = {"m": "exp_avg", "v": "exp_avg_sq"}
"""Names of Adam's state in a checkpoint."""


@dataclass(frozen=True, eq=False)
class Block:
    """A plan and the labels of its queries."""

    plan: Plan
    label: Tensor  # (G, B)

    def losses(self, attentions: Attentions, squash: Squash) -> tuple[Tensor, Tensor]:
        """(cross-entropy, scores): (G, R) mean over the real queries, and (G, B, R)."""
        score = scores(self.plan, attentions, squash)
        inside = score.clamp(MARGIN, 1 - MARGIN)
        label = self.label[..., None]
        entropy = -(label * inside.log() + (1 - label) * (1 - inside).log())
        return (entropy * self.weight[..., None]).sum(1), score

    @cached_property
    def weight(self) -> Tensor:
        """(G, B): positives weigh as much as negatives, so that a score that is always the same gains nothing."""
        parts = [share * self.plan.real for share in (self.label, 1 - self.label)]
        true, false = (part / part.sum(1, keepdim=True).clamp(min=1) for part in parts)
        return 0.5 * (true + false)


@dataclass(frozen=True)
class Row:
    """How an epoch ended, for every member: (M,) each."""

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
    ) -> None:
        """`accepts` says whether the rule of a member's largest choices is one that may be kept."""
        self.stack, self.blocks, self.valid, self.config = stack, blocks, valid, config
        rate = config.score_rate if isinstance(stack, FreeStack) else config.rate
        self.optimiser = torch.optim.Adam(stack.parameters(), lr=rate, fused=True)
        self.accepts = accepts
        self.epoch = 0
        self.best = np.full(len(stack), np.inf)
        self.waited = np.zeros(len(stack), np.int64)
        self.history: list[Row] = []
        self.solved = False

    def temperature(self, epoch: int) -> float:
        """From 1 down to the last value by equal ratios."""
        return float(self.config.temperature ** self._annealed(epoch))

    def squash(self, epoch: int) -> Squash:
        """The paper's sigmoid, or a clamp that is lifted less and less until it is exact."""
        return sigmoid if self.config.squash == "sigmoid" else Lifted(FIRST_FLOOR ** (1 - self._annealed(epoch)))

    def _annealed(self, epoch: int) -> float:
        return min(1.0, epoch / max(1, int(ANNEALING * self.config.epochs)))

    @property
    def done(self) -> bool:
        """All epochs; or every target is solved; or at the last temperature no member has improved for a while."""
        last = self.temperature(self.epoch) <= self.config.temperature
        settled = last and bool((self.waited >= self.config.patience).all())
        return self.solved or settled or self.epoch >= self.config.epochs

    def run(self, each: Callable[[Trainer], None], stop: Stop | None = None) -> None:
        """Train until done; `each` is called after every epoch."""
        while not self.done and not (stop is not None and stop()):
            self.step()
            each(self)

    def step(self) -> None:
        """One epoch."""
        temperature, squash = self.temperature(self.epoch), self.squash(self.epoch)
        order = np.random.default_rng((self.config.seed, 2, self.epoch)).permutation(len(self.blocks))
        total = torch.zeros(len(self.stack), device=self.stack.device)
        penalty = self.config.entropy * self.epoch / max(1, self.config.epochs)
        for index in order:
            attentions = self.stack.attentions(temperature)
            loss, _ = self.blocks[index].losses(attentions, squash)
            loss = loss.flatten()
            self.optimiser.zero_grad()
            (loss + penalty * attentions.entropy()).sum().backward()
            self.optimiser.step()
            total += loss.detach()
        self.epoch += 1
        if self.epoch % VALIDATION_EPOCHS == 0 or self.epoch >= self.config.epochs:
            self._measure(temperature, squash, (total / max(1, len(self.blocks))).cpu().numpy())

    @torch.no_grad()
    def _measure(self, temperature: float, squash: Squash, loss: np.ndarray) -> None:
        """Validation: the loss of the soft scores, and F1 of the rule that the largest choices make."""
        attentions = self.stack.attentions(temperature)
        hard = attentions.one_hot()
        valid = torch.zeros(len(self.stack), device=self.stack.device)
        counts = torch.zeros(3, len(self.stack), device=self.stack.device)
        for block in self.valid:
            soft, _ = block.losses(attentions, squash)
            valid += soft.flatten() / len(self.valid)
            says = (scores(block.plan, hard, clamp) > 0) & block.plan.real[..., None]
            true = block.label[..., None] >= 0.5
            every = (says & true, says, true.expand_as(says))
            counts += torch.stack([part.sum(1) for part in every]).reshape(3, -1)
        f1 = 2 * counts[0] / (counts[1] + counts[2]).clamp(min=1)
        now = valid.cpu().numpy()
        better = now < self.best - 1e-4
        self.waited = np.where(better, 0, self.waited + VALIDATION_EPOCHS)
        self.best = np.where(better, now, self.best)
        row = Row(self.epoch, temperature, loss, now, f1.cpu().numpy(), attentions.entropy().cpu().numpy())
        self.history.append(row)
        # Solved: next to no loss, the largest choices alone say the same, and they make a rule.
        ready = ((row.loss < SOLVED_LOSS) & (row.valid_f1 > SOLVED_F1)).reshape(-1, self.config.restarts)
        self.solved = bool(ready.any(1).all()) and all(
            any(self.accepts(self, g * self.config.restarts + int(r)) for r in np.flatnonzero(mine))
            for g, mine in enumerate(ready)
        )

    # checkpoints ----------------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """(arrays, JSON values) from which `load` goes on with the same bits."""
        arrays = {f"p.{name}": t.cpu().numpy() for name, t in self.stack.state().items()}
        for index, parameter in enumerate(self.stack.parameters()):
            moments = self.optimiser.state.get(parameter)
            if moments:
                arrays |= {f"{key}.{index}": moments[name].cpu().numpy() for key, name in MOMENTS.items()}
        arrays |= {"best": self.best, "waited": self.waited}
        arrays |= {f"h.{name}": np.array([getattr(row, name) for row in self.history]) for name in COLUMNS}
        when = [[row.epoch, row.temperature] for row in self.history]
        steps = self.epoch * len(self.blocks)
        return arrays, {"epoch": self.epoch, "steps": steps, "history": when, "solved": self.solved}

    def load(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        """Go on from a state."""
        self.stack.load({name[2:]: torch.from_numpy(a) for name, a in arrays.items() if name.startswith("p.")})
        for index, parameter in enumerate(self.stack.parameters()):
            moments = {name: arrays.get(f"{key}.{index}") for key, name in MOMENTS.items()}
            found = {name: torch.from_numpy(a.copy()) for name, a in moments.items() if a is not None}
            if found:
                found["step"] = torch.tensor(float(values["steps"]))
                self.optimiser.state[parameter] = {name: t.to(parameter.device) for name, t in found.items()}
        self.best, self.waited = arrays["best"].copy(), arrays["waited"].copy()
        self.epoch, self.solved = int(values["epoch"]), bool(values["solved"])
        columns = [arrays[f"h.{name}"] for name in COLUMNS]
        self.history = [Row(*when, *rows) for when, *rows in zip(values["history"], *columns)]
