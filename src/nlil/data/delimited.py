"""TSV and CSV: the reader of delimited text (`read_rows`), of facts (`read_delimited`) and of labels (`read_labels`).

    ann <TAB> female                              two columns P(entity)
    ann <TAB> mother <TAB> bob                    three P(subject, object)
    ann <TAB> likes  <TAB> carl <TAB> 0.7         a fourth is the weight
    ann <TAB> tired  <TAB>      <TAB> 0.4

A file is read in blocks of whole lines, which Arrow splits into columns. `pyarrow.csv` rejects rows of different length
and gives no line numbers. TSV has no quotes; CSV fields may be in double quotes, but without line breaks.

`path` is always the file to read; errors are DataErrors that name it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import accumulate, chain
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError
from .arrays import Doubles, Longs, Mask
from .builder import Batch
from .files import blocks, ending, lines

SAMPLE_CHARACTERS = 1 << 16
"""The separator is detected in this many characters."""
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

Fault = tuple[Mask, Callable[[int], str]]
"""The rows with a fault, and the function that describes it for row i."""


@dataclass(frozen=True, eq=False)
class Rows:
    """Lines split into fields: row i is fields[start[i] : start[i] + count[i]], from line `number[i]`.

    Attributes:
        path: the file, for errors.
        separator: the character between fields, a tab or a comma.
        lines: the text of each row.
    """

    path: Path
    separator: str
    lines: pa.Array
    number: Longs
    fields: pa.Array
    start: Longs
    count: Longs

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, i: int) -> str:
        """Return the line of row `i`."""
        return str(self.lines[i].as_py())

    def row(self, i: int) -> list[str]:
        """Return the fields of row `i`."""
        return list(self.fields.slice(self.start[i], self.count[i]).to_pylist())

    def without_first(self) -> Rows:
        """Return the rows below a header."""
        start, count, number = self.start[1:], self.count[1:], self.number[1:]
        return Rows(self.path, self.separator, self.lines[1:], number, self.fields, start, count)

    def column(self, i: int) -> pa.Array:
        """Return field `i` of every row; null if a row has fewer fields."""
        present = self.count > i
        if present.all():
            return self.fields.take(pa.array(self.start + i))
        return self.fields.take(pa.array(np.where(present, self.start + i, 0), mask=~present))

    def check(self, *faults: Fault) -> None:
        """Raise DataError for the first row that has one of the faults."""
        bad = np.logical_or.reduce([mask for mask, _ in faults])
        if bad.any():
            i = int(np.argmax(bad))
            describe = next(text for mask, text in faults if mask[i])
            raise DataError(describe(i), self.path, int(self.number[i]))


def read_rows(path: Path) -> Iterator[Rows]:
    """Yield the rows of a .tsv, .csv or .txt file (also .gz) in blocks; blank lines are skipped.

    The separator is the usual one for the file ending, unless the beginning of the file contains only the other one.
    """
    separator = ""
    for first, text in blocks(path):
        if not separator:
            usual, other = (",", "\t") if ending(path) == ".csv" else ("\t", ",")
            sample = text[:SAMPLE_CHARACTERS]
            separator = other if other in sample and usual not in sample else usual
        lines = pc.split_pattern(pa.array([text], pa.large_string()), "\n").flatten()
        lines = pc.utf8_rtrim(lines, "\r") if "\r" in text else lines
        present = pc.not_equal(pc.utf8_trim(lines, " "), "")
        lines, number = lines.filter(present), first + np.flatnonzero(present.to_numpy(zero_copy_only=False))
        if separator == "," and '"' in text:
            fields, offsets = _quoted_fields(lines.to_pylist(), path, number)
        else:
            split = pc.split_pattern(lines, separator)
            fields, offsets = split.values, split.offsets.to_numpy().astype(np.int64)
        yield Rows(path, separator, lines, number, fields, offsets[:-1], np.diff(offsets))


def _quoted_fields(lines: list[str], path: Path, number: Longs) -> tuple[pa.Array, Longs]:
    """All fields, and the offset of each line."""
    try:
        rows = list(csv.reader(lines, strict=True))
        if len(rows) != len(lines):
            raise csv.Error("unexpected end of data")
    except csv.Error:
        rows = [_quoted_row(line, path, i) for line, i in zip(lines, number.tolist(), strict=True)]
    offsets = np.fromiter(accumulate(map(len, rows), initial=0), np.int64, len(rows) + 1)
    return pa.array(list(chain.from_iterable(rows)), pa.large_string()), offsets


def _quoted_row(line: str, path: Path, number: int) -> list[str]:
    try:
        return next(csv.reader([line], strict=True))
    except csv.Error as error:
        raise DataError(f"expected balanced double quotes ({error}), got {line!r}", path, number) from error


def parse_numbers(texts: pa.Array) -> tuple[Doubles, Mask]:
    """Return the numbers in `texts` (NaN for other text), and which texts are numbers."""
    try:
        values = pc.cast(texts, pa.float64())
    except pa.ArrowInvalid:
        values = pa.array(map(_number, texts.to_pylist()), pa.float64())
    is_number = pc.is_valid(values).to_numpy(zero_copy_only=False)
    return np.array(pc.fill_null(values, np.nan).to_numpy(zero_copy_only=False), np.float64), is_number


def _number(text: str | None) -> float | None:
    try:
        return None if text is None else float(text)
    except ValueError:
        return None


def is_empty(texts: pa.Array) -> Mask:
    """Return which of `texts` are empty; null is not."""
    return np.asarray(pc.fill_null(pc.equal(texts, ""), False).to_numpy(zero_copy_only=False))


def read_delimited(path: Path) -> Iterator[Batch]:
    """Yield the facts of a .tsv, .csv or .txt file (also .gz)."""
    notes: tuple[str, ...] = ()
    for i, rows in enumerate(read_rows(path)):
        if i == 0 and len(rows) and tuple(field.strip(' "').lower() for field in rows.row(0)) in HEADERS:
            notes = (f"{path.name}: the first line {rows.text(0)!r} is read as a header",)
            rows = rows.without_first()
        yield _batch(rows, notes)


def _batch(rows: Rows, notes: tuple[str, ...]) -> Batch:
    """The facts of the rows; the object may be empty only in a fact with a weight."""
    count, subject, predicate = rows.count, rows.column(0), rows.column(1)
    expected = f"expected 2 to 4 {SEPARATOR_NAMES[rows.separator]}-separated fields {EXPECTED}"

    def unnamed(i: int) -> str:
        return f"expected {EXPECTED} without empty names, got {rows.text(i)!r}; a unary fact has two columns"

    faults: list[Fault] = [
        ((count < 2) | (count > 4), lambda i: f"{expected}, got {count[i]}: {rows.text(i)!r}"),
        (is_empty(subject) | is_empty(predicate), unnamed),
    ]
    object = weight = None
    if (count > 2).any():
        object = rows.column(2)
        no_object = is_empty(object)
        faults.append((no_object & (count == 3), unnamed))
        object = pc.if_else(pa.array(no_object), None, object) if no_object.any() else object
    if (count > 3).any():
        weight, is_number = parse_numbers(rows.column(3))
        wrong = (count == 4) & ~(is_number & (weight >= 0) & (weight <= 1))
        faults.append((wrong, lambda i: f"expected a weight in [0, 1] in the fourth column, got {rows.row(i)[3]!r}"))
        weight[count < 4] = 1.0
    rows.check(*faults)
    return Batch.of(subject, predicate, object, weight, notes=notes)


def read_labels(path: Path) -> dict[str, str]:
    """Return name -> label of a labels.tsv (also .gz): `name <TAB> label` on each line."""
    labels: dict[str, str] = {}
    for number, line in lines(path):
        name, tab, label = line.partition("\t")
        if not tab or not name:
            raise DataError(f"expected name <TAB> label, got {line!r}", path, number)
        labels[name] = label
    return labels
