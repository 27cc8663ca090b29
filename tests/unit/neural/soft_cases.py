"""Small spaces, queries and attentions for tests of soft evaluation and extraction."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import numpy as np
import torch

from nlil.data.kb import KnowledgeBase
from nlil.neural.paths import PathLimits, QueryPaths, attention_graph, build_paths
from nlil.neural.sampling import NO_ENTITY, LabelledQueries
from nlil.neural.soft import Squash
from nlil.neural.space import Attentions, Kind, Masks, Shape, Space, Start, operators_of, softmax_attentions

NO_LIMIT = PathLimits(2**40, 2**40)


def predicate_id(kb: KnowledgeBase, name: str) -> int:
    return kb.predicate_id(kb.predicate(name))


def space_of(kb: KnowledgeBase, target: str, starts: Sequence[Start] | None = None) -> Space:
    """Every predicate in every role; by default every start but constants."""
    number = predicate_id(kb, target)
    arity = kb.predicates[number].arity
    every = np.arange(kb.num_predicates, dtype=np.int32)
    if starts is None:
        unary = [p for p in every.tolist() if kb.predicates[p].arity == 1]
        starts = [
            Start(Kind.X),
            *([Start(Kind.Y)] if arity == 2 else []),
            *(Start(Kind.UNARY, p) for p in unary),
            Start(Kind.ANY),
        ]
    return Space(number, arity, operators_of(kb, every), every, tuple(starts))


def shape_of(space: Space, steps: int, heads: int = 1, instances: int = 1, widths: tuple[int, ...] = ()) -> Shape:
    return Shape(len(space.operators), len(space.predicates), len(space.starts), steps, heads, instances, widths)


def queries_of(kb: KnowledgeBase, *tuples: tuple[str, ...], hide: bool = False) -> LabelledQueries:
    """Queries by entity names, of one target."""
    x = np.array([[kb.entities.id(names[0]) for names in tuples]], np.int64)
    y = np.array([[kb.entities.id(names[1]) if len(names) == 2 else NO_ENTITY for names in tuples]], np.int64)
    return LabelledQueries(x, y, np.zeros(x.shape, np.float32), np.full(x.shape, hide))


def paths_of(
    kb: KnowledgeBase, space: Space, shape: Shape, queries: LabelledQueries, linked: bool = False
) -> QueryPaths:
    return build_paths(kb, attention_graph(kb), [space], shape, queries, NO_LIMIT, linked)


def random_logits(shape: Shape, members: int, seed: int, spread: float = 1.0) -> Attentions:
    generator = torch.Generator().manual_seed(seed)

    def draw(*size: int) -> torch.Tensor:
        return spread * torch.randn(members, *size, generator=generator, dtype=torch.float64)

    pairs = [(width, 2 * below) for below, width in itertools.pairwise(shape.levels)]
    argument = (shape.statements, shape.starts, shape.slots)
    return Attentions(
        draw(shape.heads, shape.steps, shape.operators),
        draw(*argument),
        draw(*argument),
        tuple(draw(*pair) for pair in pairs),
        tuple(draw(*pair) for pair in pairs),
        draw(shape.outputs),
    )


def attend(space: Space, shape: Shape, logits: Attentions) -> Attentions:
    return softmax_attentions(logits, Masks.of([space.padded(shape)], shape, logits.members), shape)


class Chosen:
    """One-hot attentions of one member, written choice by choice; what is not chosen is the first choice."""

    def __init__(self, kb: KnowledgeBase, space: Space, shape: Shape) -> None:
        self.kb, self.space, self.shape = kb, space, shape
        self.tensors = {name: torch.zeros_like(t) for name, t in random_logits(shape, 1, 0).tensors().items()}
        for name, tensor in self.tensors.items():
            (tensor[..., 0, 0] if name in ("left", "right") else tensor[..., 0]).fill_(1.0)

    def operator(self, step: int, name: str, inverse: bool = False, head: int = 0) -> Chosen:
        code = 2 * predicate_id(self.kb, name) + inverse
        row = self.tensors["operators"][0, head, step]
        row.zero_()[int(np.flatnonzero(self.space.operators == code)[0])] = 1.0
        return self

    def statement(
        self, name: str, left: tuple[Kind, int] = (Kind.X, 0), right: tuple[Kind, int] = (Kind.X, 0), instance: int = 0
    ) -> int:
        """Both arguments as (kind of start, slot); answers the number of the statement."""
        number = instance * self.shape.predicates + predicate_id(self.kb, name)
        kinds = [start.kind for start in self.space.starts if start is not None]
        for side, (kind, slot) in (("left", left), ("right", right)):
            self.tensors[side][0, number].zero_()[kinds.index(kind), slot] = 1.0
        return number

    def formula(self, level: int, number: int, first: int, second: int) -> Chosen:
        for side, choice in (("first", first), ("second", second)):
            self.tensors[f"{side}.{level}"][0, number].zero_()[choice] = 1.0
        return self

    def output(self, choice: int) -> Attentions:
        self.tensors["output"].zero_()[0, choice] = 1.0
        return Attentions.of_tensors(self.tensors)


# the formulas, written with dense matrices ----------------------------------------------------------


def dense_counts(
    kb: KnowledgeBase, space: Space, shape: Shape, a: Attentions, x: int, y: int, hide: bool
) -> torch.Tensor:
    """(statements,) of one query of a binary target: matrices M_k, phi moves from subject to object."""
    n = kb.num_entities
    facts = kb.facts
    weight = np.ones(len(facts)) if facts.weight is None else facts.weight
    dense = np.zeros((kb.num_codes, n, n))
    dense[2 * facts.predicate, facts.subject, np.where(facts.object < 0, facts.subject, facts.object)] = weight
    if hide:
        dense[2 * space.target, x, y] = 0.0
    dense[1::2] = dense[0::2].transpose(0, 2, 1)
    matrix = torch.from_numpy(dense)

    def begin(kind: Kind, predicate: int) -> torch.Tensor:
        if kind == Kind.UNARY:
            return matrix[2 * predicate].diagonal()
        return (
            torch.ones(n, dtype=torch.float64)
            if kind == Kind.ANY
            else torch.eye(n, dtype=torch.float64)[x if kind == Kind.X else y]
        )

    rows = []
    for start in space.starts:
        assert start is not None
        slots = torch.zeros(shape.slots, n, dtype=torch.float64)
        slots[0] = begin(start.kind, start.id)
        for head in range(shape.heads):
            value = slots[0]
            for t in range(shape.steps):
                step = torch.einsum("o,oij->ij", a.operators[0, head, t], matrix[space.operators.tolist()])
                value = step.T @ value
                slots[1 + t * shape.heads + head] = value
        rows.append(slots)
    every = torch.stack(rows)  # (N, P, n)
    about = torch.tensor([start.kind <= Kind.Y for start in space.starts if start is not None])
    counts = []
    for s in range(shape.statements):
        k = int(space.predicates[s % shape.predicates])
        left, right = (torch.einsum("np,npi->ni", side[0, s], every) for side in (a.left, a.right))
        if kb.predicates[k].arity == 1:
            counts.append((right[about] @ matrix[2 * k].diagonal()).sum())
        else:
            table = left @ matrix[2 * k] @ right.T
            counts.append(table[about[:, None] | about[None, :]].sum())
    return torch.stack(counts)


def dense_score(count: torch.Tensor, a: Attentions, squash: Squash) -> torch.Tensor:
    signed = torch.cat([squash(count), 1 - squash(count)])
    every = [signed]
    for first, second in zip(a.first, a.second):
        value = (first[0] @ signed) * (second[0] @ signed)
        signed = torch.cat([value, 1 - value])
        every.append(signed)
    return a.output[0] @ torch.cat(every)
