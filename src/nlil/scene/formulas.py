"""Trained formulas of classes: the upper half of the paper's generator over the patterns of an object.   [paper §3, §5]

For each class the patterns that tell most about it are statements, and some objects are queries: members of the class,
and others that a first model takes for members, since they are hard to tell apart. What the largest attentions say is a
disjunction of conjunctions of patterns and their negations.

`patterns` has what holds for the objects of `data`; `gain` is (patterns, classes), what a pair would bring, and
`speaks_for` where it speaks for the class; `probability` is (objects, classes), of the first model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import sparse

from ..config import LearnerConfig
from ..data.arrays import Floats, Ids, Longs, Mask
from .fitting import Labelled
from .growing import MAX_ATOMS, Literals

Disjunction = tuple[Literals, ...]

SAME = 0.97
"""Of two patterns that agree on this share of the queries where either holds, one is a statement."""


@dataclass(frozen=True)
class Training:
    """What the formulas of a class are trained on.

    Attributes:
        settings: of training.
        statements: patterns of a class that formulas are made of.
        against: of them, those that speak against the class.
        queries: objects of the class, and as many others.
    """

    settings: LearnerConfig
    statements: int = 48
    against: int = 12
    queries: int = 400


@dataclass(frozen=True, eq=False)
class ClassFormulas:
    """The formulas of one class, as training ordered them, and what they were trained on."""

    target: int
    said: tuple[Disjunction, ...]


def train_classes(
    held: sparse.csr_array,
    atoms: Longs,
    data: Labelled,
    gain: Floats,
    speaks_for: Mask,
    probability: Floats,
    training: Training,
    seed: int,
) -> list[ClassFormulas]:
    from ..neural.formulas import train_disjunctions  # imports torch

    by_pattern = held.tocsc()
    groups, values, labels, statements = [], [], [], []
    for target in range(gain.shape[1] - 1):
        random = np.random.default_rng((seed, 17, target))
        rows = _queries(data.label, probability[:, target], target, training.queries, random)
        if rows is None:
            continue
        chosen, holds = _statements(by_pattern, atoms, rows, gain[:, target], speaks_for[:, target], training)
        if not len(chosen):
            continue
        groups.append(target)
        values.append(holds)
        labels.append(data.label[rows] == target)
        statements.append(chosen)
    width = max((len(chosen) for chosen in statements), default=0)
    if not width:
        return []
    allowed = np.arange(width) < np.array([len(chosen) for chosen in statements])[:, None]
    padded = [np.pad(holds, ((0, 0), (0, width - holds.shape[1]))) for holds in values]
    seeds = [int(np.random.SeedSequence((seed, 18, target)).generate_state(1)[0]) for target in groups]
    said = train_disjunctions(padded, labels, allowed, training.settings, seeds)
    return [
        ClassFormulas(target, tuple(_lines(formula, chosen, atoms) for formula in mine))
        for target, mine, chosen in zip(groups, said, statements)
    ]


def _lines(formula: Sequence[tuple[tuple[int, bool], ...]], chosen: Longs, atoms: Longs) -> Disjunction:
    """The disjuncts as literals of lines, without those that are too long."""
    found = []
    for part in formula:
        literals = tuple(sorted((int(chosen[k]) if sign else ~int(chosen[k]) for k, sign in part), key=_place))
        if sum(int(atoms[max(one, ~one)]) for one in literals) <= MAX_ATOMS:
            found.append(literals)
    return tuple(dict.fromkeys(found))


def _place(literal: int) -> tuple[bool, int]:
    return literal < 0, max(literal, ~literal)


def _queries(label: Ids, chance: Floats, target: int, most: int, random: np.random.Generator) -> Longs | None:
    members, others = np.flatnonzero(label == target), np.flatnonzero(label != target)
    if len(members) < 4 or len(others) < 4:
        return None
    weight = chance[others].astype(np.float64) + 1e-6
    mine = random.permutation(members)[:most]
    rest = random.choice(others, min(len(others), max(len(mine), 50)), replace=False, p=weight / weight.sum())
    return random.permutation(np.concatenate((mine, rest)))


def _statements(
    by_pattern: sparse.csc_array, atoms: Longs, rows: Longs, gain: Floats, speaks_for: Mask, training: Training
) -> tuple[Longs, Mask]:
    """(patterns, which of the rows each holds for): those with the largest gain that differ."""
    found: list[int] = []
    columns: list[Mask] = []
    for side, most in ((speaks_for, training.statements - training.against), (~speaks_for, training.against)):
        here = np.where(side[: len(atoms)], gain[: len(atoms)], 0)
        order = np.argsort(-here, kind="stable")[: 4 * most]
        count = 0
        for pattern in order[here[order] > 0].tolist():
            holds = np.zeros(by_pattern.shape[0], bool)
            holds[by_pattern.indices[by_pattern.indptr[pattern] : by_pattern.indptr[pattern + 1]]] = True
            mine = holds[rows]
            if any((mine & other).sum() > SAME * (mine | other).sum() for other in columns):
                continue
            found.append(pattern)
            columns.append(mine)
            count += 1
            if count == most:
                break
    table = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), bool)
    return np.array(found, np.int64), table
