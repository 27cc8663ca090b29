"""TSV and CSV facts: two columns P(entity), three P(subject, object), a fourth is the weight.

    ann <TAB> female
    ann <TAB> mother <TAB> bob
    ann <TAB> likes  <TAB> carl <TAB> 0.7
    ann <TAB> tired  <TAB>      <TAB> 0.4

A file is read in blocks of whole lines, and a block is split into columns by Arrow, whatever the mixture of
arities. A block that holds something else (a quoted CSV field, a bad line) is read line by line: that finds
the error and its line number. TSV knows no quotes; CSV fields may stand in double quotes.
"""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from .arrays import Floats, Longs, Mask
from .builder import Row, batch_of
from .columns import Batch, code_of_empty, encoded
from .files import UTF8_BOM, ending, readable

BLOCK_BYTES = 1 << 23
SAMPLE_BYTES = 1 << 16
HEADERS = frozenset(
    {
        ("entity", "predicate"),
        ("subject", "predicate", "object"),
        ("head", "relation", "tail"),
        ("subject", "predicate", "object", "weight"),
        ("head", "relation", "tail", "weight"),
    }
)
EXPECTED = "(entity, predicate), (subject, predicate, object) or (subject, predicate, object, weight)"
SEPARATOR_NAMES = {"\t": "tab", ",": "comma"}


@dataclass(frozen=True)
class Block:
    """Whole lines of a file; `first_line` counts from 1."""

    data: bytes
    first_line: int


def read_delimited(path: Path) -> Iterator[Batch]:
    """The facts of a .tsv, .csv or .txt file (also .gz)."""
    separator = None
    for block in _blocks(path):
        notes: tuple[str, ...] = ()
        if separator is None:
            separator = _separator(path, block.data[:SAMPLE_BYTES])
            block, header = _without_header(block, separator)
            if header is not None:
                notes = (f"{path.name}: the first line {header!r} is read as a header",)
        batch = _by_column(block, separator)
        yield _line_by_line(path, block, separator, notes) if batch is None else Batch(*batch, notes=notes)


def _blocks(path: Path) -> Iterator[Block]:
    rest, first_line = b"", 1
    with readable(path) as stream:
        while data := stream.read(BLOCK_BYTES):
            end = data.rfind(b"\n") + 1
            if not end:
                rest += data
                continue
            block = rest + data[:end]
            rest = data[end:]
            yield Block(block.removeprefix(UTF8_BOM) if first_line == 1 else block, first_line)
            first_line += block.count(b"\n")
        if rest:
            yield Block(rest.removeprefix(UTF8_BOM) if first_line == 1 else rest, first_line)


def _separator(path: Path, sample: bytes) -> str:
    """The ending's usual separator, unless the beginning of the file holds only the other one."""
    usual, other = (",", "\t") if ending(path) == ".csv" else ("\t", ",")
    return other if other.encode() in sample and usual.encode() not in sample else usual


def _without_header(block: Block, separator: str) -> tuple[Block, str | None]:
    """The block without a first line such as `subject,predicate,object`, and that line."""
    line, _, rest = block.data.partition(b"\n")
    text = line.decode(errors="replace").rstrip("\r")
    if tuple(field.strip(' "').lower() for field in text.split(separator)) not in HEADERS:
        return block, None
    return Block(rest, block.first_line + 1), text


# by column ------------------------------------------------------------------------------------------

Columns = tuple[pa.DictionaryArray, pa.DictionaryArray, pa.DictionaryArray | None, Floats | None]


