"""Attentions: the six families of distributions that stand for a rule, for a stack of members.

A member is one generator: one target, one restart. Member m = target * restarts + restart.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from .space import Shape, Space


@dataclass(frozen=True, eq=False)
class Masks:
    """Which choices exist, for each member: padding has none, and no argument walks from everything."""

    operators: Tensor  # bool (M, O)
    statements: Tensor  # bool (M, I * K), instance-major: statement i * K + k has predicate k
    arguments: Tensor  # bool (M, N, P)
    monotone: Tensor | None = None  # bool (M,): members that say no net negation; None: nobody is bound to that

    @classmethod
    def of(cls, spaces: Sequence[Space], shape: Shape, restarts: int = 1, device: str | torch.device = "cpu") -> Masks:
        """`spaces` are padded to the shape; each is repeated for its restarts.

        Where the target may occur in its own bodies every second restart is monotone: a rule that negates its
        own head fits one step ahead and derives nothing, and training must not see it only.
        """

        def stack(rows: list) -> Tensor:
            return torch.stack([torch.from_numpy(row) for row in rows]).repeat_interleave(restarts, 0).to(device)

        return cls(
            stack([s.operator_mask for s in spaces]),
            stack([s.predicate_mask for s in spaces]).repeat(1, shape.instances),
            stack([s.argument_mask(shape) for s in spaces]),
            torch.tensor(
                [bool(r % 2) and s.target in s.predicates for s in spaces for r in range(restarts)], device=device
            ),
        )

    def factors(self, shape: Shape, level: int) -> Tensor:
        """bool (M, C_level, 2 * C_(level-1)): what the two factors of each formula may choose."""
        exist = self.formulas(shape, level - 1)[:, None, :]
        if self.monotone is None:
            return exist
        width = shape.levels[level]
        below = monotone_signs(shape, level - 1).to(exist.device)
        rising = torch.arange(width, device=exist.device) < (width + 1) // 2
        allowed = torch.where(rising[:, None], below, ~below)
        return exist & (allowed | ~self.monotone[:, None, None])

    def outputs(self, shape: Shape) -> Tensor:
        """bool (M, outputs): what may be the rule."""
        levels = range(len(shape.levels))
        exist = torch.cat([self.formulas(shape, level) for level in levels], 1)
        if self.monotone is None:
            return exist
        signs = torch.cat([monotone_signs(shape, level) for level in levels]).to(exist.device)
        return exist & (signs | ~self.monotone[:, None])

    def formulas(self, shape: Shape, level: int) -> Tensor:
        """bool (M, 2 * C_level): the positive and the negated formulas of a level that exist."""
        if level == 0:
            return torch.cat([self.statements, self.statements], 1)
        return torch.ones(
            len(self.statements), 2 * shape.levels[level], dtype=torch.bool, device=self.statements.device
        )


def monotone_signs(shape: Shape, level: int) -> Tensor:
    """bool (2 * C_level,): the signed formulas of a level that grow with every statement, for a monotone member.

    The first half of a level multiplies such formulas, the other half their negations: negated once more, that is
    a disjunction.
    """
    width = shape.levels[level]
    rising = torch.ones(width, dtype=torch.bool) if level == 0 else torch.arange(width) < (width + 1) // 2
    return torch.cat([rising, ~rising])


@dataclass(frozen=True, eq=False)
class Attentions:
    """Proper distributions: each sums to 1 over its last dimension (over the last two for arguments)."""

    operators: Tensor  # S_phi (M, H, T, O)
    left: Tensor  # S_psi (M, I * K, N, P)
    right: Tensor  # S_psi' (M, I * K, N, P)
    first: tuple[Tensor, ...]  # S_f: for level l = 1 .. L (M, C_l, 2 * C_(l-1)), positive then negated
    second: tuple[Tensor, ...]  # S_f'
    output: Tensor  # s_o (M, 2 * (C_0 + ... + C_L)): level by level, positive then negated

    @property
    def members(self) -> int:
        return len(self.output)

    def tensors(self) -> dict[str, Tensor]:
        """By name, for files."""
        levels = {f"{name}.{i}": t for name in ("first", "second") for i, t in enumerate(getattr(self, name), start=1)}
        return {"operators": self.operators, "left": self.left, "right": self.right, **levels, "output": self.output}

    @classmethod
    def of_tensors(cls, named: Mapping[str, Tensor]) -> Attentions:
        levels = sum(name.startswith("first.") for name in named)
        first, second = (tuple(named[f"{side}.{i}"] for i in range(1, levels + 1)) for side in ("first", "second"))
        return cls(named["operators"], named["left"], named["right"], first, second, named["output"])

    def map(self, function) -> Attentions:
        return Attentions.of_tensors({name: function(t) for name, t in self.tensors().items()})

    def __getitem__(self, members) -> Attentions:
        """A part of the stack."""
        return self.map(lambda t: t[members])

    def distributions(self) -> list[Tensor]:
        """Each family as rows that sum to 1: (M, rows, choices)."""
        flat = [self.operators.flatten(1, 2), self.left.flatten(2), self.right.flatten(2)]
        return [*flat, *self.first, *self.second, self.output[:, None]]

    def one_hot(self) -> Attentions:
        """Everything on the largest entry (the first of equals)."""

        def hard(t: Tensor) -> Tensor:
            return torch.zeros_like(t).scatter(-1, t.argmax(-1, keepdim=True), 1.0)

        def hard_argument(t: Tensor) -> Tensor:
            return hard(t.flatten(2)).reshape(t.shape)

        return Attentions(
            hard(self.operators),
            hard_argument(self.left),
            hard_argument(self.right),
            tuple(map(hard, self.first)),
            tuple(map(hard, self.second)),
            hard(self.output),
        )

    def entropy(self) -> Tensor:
        """(M,) mean entropy of the distributions, in nats: 0 once every choice is made."""
        total = [(-d * d.clamp(min=1e-9).log()).sum(-1).mean(1) for d in self.distributions()]
        return torch.stack(total).mean(0)


def softmax_attentions(logits: Attentions, masks: Masks, shape: Shape, temperature: float = 1.0) -> Attentions:
    """Distributions from scores of the same shapes; what the masks exclude gets 0."""

    def soft(scores: Tensor, mask: Tensor) -> Tensor:
        return torch.softmax((scores / temperature).masked_fill(~mask, -torch.inf), -1)

    def argument(scores: Tensor) -> Tensor:
        mask = masks.arguments.flatten(1)[:, None, :]
        return soft(scores.flatten(2), mask).reshape(scores.shape)

    levels = range(len(shape.widths))
    previous = [masks.factors(shape, level + 1) for level in levels]
    return Attentions(
        soft(logits.operators, masks.operators[:, None, None, :]),
        argument(logits.left),
        argument(logits.right),
        tuple(soft(logits.first[i], previous[i]) for i in levels),
        tuple(soft(logits.second[i], previous[i]) for i in levels),
        soft(logits.output, masks.outputs(shape)),
    )
