"""The programs of differentiable ILP: every clause that a rule template allows, and forward chaining with weights.

A clause has a head with different variables and a body of two atoms (one, where both are the same). It is safe
(the head's variables occur in the body) and its head is no atom of its body. Clauses that nlil's rule language cannot
express, those with an existential variable twice in one atom, `p(Z, Z)`, are left out; this is the only restriction.

Forward chaining on truth values in [0, 1] over all ground atoms: a valuation holds a tensor for each predicate,
(members, N) or (members, N, N). Members are independent programs that are trained side by side; what is given has one
member, shared. A clause: the largest product of its body atoms over the existential variables. A definition: the mean
over its (pairs of) clauses, weighted by a softmax, of the larger of both. A step: a + b - a b, of what was true and
what follows.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations_with_replacement, product
from math import prod
from typing import NamedTuple

import torch
from torch import Tensor

from nlil.errors import ConfigError, LimitError
from nlil.logic.parse import parse_rule
from nlil.logic.predicate import Predicate
from nlil.logic.rule import Rule
from nlil.logic.text import atom_text

MOST_BODIES = 20_000
"""Pairs of atoms that a template may have; beyond, no weight learns what it stands for in reasonable time."""


@dataclass(frozen=True)
class Template:
    """`existential`: variables beside the head's. `intensional`: may the body name predicates that are being learned,
    the head's own included (recursion)?"""

    existential: int = 0
    intensional: bool = False


@dataclass(frozen=True)
class Definition:
    """A predicate to be defined by one clause for each of its one or two templates."""

    predicate: Predicate
    templates: tuple[Template, ...]


class Atom(NamedTuple):
    """`variables`: 0 is X; 1 is Y if the head is binary; then come the existential ones."""

    predicate: Predicate
    variables: tuple[int, ...]


Body = tuple[Atom, ...]
"""The body of a rule as numbered variables, for evaluation on tensors."""
Clauses = Mapping[Rule, Body]
"""Rules to choose from, with their bodies."""


def clauses(head: Predicate, template: Template, given: Sequence[Predicate], learned: Sequence[Predicate]) -> Clauses:
    """All clauses of the template, in a fixed order, each meaning once.

    Args:
        head: The predicate that they define.
        template: What they may look like.
        given: Predicates with facts.
        learned: Predicates that are being learned.

    >>> even, zero, succ = Predicate("even", 1), Predicate("zero", 1), Predicate("succ", 2)
    >>> [str(rule) for rule in clauses(even, Template(), (zero, succ), (even,))]
    ['even(X) :- zero(X).', 'even(X) :- zero(X), succ(X, X).', 'even(X) :- succ(X, X).']
    """
    pool = (*given, *learned) if template.intensional else tuple(given)
    atoms = list(_atoms(head, template, pool))
    if len(atoms) * (len(atoms) + 1) // 2 > MOST_BODIES:
        raise LimitError(
            f"dilp: {head} could have {len(atoms) * (len(atoms) + 1) // 2:,} clause bodies over "
            f"{len(pool)} predicates, expected at most {MOST_BODIES:,}; use a set with fewer predicates"
        )
    found: dict[Rule, Body] = {}
    for one, two in combinations_with_replacement(atoms, 2):
        if {v for atom in (one, two) for v in atom.variables} >= set(range(head.arity)):
            body = (one,) if one == two else (one, two)
            found.setdefault(_rule(head, body), body)
    return found


def _rule(head: Predicate, body: Body) -> Rule:
    names = [*"XY"[: head.arity], *(f"Z{i}" for i in range(1, 2 * len(body) + 1))]
    atoms = (Atom(head, tuple(range(head.arity))), *body)
    texts = [f"{atom_text(a.predicate.name)}({', '.join(names[v] for v in a.variables)})" for a in atoms]
    return parse_rule(f"{texts[0]} :- {', '.join(texts[1:])}.")


