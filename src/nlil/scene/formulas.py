"""Trained formulas of classes: the upper half of the paper's generator over the patterns of objects.   [paper §3, §5]

For each class, the patterns with the largest gain are the statements, and some objects are the queries: members of the
class, and others, preferably those that a first model takes for members. The largest attentions are read as a
disjunction of conjunctions of patterns and their negations.

`patterns` says what holds for the objects of `data`; `gain` is (patterns, classes), the gain of each, `speaks_for`
whether its weight is positive; `chances` is (objects, classes), the probabilities of the first model.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy import sparse

from ..config import LearnerConfig
from ..data.arrays import Floats, Ids, Longs, Mask
from ..kernel.bodies import OR
from ..kernel.pool import Pool
from ..progress import Progress, Stop
from .class_formulas import best_disjunction
from .fitting import LabelledObjects
from .literals import MAX_ATOMS, Literals, holds_for, in_order, line_of, num_lines, program_of
from .patterns import Patterns

SAME = 0.97
"""Two patterns that agree on more than this share of the queries for which either holds count as one statement."""
LEAST_MEMBERS = 4
"""Classes with fewer objects are not trained."""
LEAST_OTHERS = 50
"""The fewest objects of other classes among the queries."""
CPU_GROUP, GPU_GROUP = 8, 256
"""Classes that are trained together."""

Disjunction = tuple[Literals, ...]


@dataclass(frozen=True)
class FormulaTraining:
    """How formulas are trained.

    Attributes:
        settings: the settings of training; its `device` is cpu or cuda.
        statements: the number of patterns per class that formulas are made of.
        against: the number of these with a negative weight.
        queries: the most objects of a class, and the most others.
        positives: the total weight of the members, up to 1. Most objects are not members, so of two formulas that
            separate a class equally well, the one with fewer false positives has the better F1.
        times: how often conjunctions are trained while pairs are chosen, each time on what is not explained yet.
    """

    settings: LearnerConfig
    statements: int = 48
    against: int = 12
    queries: int = 400
    positives: float = 0.25
    times: int = 2


class ClassQueries(NamedTuple):
    """The training data of the class `target`.

    `holds` is (queries, statements), `statement` the pattern of each statement, `is_member` whether a query is a member
    of the class.
    """

    target: int
    statement: Longs
    holds: Mask
    is_member: Mask


def train_classes(
    patterns: Patterns,
    data: LabelledObjects,
    gain: Floats,
    speaks_for: Mask,
    chances: Floats,
    training: FormulaTraining,
    seed: int,
    progress: Progress,
    stop: Stop,
) -> dict[int, list[Disjunction]]:
    """Return the formulas of each class that can be trained, one per restart, the best restart first.

    Args:
        patterns: Those of one line become statements.
        data: The objects with their classes.
        gain: (patterns, classes).
        speaks_for: (patterns, classes).
        chances: (objects, classes).
        training: How formulas are trained.
        seed: The seed of all randomness.
        progress: Called with the number of finished groups of classes.
        stop: Ends training; later groups are not trained.
    """
    from ..neural.formulas import train_disjunctions  # imports torch

    size = num_lines(patterns.bodies)
    by_pattern, atoms = data.held[:, :size].tocsc(), patterns.bodies.lines.lengths[:size].astype(np.int64)
    settings = training.settings
    group = CPU_GROUP if settings.device == "cpu" else GPU_GROUP

    def work(_: None, first: int) -> dict[int, list[Disjunction]]:
        some = [
            queries
            for target in range(first, min(first + group, gain.shape[1] - 1))
            if (
                queries := class_queries(
                    by_pattern, data.label, gain[:size, target], speaks_for[:size, target], chances[:, target],
                    target, training, np.random.default_rng((seed, 17, target)),
                )
            )
        ]  # fmt: skip
        if not some or stop():
            return {}
        width = max(len(one.statement) for one in some)
        allowed = np.arange(width) < np.array([len(one.statement) for one in some])[:, None]
        padded = [np.pad(one.holds, ((0, 0), (0, width - len(one.statement)))) for one in some]
        seeds = [int(np.random.SeedSequence((seed, 18, one.target)).generate_state(1)[0]) for one in some]
        formulas_found = train_disjunctions(
            padded, [one.is_member for one in some], allowed, settings, seeds, training.positives
        )
        return {
            one.target: [_of_lines(formula, one.statement, atoms) for formula in found]
            for one, found in zip(some, formulas_found)
        }

    pool: Pool[None] = Pool(lambda: None, settings.threads if settings.device == "cpu" else 1)
    every = pool.map(work, range(0, gain.shape[1] - 1, group), "formulas of classes", progress, None)
    return {target: formulas for found in every for target, formulas in found.items()}


def class_queries(
    by_pattern: sparse.csc_array,
    label: Ids,
    gain: Floats,
    speaks_for: Mask,
    chance: Floats,
    target: int,
    training: FormulaTraining,
    random: np.random.Generator,
) -> ClassQueries | None:
    """Return the queries and the statements of a class; None if it has too few objects or no useful pattern.

    Args:
        by_pattern: (objects, patterns), the patterns that may be statements.
        label: The class of each object.
        gain: The gain of each pattern for the class.
        speaks_for: Which patterns have a positive weight for it.
        chance: The probability of the class for each object.
        target: The class.
        training: How many statements and queries.
        random: The generator that draws the objects.
    """
    members, others = np.flatnonzero(label == target), np.flatnonzero(label != target)
    if len(members) < LEAST_MEMBERS or len(others) < LEAST_MEMBERS:
        return None
    chosen = random.permutation(members)[: training.queries]
    weight = np.sqrt(chance[others].astype(np.float64)) + 1e-9
    count = min(len(others), max(len(chosen), LEAST_OTHERS))
    rest = random.choice(others, count, replace=False, p=weight / weight.sum())
    rows = random.permutation(np.concatenate((chosen, rest)))
    statement, holds = _statements(by_pattern, rows, gain, speaks_for, training)
    return ClassQueries(target, statement, holds, label[rows] == target) if len(statement) else None


def _statements(
    by_pattern: sparse.csc_array, rows: Longs, gain: Floats, speaks_for: Mask, training: FormulaTraining
) -> tuple[Longs, Mask]:
    """Return the patterns with the largest gain that differ, and for which of the rows each holds."""
    found: list[int] = []
    columns: list[Mask] = []
    holds = np.zeros(by_pattern.shape[0], bool)
    for side, most in ((speaks_for, training.statements - training.against), (~speaks_for, training.against)):
        here = np.where(side, gain, 0)
        order = np.argsort(-here, kind="stable")[: 4 * most]
        full = len(found) + most
        for pattern in order[here[order] > 0].tolist():
            there = by_pattern.indices[by_pattern.indptr[pattern] : by_pattern.indptr[pattern + 1]]
            holds[there] = True
            column = holds[rows]
            holds[there] = False
            if len(found) == full or any((column & other).sum() > SAME * (column | other).sum() for other in columns):
                continue
            found.append(pattern)
            columns.append(column)
    table = np.stack(columns, axis=1) if columns else np.zeros((len(rows), 0), bool)
    return np.array(found, np.int64), table


def _of_lines(formula: Sequence[tuple[tuple[int, bool], ...]], statement: Longs, atoms: Longs) -> Disjunction:
    """Return the disjuncts as literals of lines, without those that are too long or have only negations."""
    found = []
    for part in formula:
        literals = [int(statement[k]) if sign else ~int(statement[k]) for k, sign in part]
        if sum(int(atoms[line_of(one)]) for one in literals) <= MAX_ATOMS and max(literals, default=-1) >= 0:
            found.append(in_order(literals))
    return tuple(dict.fromkeys(found))


# one formula per class ----------------------------------------------------------------------------------


def best_formula(
    extracted: Sequence[Disjunction], held: sparse.csc_array, is_member: Mask, training: FormulaTraining
) -> Disjunction:
    """Return one formula of a class; an empty one if training found none.

    With `select` it is the disjunction with the best exact F1 among the conjunctions of all restarts, without literals
    that do not raise F1; otherwise it is the formula of the best restart.

    Args:
        extracted: The formula of each restart, the best one first.
        held: (objects, lines), which line holds for which object.
        is_member: Which objects are of the class.
        training: How formulas are trained.
    """
    if not training.settings.select:
        return next((formula for formula in extracted if formula), ())
    pool = list(dict.fromkeys(part for formula in extracted for part in formula))
    holds = [holds_for(held, part) for part in pool]
    if not pool:
        return ()
    chosen = best_disjunction(np.stack(holds, axis=1), is_member, 2**training.settings.levels, np.ones(len(holds), int))
    parts, found = [pool[k] for k in chosen], [holds[k] for k in chosen]
    for k, part in enumerate(parts):
        rest = np.logical_or.reduce([*found[:k], *found[k + 1 :], np.zeros_like(is_member)])
        for literal in part:
            fewer = tuple(one for one in parts[k] if one != literal)
            if max(fewer, default=-1) < 0:
                continue
            without = holds_for(held, fewer)
            if _f1(without | rest, is_member) >= _f1(found[k] | rest, is_member):
                parts[k], found[k] = fewer, without
    return tuple(dict.fromkeys(parts))


def _f1(says: Mask, is_member: Mask) -> float:
    return 2 * float((says & is_member).sum()) / max(float(says.sum() + is_member.sum()), 1.0)


def with_disjunctions(patterns: Patterns, formulas: Sequence[Disjunction]) -> Patterns:
    """Return the `patterns` followed by one for each of the `formulas`."""
    by_pattern = patterns.held.tocsc()
    programs, rows = [], []
    for formula in formulas:
        programs.append([*program_of(formula[0]), *(op for part in formula[1:] for op in (*program_of(part), OR))])
        holds = np.logical_or.reduce([holds_for(by_pattern, part) for part in formula])
        rows.append(np.flatnonzero(holds).astype(np.int32))
    return patterns.with_programs(programs, rows)
