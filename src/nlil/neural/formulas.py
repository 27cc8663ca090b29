"""Formulas over given statements: the upper half of the generator, without the search for statements.   [paper §3, §5]

The statements are counted bodies whose truth for each query is known. Attentions over them and over their products are
trained as for any target, and read by their largest choices.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import product

import numpy as np
import torch

from ..config import LearnerConfig
from ..data.arrays import Mask
from ..data.facts import Facts
from ..data.kb import KnowledgeBase
from ..data.vocabulary import Vocabulary
from ..kernel.threads import one_torch_thread
from ..logic.formula import And, Formula, Not, Or, Statement, X
from ..logic.predicate import Predicate, Step
from ..logic.simplify import simplify_formula
from .extract import AttentionReader
from .generator import make_stack, member_seed
from .paths import GivenStatements
from .space import Kind, Masks, Shape, Space, Start
from .training import Block, Trainer

Literal = tuple[int, bool]
"""A statement, and whether it is positive."""
Conjunction = tuple[Literal, ...]

HELD_OUT = 5
"""Every n-th query is held out for validation."""


class GivenReader(AttentionReader):
    """Reads formulas over given statements s0(X), s1(X), ..."""

    def _statement(
        self, s: int, left: int, left_path: tuple[int, ...], right: int, right_path: tuple[int, ...]
    ) -> Formula:
        return Statement(X, (Step(self.kb.predicates[s]),))


def train_formulas(
    values: Sequence[Mask], labels: Sequence[Mask], allowed: Mask, config: LearnerConfig, seeds: Sequence[int]
) -> list[list[Conjunction]]:
    """Train formulas for the label of each group of queries; return their conjunctions, the best restart first.

    A disjunction is returned as its conjunctions.

    Args:
        values: for each group (queries, statements): whether a statement holds.
        labels: for each group (queries,): the value that a formula should have.
        allowed: (groups, statements): the statements that the formulas of a group may use.
        config: the settings of training.
        seeds: one for each group.
    """
    said = train_disjunctions(values, labels, allowed, replace(config, device="cpu"), seeds)
    return [list(dict.fromkeys(part for formula in disjunction for part in formula)) for disjunction in said]


def train_disjunctions(
    values: Sequence[Mask],
    labels: Sequence[Mask],
    allowed: Mask,
    config: LearnerConfig,
    seeds: Sequence[int],
    positives: float = 0.5,
) -> list[list[list[Conjunction]]]:
    """Train formulas for the label of each group of queries; return one disjunction per restart, the best first.

    Args:
        values: for each group (queries, statements): whether a statement holds.
        labels: for each group (queries,): the value that a formula should have.
        allowed: (groups, statements): the statements that the formulas of a group may use.
        config: the settings of training; `device` is cpu or cuda.
        seeds: one for each group.
        positives: the total weight of the positive queries, up to 1; the others have the rest.
    """
    with one_torch_thread():
        return _trained(values, labels, allowed, config, seeds, positives)


def _trained(
    values: Sequence[Mask],
    labels: Sequence[Mask],
    allowed: Mask,
    config: LearnerConfig,
    seeds: Sequence[int],
    positives: float,
) -> list[list[list[Conjunction]]]:
    num_statements = allowed.shape[1]
    shape = Shape(1, num_statements, 1, 1, widths=(config.formulas,) * config.levels)
    parts = [_held_out(len(label), seed) for label, seed in zip(labels, seeds)]
    train, valid = (
        _blocks(
            [some[held == is_held] for some, held in zip(values, parts)],
            [some[held == is_held] for some, held in zip(labels, parts)],
            shape,
            config,
            positives,
        )
        for is_held in (False, True)
    )
    config = replace(config, fresh=0, heads=1, instances=1, steps=1)
    masks = _masks(allowed, config.restarts, config.device)
    each = [member_seed(seed, 0, r) for seed in seeds for r in range(config.restarts)]
    sizes = (config.restarts, config.dim, config.layers, config.attention_heads)
    stack = make_stack(config.generator, masks, shape, each, *sizes, config.residual)
    stack.deep_score = config.deep_score
    trainer = Trainer(stack, train, valid, config)
    trainer.run(lambda trainer: None)
    with torch.no_grad():
        attentions = stack.attentions(trainer.temperature(trainer.epoch)).map(lambda t: t.cpu())
    predicates = tuple(Predicate(f"s{k}", 1) for k in range(num_statements))
    names = KnowledgeBase(Vocabulary([]), predicates, Facts.empty())
    space = Space(0, 1, np.zeros(1, np.int32), np.arange(num_statements, dtype=np.int32), (Start(Kind.X),))
    return [
        [
            conjunctions(GivenReader(names, space, shape, attentions, g * config.restarts + restart).argmax().body)
            for restart in order.tolist()
        ]
        for g, order in enumerate(trainer.order())
    ]


def _held_out(count: int, seed: int) -> Mask:
    return np.asarray(np.random.default_rng((seed, 4)).permutation(count) % HELD_OUT == 0)


def _blocks(
    values: Sequence[Mask], labels: Sequence[Mask], shape: Shape, config: LearnerConfig, positives: float
) -> list[Block]:
    """Return the queries of all groups, in order, as padded blocks of `batch`."""
    width = max(1, *map(len, labels))
    table = np.zeros((len(values), width, shape.predicates), np.float32)
    label, real = np.zeros((len(values), width), np.float32), np.zeros((len(values), width), bool)
    for g, (some, says) in enumerate(zip(values, labels)):
        table[g, : len(some)], label[g, : len(says)], real[g, : len(says)] = some, says, True
    found = []
    for begin in range(0, width, config.batch):
        here = slice(begin, begin + config.batch)
        parts = (torch.from_numpy(part[:, here]).to(config.device) for part in (real, table, label))
        real_here, table_here, label_here = parts
        found.append(Block(GivenStatements(shape, real_here, table_here), label_here, positives))
    return found


def _masks(allowed: Mask, restarts: int, device: str) -> Masks:
    members = len(allowed) * restarts
    arguments = torch.tensor([True, False]).expand(members, 1, 2)
    statements = torch.from_numpy(allowed).repeat_interleave(restarts, 0)
    yes, no = torch.ones(members, 1, dtype=torch.bool), torch.zeros(members, dtype=torch.bool)
    return Masks(*(mask.to(device) for mask in (yes, statements, arguments, no)))


def conjunctions(formula: Formula) -> list[Conjunction]:
    """Return the `formula` over s0(X), s1(X), ... as a disjunction of conjunctions of sorted literals.

    >>> a, b = (Statement(X, (Step(Predicate(name, 1)),)) for name in ("s0", "s1"))
    >>> conjunctions(Not(And(Not(a), Not(b))))
    [((0, True),), ((1, True),)]
    >>> conjunctions(And(b, Not(a)))
    [((0, False), (1, True))]
    """
    return [tuple(sorted(set(literals))) for literals in _parts(simplify_formula(formula))]


def _parts(formula: Formula) -> list[Conjunction]:
    match formula:
        case Statement():
            return [((_number(formula), True),)]
        case Not(Statement() as statement):
            return [((_number(statement), False),)]
        case Or(arguments):
            return [part for argument in arguments for part in _parts(argument)]
        case And(arguments):
            return [sum(chosen, ()) for chosen in product(*map(_parts, arguments))]
        case _:
            return []  # TRUE or FALSE


def _number(statement: Statement) -> int:
    return int(statement.steps[0].predicate.name[1:])
