"""The space of rules of one target, and the attentions over it: six families of distributions that define a rule.

    S_phi      operator of each step           H heads x T steps x O operators
    S_psi      left argument of a statement    for each statement: N starts x P slots
    S_psi'     right argument                  the same
    S_f, S_f'  the two factors of a formula    for each of the L levels
    s_o        the formula that is the rule    both signs of all levels

An argument of a statement is a start and a *slot*: slot 0 is the start itself, slot 1 + (t - 1) * H + h the path of
the first t operators of head h from there. phi moves from subject to object; the inverse of every binary predicate
and every unary predicate (as a filter) is an operator too.   [paper §3, §4]

A *member* is one generator: one target, one restart. Member m = target * restarts + restart.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

import numpy as np
import torch
from torch import Tensor

from ..data.arrays import Ids, Mask
from ..data.kb import KnowledgeBase
from ..logic.formula import ANY, Constant, Path, X, Y
from ..logic.predicate import Step

PADDING = -1


class Kind(IntEnum):
    """What a path may start from."""

    X = 0
    Y = 1
    UNARY = 2
    CONSTANT = 3
    ANY = 4


@dataclass(frozen=True, order=True)
class Start:
    """A head variable, the set of a unary predicate, one entity, or everything.

    Attributes:
        kind: which of the four.
        id: predicate of a UNARY start, entity of a CONSTANT.
        walks: whether paths may start from it; otherwise it can only be an argument itself.
    """

    kind: Kind
    id: int = PADDING
    walks: bool = True

    def __post_init__(self) -> None:
        if self.kind == Kind.ANY:
            object.__setattr__(self, "walks", False)

    def path(self, kb: KnowledgeBase, steps: tuple[Step, ...]) -> Path:
        """Return the path that takes `steps` from here."""
        match self.kind:
            case Kind.X:
                return Path(X, steps)
            case Kind.Y:
                return Path(Y, steps)
            case Kind.UNARY:
                return Path.unary(kb.predicates[self.id], *steps)
            case Kind.CONSTANT:
                return Path(Constant(kb.entities.name(self.id)), steps)
            case _:
                return Path(ANY, steps)


@dataclass(frozen=True)
class Shape:
    """Sizes of the attentions of one member; members of a stack share them.

    Attributes:
        operators: O.
        predicates: K, the predicates that statements are made of.
        starts: N.
        steps: T.
        heads: H; 1 in the paper.
        instances: I, statements of each predicate; 1 in the paper.
        widths: C of each level; L = len(widths).
    """

    operators: int
    predicates: int
    starts: int
    steps: int
    heads: int = 1
    instances: int = 1
    widths: tuple[int, ...] = ()

    @property
    def slots(self) -> int:
        """P: length 0, and each head at each length."""
        return 1 + self.heads * self.steps

    @property
    def statements(self) -> int:
        """The number of statements of a member."""
        return self.instances * self.predicates

    @property
    def levels(self) -> tuple[int, ...]:
        """The numbers of formulas of level 0 (the statements), 1, ..., L."""
        return (self.statements, *self.widths)

    @property
    def outputs(self) -> int:
        """The number of formulas of all levels, in both signs."""
        return 2 * sum(self.levels)


@dataclass(frozen=True, eq=False)
class Space:
    """The vocabulary of one target: operators as step codes, statement predicates, starts. Padded with -1.

    Attributes:
        target: a predicate id.
        arity: of the target.
        operators: (O,) step codes.
        predicates: (K,) predicate ids.
        starts: (N,), None is padding.
    """

    target: int
    arity: int
    operators: Ids
    predicates: Ids
    starts: tuple[Start | None, ...]

    def argument_mask(self, shape: Shape) -> Mask:
        """Return (N, P): which (start, slot) an argument may choose."""
        mask = np.zeros((shape.starts, shape.slots), bool)
        for row, start in enumerate(self.starts):
            if start is not None:
                mask[row, : None if start.walks else 1] = True
        return mask

    def padded(self, shape: Shape) -> Space:
        """Return the space padded to the sizes of `shape`."""

        def pad(ids: Ids, size: int) -> Ids:
            return np.pad(ids, (0, size - len(ids)), constant_values=PADDING).astype(np.int32)

        operators, predicates = pad(self.operators, shape.operators), pad(self.predicates, shape.predicates)
        starts = self.starts + (None,) * (shape.starts - len(self.starts))
        return Space(self.target, self.arity, operators, predicates, starts)

    def arrays(self) -> dict[str, Ids]:
        """Return the vocabulary by name, for files."""
        starts = [(PADDING, PADDING) if s is None else (int(s.kind), s.id) for s in self.starts]
        pairs = np.array(starts, np.int32).reshape(-1, 2)
        return {"space.operators": self.operators, "space.predicates": self.predicates, "space.starts": pairs}

    @classmethod
    def of_arrays(cls, target: int, arity: int, named: Mapping[str, np.ndarray]) -> Space:
        """Restore the space of a `target` of this `arity` from `named` arrays; these do not say which starts walk."""
        pairs = named["space.starts"].tolist()
        starts = tuple(None if kind == PADDING else Start(Kind(kind), id) for kind, id in pairs)
        return cls(target, arity, named["space.operators"], named["space.predicates"], starts)


def operators_of(kb: KnowledgeBase, predicates: Ids) -> Ids:
    """Return step codes of `predicates`: both directions of a binary one, a unary one as a filter."""
    codes = [2 * p + way for p in predicates for way in range(kb.predicates[p].arity)]
    return np.array(codes, np.int32)


@dataclass(frozen=True, eq=False)
class Masks:
    """Which choices exist, for each member: none of padding, and no paths from "everything".

    Attributes:
        operators: bool (M, O).
        statements: bool (M, I * K), instance-major: statement i * K + k has predicate k.
        arguments: bool (M, N, P).
        monotone: bool (M,): members without net negation.
    """

    operators: Tensor
    statements: Tensor
    arguments: Tensor
    monotone: Tensor

    @classmethod
    def of(cls, spaces: Sequence[Space], shape: Shape, restarts: int = 1, device: str | torch.device = "cpu") -> Masks:
        """Return the masks of padded `spaces`, each repeated for its `restarts`, on a `device`.

        If the target may occur in its own bodies, every second restart is monotone: a rule that negates its own head
        may fit one step but derives nothing, so training must not consist of such rules alone.
        """

        def stack(rows: list[Mask]) -> Tensor:
            return torch.from_numpy(np.stack(rows)).repeat_interleave(restarts, 0).to(device)

        monotone = [bool(r % 2) and s.target in s.predicates for s in spaces for r in range(restarts)]
        return cls(
            stack([s.operators != PADDING for s in spaces]),
            stack([s.predicates != PADDING for s in spaces]).repeat(1, shape.instances),
            stack([s.argument_mask(shape) for s in spaces]),
            torch.tensor(monotone, device=device),
        )

    def choices(self, shape: Shape) -> dict[str, Tensor]:
        """Return which choices exist in each of `Attentions.tensors`, the last axis being that of the choices."""
        arguments = self.arguments.flatten(1)[:, None, :]
        found = {"operators": self.operators[:, None, None, :], "left": arguments, "right": arguments}
        for level in range(1, len(shape.levels)):
            found[f"first.{level}"] = found[f"second.{level}"] = self._factors(shape, level)
        every = range(len(shape.levels))
        signs = torch.cat([monotone_signs(shape, level) for level in every]).to(arguments.device)
        exist = torch.cat([self._formulas(shape, level) for level in every], 1)
        found["output"] = exist & (signs | ~self.monotone[:, None])
        return found

    def _factors(self, shape: Shape, level: int) -> Tensor:
        """Return bool (M, C_level, 2 * C_(level-1)): the possible factors of each formula."""
        exist = self._formulas(shape, level - 1)[:, None, :]
        width = shape.levels[level]
        below = monotone_signs(shape, level - 1).to(exist.device)
        rising = torch.arange(width, device=exist.device) < (width + 1) // 2
        allowed = torch.where(rising[:, None], below, ~below)
        return exist & (allowed | ~self.monotone[:, None, None])

    def _formulas(self, shape: Shape, level: int) -> Tensor:
        """Return bool (M, 2 * C_level): the positive and negated formulas of a level that exist."""
        signed = torch.cat([self.statements, self.statements], 1)
        return signed if level == 0 else signed.new_ones(len(signed), 2 * shape.levels[level])


def monotone_signs(shape: Shape, level: int) -> Tensor:
    """Return which signed formulas of a `level` are monotone in every statement: bool (2 * C_level,).

    For monotone members, the first half of a level multiplies such formulas, the second half their negations; negated
    again, that is a disjunction.
    """
    width = shape.levels[level]
    rising = torch.arange(width) < (width if level == 0 else (width + 1) // 2)
    return torch.cat([rising, ~rising])


@dataclass(frozen=True, eq=False)
class Attentions:
    """Proper distributions: each sums to 1 over its last dimension (over the last two for arguments).

    Attributes:
        operators: S_phi (M, H, T, O).
        left: S_psi (M, I * K, N, P).
        right: S_psi' (M, I * K, N, P).
        first: S_f: for level l = 1 .. L (M, C_l, 2 * C_(l-1)), positive then negated.
        second: S_f'.
        output: s_o (M, 2 * (C_0 + ... + C_L)): level by level, positive then negated.
    """

    operators: Tensor
    left: Tensor
    right: Tensor
    first: tuple[Tensor, ...]
    second: tuple[Tensor, ...]
    output: Tensor

    @property
    def members(self) -> int:
        """The number of members."""
        return len(self.output)

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors by name, for files."""
        levels = {f"{name}.{i}": t for name in ("first", "second") for i, t in enumerate(getattr(self, name), start=1)}
        return {"operators": self.operators, "left": self.left, "right": self.right, **levels, "output": self.output}

    @classmethod
    def of_tensors(cls, named: Mapping[str, Tensor]) -> Attentions:
        """Read attentions from tensors `named` as `tensors` names them."""
        levels = sum(name.startswith("first.") for name in named)
        first, second = (tuple(named[f"{side}.{i}"] for i in range(1, levels + 1)) for side in ("first", "second"))
        return cls(named["operators"], named["left"], named["right"], first, second, named["output"])

    def map(self, function: Callable[[Tensor], Tensor]) -> Attentions:
        """Apply `function` to every tensor."""
        return Attentions.of_tensors({name: function(t) for name, t in self.tensors().items()})

    def __getitem__(self, members: slice | Tensor) -> Attentions:
        """Return some members of the stack."""
        return self.map(lambda t: t[members])

    def choices(self) -> dict[str, Tensor]:
        """Return the distributions by name, along the last axis; a choice of an argument is (start, slot)."""
        return {name: t.flatten(2) if name in ("left", "right") else t for name, t in self.tensors().items()}

    def with_choices(self, named: Mapping[str, Tensor]) -> Attentions:
        """Return attentions from tensors `named` as in `choices`, in the shapes of these attentions."""
        return Attentions.of_tensors({name: named[name].reshape(t.shape) for name, t in self.tensors().items()})

    def one_hot(self) -> Attentions:
        """Return one-hot attentions at the largest entries; ties go to the first."""
        choices = self.choices().items()
        return self.with_choices({n: torch.zeros_like(t).scatter(-1, t.argmax(-1, True), 1.0) for n, t in choices})

    def distributions(self) -> list[Tensor]:
        """Return each family as rows that sum to 1: (M, rows, choices)."""
        return [t.flatten(1, -2) if t.dim() > 2 else t[:, None] for t in self.choices().values()]

    def entropy(self) -> Tensor:
        """Return the mean entropy of the distributions (M,), in nats: 0 if they are one-hot."""
        total = [(-d * d.clamp(min=1e-9).log()).sum(-1).mean(1) for d in self.distributions()]
        return torch.stack(total).mean(0)


def softmax_attentions(logits: Attentions, masks: Masks, shape: Shape, temperature: float = 1.0) -> Attentions:
    """Return the softmax of `logits` / `temperature`, in the same shapes; choices excluded by masks get 0."""
    exist = masks.choices(shape)
    return logits.with_choices(
        {
            name: torch.softmax((scores / temperature).masked_fill(~exist[name], -torch.inf), -1)
            for name, scores in logits.choices().items()
        }
    )