def _atoms(head: Predicate, template: Template, pool: Sequence[Predicate]) -> Iterator[Atom]:
    for predicate in pool:
        for variables in product(range(head.arity + template.existential), repeat=predicate.arity):
            is_loop = len(variables) == 2 and variables[0] == variables[1] >= head.arity
            is_head = predicate == head and variables == tuple(range(head.arity))
            if not is_loop and not is_head:
                yield Atom(predicate, variables)


Valuation = Mapping[Predicate, Tensor]
FLOAT = 4
"""Bytes of a truth value."""


@dataclass(frozen=True, eq=False)
class Program:
    """For each definition, for each of its templates, the clauses to choose from. `size`: entities."""

    definitions: tuple[Definition, ...]
    choices: tuple[tuple[Clauses, ...], ...]
    size: int

    @classmethod
    def of(cls, definitions: Sequence[Definition], given: Sequence[Predicate], size: int) -> Program:
        learned = tuple(d.predicate for d in definitions)
        choices = []
        for definition in definitions:
            if len(definition.templates) not in (1, 2):
                raise ConfigError(
                    f"dilp: {definition.predicate} has {len(definition.templates)} templates, expected one or two",
                    "templates",
                )
            sets = [clauses(definition.predicate, t, given, learned) for t in definition.templates]
            if not all(sets):
                raise ConfigError(
                    f"dilp: a template of {definition.predicate} allows no clause over the predicates "
                    f"{', '.join(map(str, given))}; allow more variables",
                    "templates",
                )
            choices.append(tuple(sets))
        return cls(tuple(definitions), tuple(choices), size)

    @property
    def weight_shapes(self) -> list[tuple[int, ...]]:
        """One weight for each clause, or for each pair of clauses where there are two templates."""
        return [tuple(map(len, sets)) for sets in self.choices]

    def bytes_needed(self, members: int, steps: int) -> int:
        """What training keeps for its gradients, and the largest thing that is made on the way."""
        kept, largest = 0, 0
        for definition, sets in zip(self.definitions, self.choices):
            head = self.size**definition.predicate.arity
            for template, found in zip(definition.templates, sets):
                each = [self.size ** len(_joined(body, definition.predicate.arity)[1]) for body in found.values()]
                largest = max(largest, *each)
                kept += (
                    members * steps * (2 * sum(each) + len(found) * head)
                    if template.intensional
                    else (len(found) * head)
                )
            kept += 2 * members * steps * head * prod(map(len, sets))
        return FLOAT * (kept + largest)

    def check_memory(self, members: int, steps: int, memory: int) -> None:
        needed = self.bytes_needed(members, steps)
        if needed > memory:
            atoms = sum(self.size**d.predicate.arity for d in self.definitions)
            raise LimitError(
                f"dilp: {self.definitions[0].predicate} needs about {needed / 2**30:,.1f} GiB ({atoms:,} ground atoms "
                f"to derive, {sum(len(c) for sets in self.choices for c in sets):,} clauses, {steps} steps, {members} "
                f"starts), expected at most {memory / 2**30:,.1f} GiB; use a smaller set, fewer steps or starts, or "
                "more --memory"
            )

    def fixed(self, given: Valuation) -> Fixed:
        """The values of the clauses that see given facts only: the same at every step, so computed once."""
        return [
            [
                _stacked(found, given) if not template.intensional else None
                for template, found in zip(definition.templates, sets)
            ]
            for definition, sets in zip(self.definitions, self.choices)
        ]

    def start(self, members: int, like: Tensor) -> dict[Predicate, Tensor]:
        """Nothing that is learned is true yet."""
        return {d.predicate: like.new_zeros((members, *(self.size,) * d.predicate.arity)) for d in self.definitions}

    def step(self, value: Valuation, weights: Sequence[Tensor], fixed: Fixed) -> dict[Predicate, Tensor]:
        """The learned predicates after one more step. `weights` (members, clauses[, clauses]) sum to 1."""
        after = {}
        for definition, sets, weight, known in zip(self.definitions, self.choices, weights, fixed):
            parts = [_stacked(found, value) if ready is None else ready for found, ready in zip(sets, known)]
            follows = _mixed(parts, weight)
            before = value[definition.predicate]
            after[definition.predicate] = before + follows - before * follows
        return after

    def chain(
        self, given: Valuation, weights: Sequence[Tensor], steps: int, fixed: Fixed | None = None
    ) -> dict[Predicate, Tensor]:
        """The learned predicates after so many steps."""
        ready = self.fixed(given) if fixed is None else fixed
        learned = self.start(len(weights[0]), weights[0])
        for _ in range(steps):
            learned = self.step({**given, **learned}, weights, ready)
        return learned


