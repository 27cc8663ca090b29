"""Write facts to a file; its ending names the format: .tsv .csv .nt .pl (also .gz) .parquet.

The confidences (or weights) are a fourth column in TSV, CSV and Parquet, and comments in Prolog and N-Triples.
"""

from __future__ import annotations

import gzip
import re
from collections.abc import Callable, Iterator
from functools import partial
from itertools import chain
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


def write_facts(kb: KnowledgeBase, facts: Facts, path: str | Path, confidences: Floats | Doubles | None = None) -> Path:
    """Write the facts atomically to a file; return its path.

    Args:
        kb: The base with the names.
        facts: The facts to write.
        path: The file; its ending names the format.
        confidences: The confidence of each fact; default: their weights.
    """
    path = Path(path)
    if ending(path) not in FORMATS or (ending(path) == ".parquet" and path.name.lower().endswith(".gz")):
        raise DataError(f"expected a name ending in {', '.join(FORMATS)} (text also .gz), got {path.name!r}", path)
    if confidences is not None and len(confidences) != len(facts):
        raise DataError(f"expected {len(facts)} confidences, one per fact, got {len(confidences)}", path)
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


def _blocks(kb: KnowledgeBase, facts: Facts, confidence: Floats | Doubles | None) -> Iterator[pa.RecordBatch]:
    """Yield blocks of facts by name: subject, predicate, object (null for a unary fact), and weight if there is one."""
    predicates = pa.array([p.name for p in kb.predicates], pa.large_string())
    for start in range(0, max(len(facts), 1), ROWS_PER_BLOCK):
        rows = slice(start, start + ROWS_PER_BLOCK)
        part = facts[rows]
        columns = {
            "subject": kb.entities.array.take(pa.array(part.subject)),
            "predicate": predicates.take(pa.array(part.predicate)),
            "object": kb.entities.array.take(pa.array(part.object, mask=part.object == NO_OBJECT)),
        }
        if confidence is not None:
            columns["weight"] = pa.array(confidence[rows].astype(np.float64))
        yield pa.record_batch(columns)


def _write_parquet(path: Path, blocks: Iterator[pa.RecordBatch]) -> None:
    import pyarrow.parquet as pq

    first = next(blocks)
    with pq.ParquetWriter(path, first.schema) as writer:
        for block in chain([first], blocks):
            writer.write_batch(block)


def _weights(block: pa.RecordBatch) -> Doubles | None:
    return block["weight"].to_numpy() if "weight" in block.schema.names else None


def _write_text(temporary: Path, blocks: Iterator[pa.RecordBatch], path: Path) -> None:
    formats: dict[str, Callable[[pa.RecordBatch], list[str]]] = {
        ".tsv": partial(_delimited, separator="\t"),
        ".csv": partial(_delimited, separator=","),
        ".nt": _ntriples,
        ".pl": _prolog,
    }
    lines_of = formats[ending(path)]
    with temporary.open("wb") as raw:
        # No file name and no time in the gzip header, so that the same facts give the same bytes.
        zipped = path.name.lower().endswith(".gz")
        with gzip.GzipFile("", "wb", 6, raw, mtime=0) if zipped else raw as stream:
            for block in blocks:
                stream.write("".join(f"{line}\n" for line in lines_of(block)).encode())


def _joined(*columns: Any, by: str = "") -> pa.Array:
    """Join columns and texts row by row; null if one of them is null."""
    as_scalars = [pa.scalar(c, pa.large_string()) if isinstance(c, str) else c for c in (*columns, by)]
    return pc.binary_join_element_wise(*as_scalars)


def _delimited(block: pa.RecordBatch, separator: str) -> list[str]:
    """a p | a p b | a p b w | a p '' w, as `delimited.py` reads them."""
    protect = _csv_field if separator == "," else _tsv_field
    subject, predicate, object = map(protect, (block["subject"], block["predicate"], block["object"]))
    pair = _joined(subject, predicate, by=separator)
    weights = _weights(block)
    if weights is None:
        lines = pc.if_else(pc.is_null(object), pair, _joined(pair, object, by=separator))
    else:
        shortest = weights.astype(np.float32).astype(str)  # reads back as the same 32-bit weight
        weight = pa.array(shortest.tolist(), pa.large_string())
        lines = _joined(pair, pc.fill_null(object, ""), weight, by=separator)
    return list(lines.to_pylist())


def _tsv_field(column: pa.Array) -> pa.Array:
    return _refuse(column, r"[\t\r\n]", "tabs and line ends", ".parquet or .pl")


def _csv_field(column: pa.Array) -> pa.Array:
    quoted = _joined('"', pc.replace_substring(_refuse(column, r"[\r\n]", "line ends", ".parquet"), '"', '""'), '"')
    return pc.if_else(pc.match_substring_regex(column, r'[",]'), quoted, column)


def _refuse(column: pa.Array, pattern: str, what: str, instead: str) -> pa.Array:
    """Return the column; raise DataError if a name matches the pattern."""
    bad = pc.index(pc.match_substring_regex(column, pattern), True).as_py()
    if bad >= 0:
        raise DataError(f"expected names without {what}, got {column[bad].as_py()!r}; write {instead} instead")
    return column


def _spelled(column: pa.Array, spell: Callable[[str], str]) -> list[str]:
    """Convert each distinct name once."""
    codes = column.dictionary_encode()
    names = [spell(name) for name in codes.dictionary.to_pylist()]
    return ["" if code is None else names[code] for code in codes.indices.to_pylist()]


def _comments(block: pa.RecordBatch, mark: str) -> list[str]:
    weights = _weights(block)
    return [""] * len(block) if weights is None else [f"  {mark} {value:.6g}" for value in weights.tolist()]


def _prolog(block: pa.RecordBatch) -> list[str]:
    columns = [_spelled(column, atom_text) for column in (block["subject"], block["predicate"], block["object"])]
    rows = zip(*columns, _comments(block, "%"), strict=True)
    return [f"{p}({s}, {o}).{note}" if o else f"{p}({s}).{note}" for s, p, o, note in rows]


def _term(name: str) -> str:
    return name if BLANK.fullmatch(name) else f"<{iri(name)}>"


def iri(name: str) -> str:
    """Return the name if it is an absolute IRI, else urn:nlil: and the name percent-encoded; `rdf.py` undoes it."""
    return name if IRI.fullmatch(name) and not name.startswith(OWN_SCHEME) else OWN_SCHEME + quote(name, safe="")


def _ntriples(block: pa.RecordBatch) -> list[str]:
    subject, object = _spelled(block["subject"], _term), _spelled(block["object"], _term)
    predicate = _spelled(block["predicate"], lambda name: f"<{iri(name)}>")
    rows = zip(subject, predicate, object, _comments(block, "#"), strict=True)
    return [f"{s} {p} {o} .{note}" if o else f"{s} <{RDF_TYPE}> {p} .{note}" for s, p, o, note in rows]
