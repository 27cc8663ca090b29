"""A RuleSet as two Parquet files: the rules by column, and their bodies. Written atomically."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.arrays import Mask
from ..data.arrow import booleans, integers, number_array, numbers, read_columns, write_columns
from ..data.vocabulary import Vocabulary
from ..errors import RunError
from ..logic.predicate import Predicate, Step
from .aggregation import Aggregation
from .bodies import ANY_NODE, NO_STEP, NOT, X_NODE, Y_NODE, Bodies, Lines, step_dtype, unary_mask
from .exclusion import Exclusion
from .ruleset import COLUMNS, FIRST, NO_ENTITY, SECOND, UNKNOWN, RuleSet

BODIES = "bodies.parquet"
"""Beside the rules: one row per line. The bodies are the lines marked `is_body`, followed by the programs."""
MAX_COUNT = 2**62
"""Upper limit of a count in a file; sums of a few stay below the largest int64."""


def save_rules(rules: RuleSet, path: Path) -> None:
    """Write the rules by column to `path`, and their bodies beside it."""
    rules = RuleSet.join([rules.compact()])  # puts bodies in their order: lines, then programs
    columns = {name: number_array(getattr(rules, name)) for name in COLUMNS}
    if rules.weight is not None:
        columns["weight"] = number_array(rules.weight)
    about = {
        "predicates": [[p.name, p.arity] for p in rules.predicates],
        "aggregation": asdict(rules.aggregation),
        "requested": [[p.name, p.arity] for p in rules.requested],
        "exclusions": _exclusion_rows(rules),
    }
    write_columns(path.with_name(BODIES), *_body_columns(rules.bodies))
    write_columns(path, columns, about)


def _body_columns(bodies: Bodies) -> tuple[dict[str, pa.Array], dict[str, Any]]:
    lines = bodies.lines
    is_body = np.zeros(lines.num_lines, bool)
    is_body[bodies.line[bodies.line >= 0]] = True
    steps = {f"step_{i + 1}": np.ascontiguousarray(step) for i, step in enumerate(lines.steps.T)}
    columns = {"start": lines.start, **steps, "end": lines.end, "distinct": lines.distinct, "is_body": is_body}
    programs = [bodies.program(body) for body in np.flatnonzero(bodies.line < 0).tolist()]
    return {name: number_array(values) for name, values in columns.items()}, {"programs": programs}


def load_rules(path: Path, entities: Vocabulary) -> RuleSet:
    """Read the rules that `save_rules` wrote at `path`, in the ids of `entities`.

    The files are not trusted, and compiled loops do not check their indices, so every number is checked here. Raises
    ValueError for a number out of range.
    """
    table, about = _read(path)
    predicates = _predicates(about["predicates"])
    if len(set(predicates)) < len(predicates):
        raise ValueError("predicates: expected each of them once")
    bodies = _load_bodies(*_read(path.with_name(BODIES)), predicates, len(entities))
    rules = RuleSet(
        predicates=predicates,
        entities=entities,
        bodies=bodies,
        head=integers(table, "head", 0, len(predicates) - 1, np.int32),
        head_entity=integers(table, "head_entity", NO_ENTITY, len(entities) - 1, np.int32),
        fixed=integers(table, "fixed", 0, SECOND, np.int8),
        body=integers(table, "body", 0, len(bodies) - 1, np.int32),
        support=integers(table, "support", 0, MAX_COUNT),
        body_size=integers(table, "body_size", 0, MAX_COUNT),
        head_size=integers(table, "head_size", 0, MAX_COUNT),
        pca_body=integers(table, "pca_body", UNKNOWN, MAX_COUNT),
        weight=numbers(table, "weight").astype(np.float32) if "weight" in table.column_names else None,
        aggregation=Aggregation(**about["aggregation"]),
        requested=_predicates(about["requested"]),
        exclusions=tuple(_exclusion(predicates, *row) for row in about["exclusions"]),
    )
    _check_heads(rules)
    if (wrong := rules.support > np.minimum(rules.body_size, rules.head_size)).any():
        row = int(np.flatnonzero(wrong)[0])
        raise ValueError(f"row {row:,} has a support above the size of its body or head")
    return rules


def _predicates(rows: list[Any]) -> tuple[Predicate, ...]:
    return tuple(Predicate(str(name), arity) for name, arity in rows)


def _check_heads(rules: RuleSet) -> None:
    """Raise ValueError if a head does not fit its body: a variable not in the head, a constant without a position."""
    is_unary = unary_mask(rules.predicates)[rules.head]
    has_constant = rules.head_entity != NO_ENTITY
    uses_x, uses_y = (rules.bodies.any_line(rules.bodies.lines.uses(node))[rules.body] for node in (X_NODE, Y_NODE))
    wrong = (has_constant != (rules.fixed != 0)) | (is_unary & (has_constant | uses_y))
    wrong |= ((rules.fixed == FIRST) & uses_x) | ((rules.fixed == SECOND) & uses_y)
    if wrong.any():
        raise ValueError(f"row {int(np.flatnonzero(wrong)[0]):,} is not a rule: its head does not fit its body")


def _load_bodies(
    table: pa.Table, about: dict[str, Any], predicates: tuple[Predicate, ...], num_entities: int
) -> Bodies:
    num_steps = sum(name.startswith("step_") for name in table.column_names)
    most, kind = 2 * len(predicates) - 1, step_dtype(2 * len(predicates))
    steps = np.stack([integers(table, f"step_{i + 1}", NO_STEP, most, kind) for i in range(num_steps)], axis=1)
    start, end = (integers(table, name, ANY_NODE, num_entities - 1, np.int32) for name in ("start", "end"))
    lines = Lines(start, steps, end, booleans(table, "distinct"))
    _check_steps(steps, unary_mask(predicates))
    programs = [_checked_program(program, lines.num_lines) for program in about["programs"]]
    alone = np.flatnonzero(booleans(table, "is_body"))
    sizes = [*np.ones(len(alone), np.int64), *(len(program) for program in programs)]
    ops = np.concatenate([alone, *(np.asarray(program, np.int64) for program in programs)])
    return Bodies(lines, np.cumsum([0, *sizes]).astype(np.int64), ops.astype(np.int32))


def _check_steps(steps: np.ndarray, is_unary: Mask) -> None:
    """Raise ValueError if a step follows the end of a line, or a filter is inverted."""
    is_step = steps != NO_STEP
    if (is_step[:, 1:] & ~is_step[:, :-1]).any():
        raise ValueError("steps: expected none after the end of a line")
    if (is_step & is_unary[steps >> 1] & (steps & 1 == 1)).any():
        raise ValueError("steps: a unary predicate has no inverse")


def _checked_program(program: Sequence[int], num_lines: int) -> Sequence[int]:
    """Return the program if it is a postfix program over lines; else raise ValueError."""
    depth = 0
    for op in program:
        if type(op) is not int or not NOT <= op < num_lines:
            raise ValueError(f"programs: expected {NOT} to {num_lines - 1:,}, got {op!r}")
        depth += 1 if op >= 0 else 0 if op == NOT else -1
        if depth < 1:
            break
    if depth != 1:
        raise ValueError("programs: expected operators after their operands, and one result")
    return program


def _read(path: Path) -> tuple[pa.Table, dict[str, Any]]:
    try:
        return read_columns(path)
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise RunError(f"not a rule file of nlil ({error}); learn again or restore the file", path) from error


def _exclusion_rows(rules: RuleSet) -> list[list[float]]:
    """Return [target id, step code, expected, facts, together] for each exclusion."""
    place = {p: i for i, p in enumerate(rules.predicates)}
    return [
        [place[e.target], 2 * place[e.step.predicate] + e.step.inverse, e.expected, e.num_facts, e.together]
        for e in rules.exclusions
    ]


def _exclusion(
    predicates: tuple[Predicate, ...], target: int, code: int, expected: float, num_facts: int, together: int
) -> Exclusion:
    if not (0 <= target < len(predicates) and 0 <= code < 2 * len(predicates)):
        raise ValueError(f"exclusions: expected predicates below {len(predicates):,}, got {target} and {code}")
    return Exclusion(predicates[target], Step(predicates[code >> 1], bool(code & 1)), expected, num_facts, together)
