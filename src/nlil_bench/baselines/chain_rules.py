"""The chains that a controller attends to most, read off its attentions. For people; scores do not use them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch

from nlil.logic.formula import ANY, TRUE, Formula, Statement, X, Y
from nlil.logic.predicate import Predicate, Step
from nlil.logic.rule import Head, Rule
from nlil.neural.space import operators_of

if TYPE_CHECKING:
    from .neural_lp import NeuralLPModel

BEAM = 64
"""Chains kept in each cell of the memory."""

Chain = tuple[int, ...]
"""Step codes; "stay" leaves no trace."""


@dataclass(frozen=True)
class SoftRule:
    """`confidence`: the products of attentions that lead along this chain, added up; means over chains of the rank
    and over both directions of the query. It says how much attention the chain has, not how often it is right."""

    rule: Rule
    confidence: float


def soft_rules(model: NeuralLPModel, k: int) -> dict[Predicate, list[SoftRule]]:
    """The k heaviest rules of each target, heaviest first."""
    kb = model.kb
    operators = operators_of(kb, np.arange(kb.num_predicates, dtype=np.int32))
    with torch.no_grad():
        attentions = model.controller(torch.arange(len(model.vocabulary), device=model.controller.embedding.device))
    choices = attentions.operators.cpu().numpy()
    memories = [b.cpu().numpy() for b in attentions.memories]
    found: dict[Predicate, dict[Rule, float]] = {target: {} for target in model.targets}
    for row, code in enumerate(model.vocabulary.tolist()):
        target = kb.predicates[code // 2]
        rank = choices.shape[1]
        for r in range(rank):
            for chain, weight in _chains(choices[row, r], [b[row, r] for b in memories], operators).items():
                steps = tuple(kb.step(c) for c in chain)
                rule = Rule(Head.of(target), _body(target, steps, bool(code % 2)))
                found[target][rule] = found[target].get(rule, 0.0) + weight / rank / target.arity
    return {
        target: [
            SoftRule(rule, weight)
            for rule, weight in sorted(rules.items(), key=lambda item: (-item[1], str(item[0])))[:k]
        ]
        for target, rules in found.items()
    }


def _chains(choices: np.ndarray, memories: list[np.ndarray], operators: np.ndarray) -> dict[Chain, float]:
    """The weights of the chains of one query and one chain of the rank: the recurrence of u, on chains for entities."""
    cells: list[dict[Chain, float]] = [{(): 1.0}]
    for attention, memory in zip(choices, memories):
        longer: dict[Chain, float] = {}
        heaviest = np.argsort(-attention, kind="stable")[:BEAM].tolist()
        for chain, weight in _mixed(cells, memory).items():
            for o in heaviest:
                after = (*chain, int(operators[o])) if o < len(operators) else chain
                longer[after] = longer.get(after, 0.0) + weight * float(attention[o])
        cells.append(dict(sorted(longer.items(), key=lambda item: (-item[1], item[0]))[:BEAM]))
    return _mixed(cells, memories[-1])


def _mixed(cells: list[dict[Chain, float]], memory: np.ndarray) -> dict[Chain, float]:
    mixed: dict[Chain, float] = {}
    for cell, attention in zip(cells, memory.tolist()):
        for chain, weight in cell.items():
            mixed[chain] = mixed.get(chain, 0.0) + attention * weight
    return mixed


def _body(target: Predicate, steps: tuple[Step, ...], inverse: bool) -> Formula:
    if target.arity == 1:
        return Statement(ANY, steps, X) if steps else TRUE
    return Statement(Y, steps, X) if inverse else Statement(X, steps, Y)
