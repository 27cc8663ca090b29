"""A Theory as one Parquet file: a row for each rule, families and scores in the metadata."""

from __future__ import annotations

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from ..data.arrow import number_array, to_numpy
from ..data.files import replacing
from ..kernel.aggregation import Aggregation
from ..kernel.calibration import Calibration
from ..kernel.ruleset import RuleSet
from .theory import SizeScore, Theory, ValidationScores

COLUMNS = ("rows", "place", "gain", "explained", "backs_up", "tried")


def save_theory(theory: Theory, path: Path) -> None:
    """Write the theory; the family of each rule is a list of rows."""
    order = np.argsort(theory.family, kind="stable")
    pointer = np.concatenate(([0], np.cumsum(theory.family_sizes))).astype(np.int64)
    family = pa.LargeListArray.from_arrays(number_array(pointer), number_array(theory.family_row[order]))
    columns = {name: number_array(getattr(theory, name)) for name in COLUMNS} | {"family": family}
    if theory.weight is not None:
        columns["weight"] = number_array(theory.weight)
    about = {
        "size": theory.size,
        "aggregation": asdict(theory.aggregation),
        "scores": {target: asdict(scores) for target, scores in theory.scores.items()},
        "authors": dict(theory.authors),
        "calibration": None if theory.calibration is None else theory.calibration.to_dict(),
    }
    table = pa.table(columns).replace_schema_metadata({"nlil": json.dumps(about)})
    with replacing(path) as temporary:
        pq.write_table(table, temporary, compression="zstd")


def load_theory(path: Path, pool: RuleSet) -> Theory:
    """Read the theory that `save_theory` wrote, of this pool; ValueError where the file says something else."""
    with pq.ParquetFile(path) as file:
        table = file.read()
    about: dict[str, Any] = json.loads((table.schema.metadata or {})[b"nlil"])
    family = table["family"].combine_chunks()
    sizes = np.diff(to_numpy(family.offsets))
    columns: dict[str, Any] = {name: to_numpy(table[name]) for name in COLUMNS}
    family_row = to_numpy(family.values)
    for rows in (columns["rows"], family_row):
        if len(rows) and not 0 <= rows.min() <= rows.max() < len(pool):
            raise ValueError(f"{path.name} names rules that the run does not have")
    scores = {
        target: ValidationScores(s["facts"], s["pool"], tuple(SizeScore(**one) for one in s["sizes"]))
        for target, s in about["scores"].items()
    }
    return Theory(
        **columns,
        family_row=family_row,
        family=np.repeat(np.arange(len(sizes)), sizes),
        size=int(about["size"]),
        aggregation=Aggregation(**about["aggregation"]),
        scores=scores,
        weight=to_numpy(table["weight"]) if "weight" in table.column_names else None,
        authors=about.get("authors", {}),
        calibration=Calibration.from_dict(about["calibration"]) if about.get("calibration") else None,
    )
