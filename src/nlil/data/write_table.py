"""Write a table of plain values to a file; its ending names the format: .tsv .csv .jsonl (also .gz) .parquet.

The rows come as a stream, so a table of millions takes no memory. None is an empty field, or null.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

import pyarrow as pa

from ..errors import DataError
from .builder import batched
from .files import ending, replacing

FORMATS = (".tsv", ".csv", ".jsonl", ".parquet")
ColumnTypes = Mapping[str, type]
"""The type of each column: str, float, int or bool."""
Put = Callable[[Iterable[Sequence[Any]]], None]
"""Writes rows."""

ARROW = {str: pa.large_string(), float: pa.float64(), int: pa.int64(), bool: pa.bool_()}


def check_table_name(path: Path) -> None:
    """Raise DataError if no table can be written to `path`, before the work is done."""
    if ending(path) not in FORMATS or (ending(path) == ".parquet" and path.name.lower().endswith(".gz")):
        raise DataError(f"expected a name ending in {', '.join(FORMATS)} (text also .gz), got {path.name!r}", path)


@contextmanager
def table_writer(path: Path, columns: ColumnTypes) -> Iterator[Put]:
    """Yield a function that writes rows to `path`; the file appears when the block ends without an error.

    Args:
        path: The file; its ending names the format.
        columns: Names and types of the columns.
    """
    check_table_name(path)
    with replacing(path) as temporary:
        if ending(path) == ".parquet":
            import pyarrow.parquet as pq

            schema = pa.schema([(name, ARROW[kind]) for name, kind in columns.items()])
            with pq.ParquetWriter(temporary, schema) as parquet:
                yield lambda rows: _put_parquet(parquet, schema, rows)
            return
        with _text(temporary, path.name.lower().endswith(".gz")) as stream:
            match ending(path):
                case ".jsonl":
                    yield lambda rows: stream.writelines(
                        json.dumps(dict(zip(columns, row)), ensure_ascii=False) + "\n" for row in rows
                    )
                case ".csv":
                    writer = csv.writer(stream, lineterminator="\n")
                    writer.writerow(columns)
                    yield lambda rows: writer.writerows([_field(value) for value in row] for row in rows)
                case _:
                    stream.write("\t".join(columns) + "\n")
                    yield lambda rows: stream.writelines(_line(row, path) for row in rows)


def _put_parquet(writer: Any, schema: pa.Schema, rows: Iterable[Sequence[Any]]) -> None:
    for some in batched(rows):
        writer.write_table(
            pa.Table.from_arrays([pa.array(c, f.type) for c, f in zip(zip(*some), schema)], schema=schema)
        )


@contextmanager
def _text(path: Path, is_compressed: bool) -> Iterator[TextIO]:
    if not is_compressed:
        with path.open("w", encoding="utf-8", newline="") as stream:
            yield stream
        return
    with (
        path.open("wb") as raw,
        gzip.GzipFile("", "wb", fileobj=raw, mtime=0) as packed,
        io.TextIOWrapper(packed, encoding="utf-8", newline="") as stream,
    ):
        yield stream


def _field(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(int(value))
    return f"{value:.9g}" if isinstance(value, float) else str(value)


def _line(row: Sequence[Any], path: Path) -> str:
    fields = [_field(value) for value in row]
    if odd := next((field for field in fields if "\t" in field or "\n" in field), None):
        raise DataError(f"expected names without tabs and line breaks, got {odd!r}; write .csv or .parquet", path)
    return "\t".join(fields) + "\n"