def _by_column(block: Block, separator: str) -> Columns | None:
    """The columns of a block; None where some line needs a closer look."""
    if separator == "," and b'"' in block.data:
        return None
    try:
        text = pa.array([block.data.decode()], pa.large_string())
    except UnicodeDecodeError:
        return None
    lines = pc.split_pattern(text, "\n").flatten()
    if b"\r" in block.data:
        lines = pc.utf8_rtrim(lines, "\r")
    lines = lines.filter(pc.not_equal(lines, ""))
    fields = pc.split_pattern(lines, separator)
    start = fields.offsets.to_numpy()[:-1].astype(np.int64)
    count = pc.list_value_length(fields).to_numpy(zero_copy_only=False)
    if not bool(((count >= 2) & (count <= 4)).all()):
        return None
    names = fields.values
    subject, predicate = encoded(names.take(pa.array(start))), encoded(names.take(pa.array(start + 1)))
    if code_of_empty(subject) >= 0 or code_of_empty(predicate) >= 0:
        return None
    return _with_rest(subject, predicate, names, start, count)


def _with_rest(
    subject: pa.DictionaryArray, predicate: pa.DictionaryArray, names: pa.Array, start: Longs, count: Longs
) -> Columns | None:
    """Objects and weights, where there are any: only a weighted fact may leave its object empty."""
    longest = int(count.max(initial=2))
    object = _at(names, start + 2, count > 2) if longest > 2 else None
    weight = None
    if longest > 3:
        weight = _weights(_at(names, start + 3, count > 3), count > 3)
        if weight is None:
            return None
    if object is not None:
        empty = pc.fill_null(pc.equal(object, ""), False).to_numpy(zero_copy_only=False)
        if bool((empty & (count == 3)).any()):
            return None
        object = pc.if_else(pa.array(empty), pa.scalar(None, object.type), object) if empty.any() else object
    return subject, predicate, None if object is None else encoded(object), weight


def _at(names: pa.Array, position: Longs, present: Mask) -> pa.Array:
    """The names at the positions, null where there is none."""
    return names.take(pa.array(np.where(present, position, 0), mask=~present))


def _weights(texts: pa.Array, present: Mask) -> Floats | None:
    try:
        weight = pc.fill_null(pc.cast(texts, pa.float64()), 1.0).to_numpy(zero_copy_only=False)
    except pa.ArrowInvalid:
        return None
    return weight.astype(np.float32) if bool(((weight >= 0) & (weight <= 1)).all()) else None


# line by line ---------------------------------------------------------------------------------------


def _line_by_line(path: Path, block: Block, separator: str, notes: tuple[str, ...]) -> Batch:
    rows: list[Row] = []
    for number, raw in enumerate(block.data.split(b"\n"), start=block.first_line):
        try:
            line = raw.rstrip(b"\r").decode()
            if line.strip(" "):
                rows.append(_row(line, separator))
        except UnicodeDecodeError as error:
            raise DataError(f"expected UTF-8 text, got the bytes {raw[:60]!r}", path, number) from error
        except DataError as error:
            raise DataError(str(error), path, number) from error
    return batch_of(rows, notes=notes)


def _row(line: str, separator: str) -> Row:
    match _fields(line, separator):
        case [subject, predicate] if subject and predicate:
            return subject, predicate, None, 1.0
        case [subject, predicate, object] if subject and predicate and object:
            return subject, predicate, object, 1.0
        case [subject, predicate, object, weight] if subject and predicate:
            return subject, predicate, object or None, _weight(weight)
        case fields if 2 <= len(fields) <= 4:
            raise DataError(f"expected {EXPECTED} without empty names, got {line!r}; a unary fact has two columns")
        case fields:
            expected = f"expected 2 to 4 {SEPARATOR_NAMES[separator]}-separated fields {EXPECTED}"
            raise DataError(f"{expected}, got {len(fields)}: {line!r}")


def _fields(line: str, separator: str) -> list[str]:
    if separator == "," and '"' in line:
        try:
            return next(csv.reader([line], strict=True))
        except csv.Error as error:
            raise DataError(f"expected balanced double quotes ({error}), got {line!r}") from error
    return line.split(separator)


def _weight(text: str) -> float:
    try:
        weight = float(text)
    except ValueError as error:
        raise DataError(f"expected a weight in [0, 1] in the fourth column, got {text!r}") from error
    if not 0.0 <= weight <= 1.0:
        raise DataError(f"expected a weight in [0, 1] in the fourth column, got {text!r}")
    return weight
