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

from ..progress import Stop
from .attention import Attentions
from .options import NeuralOptions
from .plan import Plan
from .soft import Lifted, Squash, clamp, scores, sigmoid
from .stack import AnyStack

MARGIN = 1e-5
"""Scores are kept this far from 0 and 1: a positive that no path reaches costs -log(MARGIN) and has no gradient."""


SOLVED = 0.01
EVERY = 5
"""Epochs from one look at the validation queries to the next."""
LIFTED = 1e-4
"""The least that a statement is divided by at the start of training; 1 at its end."""


@dataclass(frozen=True, eq=False)
class Block:
    """A plan and the labels of its queries."""

    plan: Plan
    label: Tensor  # (G, B)

    def losses(self, attentions: Attentions, squash: Squash) -> tuple[Tensor, Tensor]:
        """(cross-entropy, scores): (G, R) mean over the real queries, and (G, B, R)."""
        score = scores(self.plan, attentions, squash)
        kept = score.clamp(MARGIN, 1 - MARGIN)
        label = self.label[..., None]
        entropy = -(label * kept.log() + (1 - label) * (1 - kept).log())
        return (entropy * self.weight[..., None]).sum(1), score

    @cached_property
    def weight(self) -> Tensor:
        """(G, B): positives weigh as much as negatives, so that a score that is always the same gains nothing."""
        real = self.plan.real
        true = self.label * real
        false = (1 - self.label) * real
        halves = [part / part.sum(1, keepdim=True).clamp(min=1) for part in (true, false)]
        return 0.5 * (halves[0] + halves[1])


@dataclass(frozen=True)
class Row:
    """What history keeps of an epoch that was looked at, for every member: (M,) each."""

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
        stack: AnyStack,
        blocks: list[Block],
        valid: list[Block],
        options: NeuralOptions,
        accepts: Callable[[Trainer, int], bool] = lambda trainer, member: True,
    ) -> None:
        """`accepts` says whether the rule of a member's largest choices is one that may be kept."""
        self.stack, self.blocks, self.valid, self.options = stack, blocks, valid, options
        groups = [{"params": stack.weights(), "lr": options.rate}, {"params": stack.scores(), "lr": options.score_rate}]
        self.optimiser = torch.optim.Adam([g for g in groups if g["params"]], fused=True)
        self.accepts = accepts
        self.epoch = 0
        self.best = np.full(len(stack), np.inf)
        self.waited = np.zeros(len(stack), np.int64)
        self.history: list[Row] = []
        self.solved = False

    def temperature(self, epoch: int) -> float:
        """From 1 down to the last value by equal ratios, over the first four fifths."""
        part = min(1.0, epoch / max(1, int(0.8 * self.options.epochs)))
        return float(self.options.temperature**part)

    def squash(self, epoch: int) -> Squash:
        """The paper's sigmoid, or a clamp that is lifted less and less until it is exact."""
        if self.options.squash == "sigmoid":
            return sigmoid
        part = min(1.0, epoch / max(1, int(0.8 * self.options.epochs)))
        return Lifted(LIFTED ** (1 - part))

    @property
    def done(self) -> bool:
        """All epochs; or every target is solved; or at the last temperature no member has improved for a while."""
        if self.solved:
            return True
        settled = (
            self.temperature(self.epoch) <= self.options.temperature and (self.waited >= self.options.patience).all()
        )
        return self.epoch >= self.options.epochs or bool(settled)

    def run(self, each: Callable[[Trainer], None], stop: Stop | None = None) -> None:
        """Train until done; `each` is called after every epoch."""
        while not self.done and not (stop is not None and stop()):
            self.step()
            each(self)

    def step(self) -> None:
        """One epoch."""
        temperature, squash = self.temperature(self.epoch), self.squash(self.epoch)
        order = np.random.default_rng((self.options.seed, 2, self.epoch)).permutation(len(self.blocks))
        total = torch.zeros(len(self.stack), device=self.stack.device)
        penalty = self.options.entropy * self.epoch / max(1, self.options.epochs)
        for index in order:
            attentions = self.stack.attentions(temperature)
            loss, _ = self.blocks[index].losses(attentions, squash)
            loss = loss.flatten()
            self.optimiser.zero_grad()
            (loss + penalty * attentions.entropy()).sum().backward()
            self.optimiser.step()
            total += loss.detach()
        self.epoch += 1
        if self.epoch % EVERY == 0 or self.epoch >= self.options.epochs:
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
            counts += torch.stack(
                [(says & true).sum(1), says.sum(1), true.sum(1).expand(says.shape[0], says.shape[2])]
            ).reshape(3, -1)
        f1 = 2 * counts[0] / (counts[1] + counts[2]).clamp(min=1)
        now = valid.cpu().numpy()
        better = now < self.best - 1e-4
        self.waited = np.where(better, 0, self.waited + EVERY)
        self.best = np.where(better, now, self.best)
        row = Row(self.epoch, temperature, loss, now, f1.cpu().numpy(), attentions.entropy().cpu().numpy())
        self.history.append(row)
        # Solved: next to no loss, the largest choices alone say the same, and they make a rule.
        ready = ((row.loss < SOLVED) & (row.valid_f1 > 1 - SOLVED)).reshape(-1, self.options.restarts)
        self.solved = bool(ready.any(1).all()) and all(
            any(self.accepts(self, g * self.options.restarts + int(r)) for r in np.flatnonzero(mine))
            for g, mine in enumerate(ready)
        )

    # what a checkpoint keeps ------------------------------------------------------------------------

    def state(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        arrays = {f"p.{name}": t.cpu().numpy() for name, t in self.stack.state().items()}
        for index, parameter in enumerate(self.stack.parameters()):
            kept = self.optimiser.state.get(parameter)
            if kept:
                arrays[f"m.{index}"] = kept["exp_avg"].cpu().numpy()
                arrays[f"v.{index}"] = kept["exp_avg_sq"].cpu().numpy()
        arrays["best"], arrays["waited"] = self.best, self.waited
        for name in ("loss", "valid_loss", "valid_f1", "entropy"):
            arrays[f"h.{name}"] = np.array([getattr(row, name) for row in self.history])
        steps = self.epoch * len(self.blocks)
        when = [[row.epoch, row.temperature] for row in self.history]
        return arrays, {"epoch": self.epoch, "steps": steps, "history": when, "solved": self.solved}

    def load(self, arrays: Mapping[str, np.ndarray], values: Mapping[str, Any]) -> None:
        self.stack.load({name[2:]: torch.from_numpy(a) for name, a in arrays.items() if name.startswith("p.")})
        for index, parameter in enumerate(self.stack.parameters()):
            if f"m.{index}" in arrays:
                self.optimiser.state[parameter] = {
                    "step": torch.tensor(float(values["steps"]), device=parameter.device),
                    "exp_avg": torch.from_numpy(arrays[f"m.{index}"].copy()).to(parameter.device),
                    "exp_avg_sq": torch.from_numpy(arrays[f"v.{index}"].copy()).to(parameter.device),
                }
        self.best, self.waited = arrays["best"].copy(), arrays["waited"].copy()
        self.epoch, self.solved = int(values["epoch"]), bool(values["solved"])
        columns = [arrays[f"h.{name}"] for name in ("loss", "valid_loss", "valid_f1", "entropy")]
        self.history = [
            Row(int(epoch), float(temperature), *rows)
            for (epoch, temperature), *rows in zip(values["history"], *columns)
        ]
