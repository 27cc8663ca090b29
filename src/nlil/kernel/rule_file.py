"""A RuleSet in one Parquet file: columns as they are, general rules as text. Written atomically."""

from __future__ import annotations

import json
import os
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..data.vocabulary import Vocabulary
from ..errors import RunError
from ..logic.parse import parse_rule
from ..logic.predicate import Predicate, Step
from .exclusion import Exclusion
from .ruleset import COLUMNS, Aggregation, RuleSet

LINE_COLUMNS = ("head_entity", "fixed", "end", "distinct")


def save_rules(rules: RuleSet, path: Path) -> None:
    columns: dict[str, pa.Array] = {}
    rest = len(rules) - rules.num_lines
    for name in COLUMNS:
        values = getattr(rules, name)
        pad = pa.nulls(rest, pa.from_numpy_dtype(values.dtype)) if name in LINE_COLUMNS else None
        columns[name] = pa.array(values) if not pad or not rest else pa.concat_arrays([pa.array(values), pad])
    for i in range(rules.steps.shape[1]):
        step = pa.array(np.ascontiguousarray(rules.steps[:, i]))
        columns[f"step_{i + 1}"] = pa.concat_arrays([step, pa.nulls(rest, step.type)]) if rest else step
    if rules.weight is not None:
        columns["weight"] = pa.array(rules.weight)
    if rest:
        texts = pa.array([str(rule) for rule in rules.general], pa.string())
        columns["text"] = pa.concat_arrays([pa.nulls(rules.num_lines, pa.string()), texts])
    metadata = {
        "predicates": [[p.name, p.arity] for p in rules.predicates],
        "num_lines": rules.num_lines,
        "aggregation": asdict(rules.aggregation),
        "asked": [[p.name, p.arity] for p in rules.asked],
        "exclusions": _exclusion_rows(rules),
    }
    table = pa.table(columns).replace_schema_metadata({"nlil": json.dumps(metadata)})
    temporary = path.with_name(path.name + ".partial")
    pq.write_table(table, temporary, compression="zstd", row_group_size=2**20)
    os.replace(temporary, path)


def load_rules(path: Path, entities: Vocabulary) -> RuleSet:
    try:
        table = pq.read_table(path)
        metadata = json.loads((table.schema.metadata or {})[b"nlil"])
    except (OSError, KeyError, ValueError, pa.ArrowException) as error:
        raise RunError(f"not a rule file of nlil ({error}); learn again or restore the file", path) from error
    lines = int(metadata["num_lines"])

    def column(name: str, count: int | None = None) -> np.ndarray:
        return table[name][:count].to_numpy() if count is not None else table[name].to_numpy()

    num_steps = sum(name.startswith("step_") for name in table.column_names)
    steps = np.stack([column(f"step_{i + 1}", lines) for i in range(num_steps)], axis=1)
    values: dict[str, Any] = {name: column(name, lines if name in LINE_COLUMNS else None) for name in COLUMNS}
    texts = table["text"][lines:].to_pylist() if "text" in table.column_names else []
    predicates = tuple(Predicate(name, arity) for name, arity in metadata["predicates"])
    return RuleSet(
        predicates=predicates,
        entities=entities,
        steps=steps,
        weight=column("weight").astype(np.float32) if "weight" in table.column_names else None,
        general=tuple(parse_rule(text) for text in texts),
        aggregation=Aggregation(**metadata["aggregation"]),
        asked=tuple(Predicate(name, arity) for name, arity in metadata["asked"]),
        exclusions=tuple(_exclusion(predicates, *row) for row in metadata.get("exclusions", ())),
        **values,
    )


def _exclusion_rows(rules: RuleSet) -> list[list[float]]:
    """[target id, step code, expected, facts, together] of each."""
    place = {p: i for i, p in enumerate(rules.predicates)}
    return [
        [place[e.target], 2 * place[e.step.predicate] + e.step.inverse, e.expected, e.num_facts, e.together]
        for e in rules.exclusions
    ]


def _exclusion(
    predicates: tuple[Predicate, ...], target: int, code: int, expected: float, num_facts: int, together: int
) -> Exclusion:
    return Exclusion(predicates[target], Step(predicates[code >> 1], bool(code & 1)), expected, num_facts, together)
