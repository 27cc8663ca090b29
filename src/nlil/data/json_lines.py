"""JSON lines: one object per line, whose keys are the columns (columns.py)."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from ..errors import DataError, in_file
from .builder import Batch, batched
from .columns import ADVICE, FURTHER_ARGUMENTS, POSITIONAL, ColumnLayout, GivenColumns, find_layout
from .delimited import TableRows, row_facts
from .files import UTF8, lines, stem
from .roles import with_doubt

HALF = re.compile("[\ud800-\udfff]")
"""Half of a surrogate pair, which JSON can write and UTF-8 cannot."""


def read_json_lines(path: Path, columns: GivenColumns | None = None, encoding: str = UTF8) -> Iterator[Batch]:
    """Yield the facts of a .jsonl or .ndjson file (also .gz); a missing or null argument means that the fact has fewer.

    Args:
        path: the file.
        columns: role -> key, as given by the user.
        encoding: of the text.
    """
    layout: ColumnLayout | None = None
    names: list[str] = []
    notes: tuple[str, ...] = ()
    for batch in batched(lines(path, encoding)):
        records = [_record(text, path, number) for number, text in batch]
        is_first = layout is None
        if layout is None:
            names = list(dict.fromkeys(key for record in records for key in record))
            with in_file(path):
                layout = find_layout(names, columns or {}, stem(path))
            if layout is POSITIONAL:
                raise DataError(f"expected keys such as subject, predicate and object, got {names}; {ADVICE}", path)
            notes = (f"{path.name}: {layout.note}",)
        optional = {layout.place[role] for role in ("object", *FURTHER_ARGUMENTS) if role in layout.place}
        chosen = [
            [_text(record.get(name), path, number, i in optional) for i, name in enumerate(names)]
            for record, (number, _) in zip(records, batch, strict=True)
        ]
        fields = pa.array([text for row in chosen for text in row], pa.large_string())
        numbers = np.asarray([number for number, _ in batch])
        start = np.arange(len(batch)) * len(names)
        shown = pa.array([text for _, text in batch], pa.large_string())
        rows = TableRows(path, ",", shown, numbers, fields, start, np.full(len(batch), len(names)))
        facts = row_facts(rows, layout, notes)
        yield from with_doubt(facts, layout, path.name) if is_first and not columns else facts


def _record(text: str, path: Path, number: int) -> Mapping[str, Any]:
    try:
        record = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DataError(f"expected a JSON object, got {text[:60]!r} ({error})", path, number) from error
    if not isinstance(record, dict):
        raise DataError(f"expected a JSON object, got {text[:60]!r}", path, number)
    return record


def _text(value: Any, path: Path, number: int, is_optional: bool) -> str | None:
    """Return a value as text; other values than text and numbers are refused."""
    if value is None:
        return None if is_optional else ""
    if isinstance(value, str) and HALF.search(value):
        raise DataError(f"expected names that are valid Unicode, got {json.dumps(value)[:60]}", path, number)
    if isinstance(value, str | int | float):
        return str(value)
    raise DataError(f"expected text or a number, got {json.dumps(value)[:60]}", path, number)
