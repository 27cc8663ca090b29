"""Space: which rules the attentions of one target can express, and the sizes that a stack of them shares.

A rule of the space is read from six attentions (`attention.Attentions`):

    S_phi   operator of each step          H heads x T steps x O operators
    S_psi   left argument of a statement   for each statement: N starts x P slots
    S_psi'  right argument                 the same
    S_f, S_f'  the two factors of a formula, for each of the L levels
    s_o     the formula that is the rule, over both signs of all levels

An argument of a statement is a start and a *slot*: slot 0 is the start itself, slot 1 + (t - 1) * H + h the
path of the first t operators of head h from there. phi moves from subject to object; the inverse of every
binary predicate and every unary predicate (as a filter) is an operator too.   [paper §3, §4]
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

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
    """A head variable, the set of a unary predicate, one entity, or everything."""

    kind: Kind
    id: int = PADDING  # predicate of a UNARY start, entity of a CONSTANT
    walks: bool = True  # paths lead on from it; otherwise it is an argument only as it stands

    def __post_init__(self) -> None:
        if self.kind == Kind.ANY:
            object.__setattr__(self, "walks", False)

    def path(self, kb: KnowledgeBase, steps: tuple[Step, ...]) -> Path:
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
    """Sizes of the attentions of one member; members of a stack share them."""

    operators: int  # O
    predicates: int  # K, the predicates that statements are made of
    starts: int  # N
    steps: int  # T
    heads: int = 1  # H; 1 is the paper to the letter
    instances: int = 1  # I, statements of each predicate; 1 in the paper
    widths: tuple[int, ...] = ()  # C of each level; L = len(widths)

    @property
    def slots(self) -> int:
        """P: length 0, and each head at each length."""
        return 1 + self.heads * self.steps

    @property
    def statements(self) -> int:
        return self.instances * self.predicates

    @property
    def levels(self) -> tuple[int, ...]:
        """Formulas of level 0 (the statements), 1, ..., L."""
        return (self.statements, *self.widths)

    @property
    def outputs(self) -> int:
        """Both signs of every formula of every level."""
        return 2 * sum(self.levels)


@dataclass(frozen=True, eq=False)
class Space:
    """The vocabulary of one target: operators as step codes, statement predicates, starts. Padded with -1."""

    target: int
    arity: int
    operators: Ids  # (O,) step codes
    predicates: Ids  # (K,) predicate ids
    starts: tuple[Start | None, ...]  # (N,), None is padding

    @property
    def operator_mask(self) -> Mask:
        return self.operators != PADDING

    @property
    def predicate_mask(self) -> Mask:
        return self.predicates != PADDING

    def argument_mask(self, shape: Shape) -> Mask:
        """(N, P): which (start, slot) an argument may choose."""
        mask = np.zeros((shape.starts, shape.slots), bool)
        for row, start in enumerate(self.starts):
            if start is not None:
                mask[row, : None if start.walks else 1] = True
        return mask

    def padded(self, shape: Shape) -> Space:
        """The same space with the sizes of `shape`."""

        def pad(ids: Ids, size: int) -> Ids:
            return np.concatenate([ids, np.full(size - len(ids), PADDING, np.int32)]).astype(np.int32)

        starts = self.starts + (None,) * (shape.starts - len(self.starts))
        return Space(
            self.target,
            self.arity,
            pad(self.operators, shape.operators),
            pad(self.predicates, shape.predicates),
            starts,
        )


def operators_of(kb: KnowledgeBase, predicates: Ids) -> Ids:
    """Step codes of the predicates: both directions of a binary one, a unary one as a filter."""
    codes = []
    for p in predicates:
        codes += [2 * p, 2 * p + 1] if kb.predicates[p].arity == 2 else [2 * p]
    return np.array(codes, np.int32)