Fixed = list[list[Tensor | None]]


def softmax_weights(scores: Sequence[Tensor]) -> list[Tensor]:
    """Over all (pairs of) clauses of a definition at once."""
    return [torch.softmax(s.flatten(1), 1).view_as(s) for s in scores]


def one_hot_weights(scores: Sequence[Tensor]) -> list[Tensor]:
    """All weight on the largest score, the first of equals."""
    return [
        torch.zeros_like(s).flatten(1).scatter(1, s.flatten(1).argmax(1, keepdim=True), 1.0).view_as(s) for s in scores
    ]


def body_value(body: Body, arity: int, value: Valuation) -> Tensor:
    """(members, N[, N]): max over the existential variables of the product of the body; `arity` is the head's."""
    order, _ = _joined(body, arity)
    factors = []
    for atom in body:
        own, tensor = _atom_value(atom, value)
        lonely = [i + 1 for i, v in enumerate(own) if v not in order]
        tensor = tensor.amax(lonely) if lonely else tensor
        kept = [v for v in own if v in order]
        # (members, the variables of the body in order): 1 where the atom has not got the variable
        sizes = [tensor.shape[0], *(tensor.shape[1 + kept.index(v)] if v in kept else 1 for v in order)]
        factors.append(tensor.reshape(sizes))
    result = factors[0] if len(factors) == 1 else factors[0] * factors[1]
    inner = [i + 1 for i, v in enumerate(order) if v >= arity]
    return result.amax(inner) if inner else result


def _joined(body: Body, arity: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """(variables that matter when the atoms are joined, those of the largest tensor made for it), ascending.

    An existential variable of one atom only is maximised away before the atoms meet.
    """
    times = Counter(v for atom in body for v in set(atom.variables))
    order = tuple(sorted(v for v, n in times.items() if v < arity or n > 1))
    widest = max((order, *(tuple(sorted(set(atom.variables))) for atom in body)), key=len)
    return order, widest


def _atom_value(atom: Atom, value: Valuation) -> tuple[tuple[int, ...], Tensor]:
    """(its variables ascending, its value over them)."""
    tensor = value[atom.predicate]
    if len(atom.variables) == 1:
        return atom.variables, tensor
    first, second = atom.variables
    if first == second:
        return (first,), tensor.diagonal(dim1=1, dim2=2)
    return ((first, second), tensor) if first < second else ((second, first), tensor.transpose(1, 2))


def _stacked(found: Clauses, value: Valuation) -> Tensor:
    """(members, clauses, N[, N])"""
    values = (body_value(body, rule.target.arity, value) for rule, body in found.items())
    return torch.stack(torch.broadcast_tensors(*values), 1)


def _mixed(parts: Sequence[Tensor], weight: Tensor) -> Tensor:
    """sum_jk weight_jk max(part_j, part_k); with one template sum_j weight_j part_j."""
    if len(parts) == 1:
        both, flat = parts[0], weight
    else:
        both = torch.maximum(parts[0][:, :, None], parts[1][:, None]).flatten(1, 2)
        flat = weight.flatten(1)
    return (both * flat.reshape(*flat.shape, *(1,) * (both.dim() - 2))).sum(1)
