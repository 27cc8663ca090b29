"""A RuleSet as two Parquet files: the rules by column, and their bodies. Written atomically."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..data.arrow import number_array, read_columns, to_numpy, write_columns
from ..data.vocabulary import Vocabulary
from ..errors import RunError
from ..logic.predicate import Predicate, Step
from .aggregation import Aggregation
from .bodies import Bodies, Lines
from .exclusion import Exclusion
from .ruleset import COLUMNS, RuleSet

BODIES = "bodies.parquet"
"""Beside the rules: one row per line. The bodies are the lines marked `is_body`, followed by the programs."""


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
    """Read the rules that `save_rules` wrote at `path`, in the ids of `entities`."""
    bodies = _load_bodies(*_read(path.with_name(BODIES)))
    table, about = _read(path)
    predicates = tuple(Predicate(name, arity) for name, arity in about["predicates"])
    values: dict[str, Any] = {name: to_numpy(table[name]) for name in COLUMNS}
    return RuleSet(
        predicates=predicates,
        entities=entities,
        bodies=bodies,
        weight=to_numpy(table["weight"]).astype(np.float32) if "weight" in table.column_names else None,
        aggregation=Aggregation(**about["aggregation"]),
        requested=tuple(Predicate(name, arity) for name, arity in about["requested"]),
        exclusions=tuple(_exclusion(predicates, *row) for row in about["exclusions"]),
        **values,
    )


def _load_bodies(table: pa.Table, about: dict[str, Any]) -> Bodies:
    num_steps = sum(name.startswith("step_") for name in table.column_names)
    steps = np.stack([to_numpy(table[f"step_{i + 1}"]) for i in range(num_steps)], axis=1)
    start, end, distinct, is_body = (to_numpy(table[name]) for name in ("start", "end", "distinct", "is_body"))
    alone, programs = np.flatnonzero(is_body), about["programs"]
    sizes = [*np.ones(len(alone), np.int64), *(len(program) for program in programs)]
    ops = np.concatenate([alone, *(np.asarray(program, np.int64) for program in programs)])
    return Bodies(Lines(start, steps, end, distinct), np.cumsum([0, *sizes]).astype(np.int64), ops.astype(np.int32))


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
    return Exclusion(predicates[target], Step(predicates[code >> 1], bool(code & 1)), expected, num_facts, together)
