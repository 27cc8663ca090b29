"""Stacks: many members (a target and a restart each) that are computed, trained and stored as one.

`Stack` holds generators, `FreeStack` the scores themselves: the baseline that a Transformer has to match.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace

import torch
from torch import Tensor
from torch.func import functional_call

from ..errors import ConfigError, RunError
from .attention import Attentions, Masks, softmax_attentions
from .generator import Generator
from .space import Shape
from .transformer import draw

FREE_DEVIATION = 0.5  # of free scores at the start: near-uniform attentions, no two restarts alike


class AnyStack(ABC):
    """What stacks have in common: named parameters (M, ...), one row for each member."""

    def __init__(self, masks: Masks, shape: Shape, values: Mapping[str, Tensor]) -> None:
        self.masks, self.shape = masks, shape
        self.prior: Tensor | None = None  # (M, 1, 1, O), added to the operators' scores: a warm start
        self.device = masks.operators.device
        self._named = {
            name: value.detach().to(self.device).contiguous().requires_grad_() for name, value in values.items()
        }

    def __len__(self) -> int:
        return len(self.masks.operators)

    def parameters(self) -> list[Tensor]:
        return list(self._named.values())

    def weights(self) -> list[Tensor]:
        """Parameters of a network, to be changed by small steps."""
        return []

    def scores(self) -> list[Tensor]:
        """Parameters that are scores themselves, to be changed by large ones."""
        return []

    @abstractmethod
    def logits(self) -> Attentions:
        """Scores of every choice, before the softmax. What masks exclude has no meaning: anything, or about -1e9."""

    def attentions(self, temperature: float = 1.0) -> Attentions:
        logits = self.logits()
        if self.prior is not None:
            logits = replace(logits, operators=logits.operators + self.prior)
        return softmax_attentions(logits, self.masks, self.shape, temperature)

    def state(self) -> dict[str, Tensor]:
        """A copy of the parameters, for a file."""
        return {name: value.detach().clone() for name, value in self._named.items()}

    def load(self, state: Mapping[str, Tensor]) -> None:
        """Take over a state, in place, so that an optimiser keeps its hold on the parameters."""
        wanted = {name: tuple(value.shape) for name, value in self._named.items()}
        given = {name: tuple(value.shape) for name, value in state.items()}
        for name in sorted(wanted.keys() | given.keys()):
            if wanted.get(name) != given.get(name):
                raise RunError(
                    f"state of a stack: expected {name!r} of shape {wanted.get(name, 'none')}, "
                    f"got {given.get(name, 'none')}; use the settings that the state was saved with"
                )
        with torch.no_grad():
            for name, value in self._named.items():
                value.copy_(state[name])


class Stack(AnyStack):
    """Generators of one shape, run by one pass; `chunk` members at a time where memory matters."""

    def __init__(
        self,
        masks: Masks,
        shape: Shape,
        seeds: Sequence[int],
        dim: int = 32,
        layers: int = 3,
        heads: int = 4,
        chunk: int | None = None,
    ) -> None:
        expect_a_seed_for_each(masks, seeds)
        generator = Generator(shape, seeds, dim, layers, heads)
        super().__init__(masks, shape, dict(generator.named_parameters()))
        # The parameters are handed to it, all or some members of them; it only says how they are used.
        self._generator = generator.to("meta")
        self.chunk = chunk

    def weights(self) -> list[Tensor]:
        return self.parameters()

    def logits(self) -> Attentions:
        size = self.chunk or len(self)
        if size >= len(self):
            return self._of(slice(None))
        parts = [self._of(slice(first, first + size)).tensors() for first in range(0, len(self), size)]
        return Attentions.of_tensors({name: torch.cat([part[name] for part in parts]) for name in parts[0]})

    def _of(self, members: slice) -> Attentions:
        masks = Masks(self.masks.operators[members], self.masks.statements[members], self.masks.arguments[members])
        return functional_call(self._generator, {name: value[members] for name, value in self._named.items()}, masks)


class FreeStack(AnyStack):
    """Scores that are parameters: nothing ties one choice to another."""

    def __init__(self, masks: Masks, shape: Shape, seeds: Sequence[int]) -> None:
        expect_a_seed_for_each(masks, seeds)
        members = [free_scores(shape, seed) for seed in seeds]
        super().__init__(masks, shape, {name: torch.stack([m[name] for m in members]) for name in members[0]})

    def scores(self) -> list[Tensor]:
        return self.parameters()

    def logits(self) -> Attentions:
        return Attentions.of_tensors(self._named)


def free_scores(shape: Shape, seed: int) -> dict[str, Tensor]:
    """Random scores of one member, by the names of `Attentions.tensors`; the axis padding lengthens is drawn first."""

    def scores(name: str, *sizes: int) -> Tensor:
        return draw(seed, name, *sizes, deviation=FREE_DEVIATION)

    def argument(name: str) -> Tensor:
        rows = [scores(f"{name}.{k}", shape.starts, shape.instances, shape.slots) for k in range(shape.predicates)]
        return torch.stack(rows).permute(2, 0, 1, 3).flatten(0, 1)

    def over_statements(name: str, rows: int) -> Tensor:
        return scores(name, shape.predicates, 2, shape.instances, rows).permute(3, 1, 2, 0).flatten(1)

    named = {
        "operators": scores("operators", shape.operators, shape.heads, shape.steps).permute(1, 2, 0),
        "left": argument("left"),
        "right": argument("right"),
    }
    for level, width in enumerate(shape.widths, start=1):
        for side in ("first", "second"):
            name = f"{side}.{level}"
            below = 2 * shape.levels[level - 1]
            named[name] = over_statements(name, width) if level == 1 else scores(name, width, below)
    formulas = scores("output.formulas", 2 * sum(shape.widths))
    named["output"] = torch.cat([over_statements("output", 1).flatten(), formulas])
    return named


def expect_a_seed_for_each(masks: Masks, seeds: Sequence[int]) -> None:
    if len(seeds) != len(masks.operators):
        raise ConfigError(
            f"stack: expected a seed for each of {len(masks.operators)} members, got {len(seeds)}; "
            "give every target and restart one",
            "seeds",
        )


def make_stack(
    kind: str,
    masks: Masks,
    shape: Shape,
    seeds: Sequence[int],
    device: str | torch.device = "cpu",
    dim: int = 32,
    layers: int = 3,
    heads: int = 4,
    chunk: int | None = None,
) -> AnyStack:
    """A stack on the device, one member for each row of the masks."""
    here = Masks(
        masks.operators.to(device),
        masks.statements.to(device),
        masks.arguments.to(device),
        None if masks.monotone is None else masks.monotone.to(device),
    )
    match kind:
        case "transformer":
            return Stack(here, shape, seeds, dim, layers, heads, chunk)
        case "free":
            return FreeStack(here, shape, seeds)
    raise ConfigError(f"stack: expected the kind 'transformer' or 'free', got {kind!r}; name one of them", "kind")
