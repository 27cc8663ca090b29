"""Facts to a file; the ending names the format: .tsv .csv .nt .pl (also .gz) .parquet. Whole or not at all.

TSV, CSV and Parquet carry the confidences (or weights) as a fourth column; Prolog and N-Triples as a comment.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any
from urllib.parse import quote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from ..logic.text import atom_text
from .arrays import Doubles, Floats
from .facts import NO_OBJECT, Facts
from .files import ending, replacing
from .kb import KnowledgeBase
from .rdf import OWN_SCHEME, RDF_TYPE

ROWS_PER_BLOCK = 1 << 18
IRI = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:[^\x00-\x20<>\"{}|^`\\]*")
BLANK = re.compile(r"_:[A-Za-z0-9_]+")
FORMATS = (".tsv", ".csv", ".nt", ".pl", ".parquet")


@dataclass(frozen=True, eq=False)
class _Columns:
    """Names of a block of facts; `object` is null for a unary fact."""

    subject: pa.Array
    predicate: pa.Array
    object: pa.Array
    confidence: Floats | Doubles | None


def write_facts(kb: KnowledgeBase, facts: Facts, path: str | Path, confidences: Floats | Doubles | None = None) -> Path:
    """Write the facts with their confidences (their weights unless given)."""
    path = Path(path)
    if ending(path) not in FORMATS or (ending(path) == ".parquet" and path.name.lower().endswith(".gz")):
        raise DataError(f"expected a name ending in {', '.join(FORMATS)} (text also .gz), got {path.name!r}", path)
    if confidences is not None and len(confidences) != len(facts):
        raise DataError(f"expected {len(facts)} confidences, one a fact, got {len(confidences)}", path)
    blocks = _blocks(kb, facts, facts.weight if confidences is None else confidences)
    try:
        with replacing(path) as temporary:
            if ending(path) == ".parquet":
                _write_parquet(temporary, blocks)
            else:
                _write_text(temporary, blocks, path)
    except DataError as error:
        raise DataError(str(error), path) from error
    except OSError as error:
        raise DataError(f"cannot be written ({error.strerror or error})", path) from error
    return path


def _blocks(kb: KnowledgeBase, facts: Facts, confidence: Floats | Doubles | None) -> Iterator[_Columns]:
    predicates = pa.array([p.name for p in kb.predicates], pa.large_string())
    for start in range(0, max(len(facts), 1), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        part = facts[rows]
        object = pa.array(part.object, mask=part.object == NO_OBJECT)
        yield _Columns(
            kb.entities.array.take(pa.array(part.subject)),
            predicates.take(pa.array(part.predicate)),
            kb.entities.array.take(object),
            None if confidence is None else confidence[rows],
        )


def _write_parquet(path: Path, blocks: Iterator[_Columns]) -> None:
    import pyarrow.parquet as pq

    writer: Any = None
    try:
        for block in blocks:
            columns = {"subject": block.subject, "predicate": block.predicate, "object": block.object}
            if block.confidence is not None:
                columns["weight"] = pa.array(block.confidence.astype(np.float64))
            table = pa.table(columns)
            writer = writer or pq.ParquetWriter(path, table.schema)
            writer.write_table(table)
    finally:
        if writer is not None:
            writer.close()


def _write_text(temporary: Path, blocks: Iterator[_Columns], path: Path) -> None:
    formats: dict[str, Callable[[_Columns], list[str]]] = {
        ".tsv": partial(_delimited, separator="\t"),
        ".csv": partial(_delimited, separator=","),
        ".nt": _ntriples,
        ".pl": _prolog,
    }
    lines_of = formats[ending(path)]
    with temporary.open("wb") as raw:
        # No file name and no time in the gzip header: the same facts give the same bytes.
        zipped = path.name.lower().endswith(".gz")
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) if zipped else raw as stream:
            for block in blocks:
                lines = lines_of(block)
                stream.write("".join(f"{line}\n" for line in lines).encode())


def _joined(*columns: Any, by: str = "") -> pa.Array:
    """Columns and texts joined row by row; null where a column is."""
    as_scalars = [pa.scalar(c, pa.large_string()) if isinstance(c, str) else c for c in (*columns, by)]
    return pc.binary_join_element_wise(*as_scalars)


def _delimited(block: _Columns, separator: str) -> list[str]:
    """a p | a p b | a p b w | a p '' w, as `delimited.py` reads them."""
    protect = _csv_field if separator == "," else _tsv_field
    subject, predicate, object = map(protect, (block.subject, block.predicate, block.object))
    pair = _joined(subject, predicate, by=separator)
    if block.confidence is None:
        lines = pc.if_else(pc.is_null(object), pair, _joined(pair, object, by=separator))
    else:
        shortest = block.confidence.astype(np.float32).astype(str)  # reads back as the same 32-bit weight
        weight = pa.array(shortest.tolist(), pa.large_string())
        lines = _joined(pair, pc.fill_null(object, ""), weight, by=separator)
    return list(lines.to_pylist())


def _tsv_field(column: pa.Array) -> pa.Array:
    bad = pc.index(pc.match_substring_regex(column, r"[\t\r\n]"), True).as_py()
    if bad >= 0:
        raise DataError(
            f"expected names without tabs and line ends, got {column[bad].as_py()!r}; write .parquet or .pl instead"
        )
    return column


def _csv_field(column: pa.Array) -> pa.Array:
    bad = pc.index(pc.match_substring_regex(column, r"[\r\n]"), True).as_py()
    if bad >= 0:
        raise DataError(f"expected names without line ends, got {column[bad].as_py()!r}; write .parquet instead")
    doubled = pc.replace_substring(column, '"', '""')
    quoted = _joined('"', doubled, '"')
    return pc.if_else(pc.match_substring_regex(column, r'[",]'), quoted, column)


def _spelled(column: pa.Array, spell: Callable[[str], str]) -> list[str]:
    """Spell each different name once."""
    codes = column.dictionary_encode()
    names = [spell(name) for name in codes.dictionary.to_pylist()]
    return ["" if code is None else names[code] for code in codes.indices.to_pylist()]


def _comments(block: _Columns, mark: str) -> list[str]:
    if block.confidence is None:
        return [""] * len(block.subject)
    return [f"  {mark} {value:.6g}" for value in block.confidence.tolist()]


def _prolog(block: _Columns) -> list[str]:
    columns = [_spelled(column, atom_text) for column in (block.subject, block.predicate, block.object)]
    rows = zip(*columns, _comments(block, "%"), strict=True)
    return [f"{p}({s}, {o}).{note}" if o else f"{p}({s}).{note}" for s, p, o, note in rows]


def _term(name: str) -> str:
    if BLANK.fullmatch(name):
        return name
    return f"<{iri(name)}>"


def iri(name: str) -> str:
    """The name if it is an absolute IRI, else urn:nlil: and the name percent-encoded; `rdf.py` undoes it."""
    return name if IRI.fullmatch(name) and not name.startswith(OWN_SCHEME) else OWN_SCHEME + quote(name, safe="")


def _ntriples(block: _Columns) -> list[str]:
    subject, object = _spelled(block.subject, _term), _spelled(block.object, _term)
    predicate = _spelled(block.predicate, lambda name: f"<{iri(name)}>")
    rows = zip(subject, predicate, object, _comments(block, "#"), strict=True)
    return [f"{s} {p} {o} .{note}" if o else f"{s} <{RDF_TYPE}> {p} .{note}" for s, p, o, note in rows]
