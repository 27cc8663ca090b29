"""TSV and CSV: the reader of delimited text (`read_rows`), of facts (`read_delimited`) and of labels (`read_labels`).

    ann <TAB> female                              two columns P(entity)
    ann <TAB> mother <TAB> bob                    three P(subject, object)
    ann <TAB> likes  <TAB> carl <TAB> 0.7         a fourth is the weight
    ann <TAB> tired  <TAB>      <TAB> 0.4

A first line with names of columns is a header, and the user may name them (columns.py). Separators are tabs, commas and
semicolons; lines that begin with `#` are comments.

A file is read in blocks of whole lines, which Arrow splits into columns. `pyarrow.csv` rejects rows of different length
and gives no line numbers. TSV has no quotes; other fields may be in double quotes, but without line breaks.

`path` is always the file to read; errors are DataErrors that name it.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, chain, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, in_file
from .arrays import Doubles, Longs, Mask
from .builder import NO_WEIGHT, Batch, encoded
from .columns import ADVICE, FURTHER_ARGUMENTS, POSITIONAL, ColumnLayout, GivenColumns, find_layout
from .files import UTF8, blocks, ending, lines, stem
from .roles import EXPECTED_SPLIT, EXPECTED_TIME, SPLIT_NAMES, by_split, present, row_labels, with_doubt

SAMPLE_CHARACTERS = 1 << 16
"""The separator is detected in this many characters."""
EXPECTED = "(entity, predicate), (subject, predicate, object) or (subject, predicate, object, weight)"
SEPARATOR_NAMES = {"\t": "tab", ",": "comma", ";": "semicolon"}
COMMENT = "#"
COMMENTS_NOTE = f"lines that begin with {COMMENT} are comments"

Fault = tuple[Mask, Callable[[int], str]]
"""The rows with a fault, and the function that describes it for row i."""


@dataclass(frozen=True, eq=False)
class TableRows:
    """Lines split into fields: row i is fields[start[i] : start[i] + count[i]], from line `number[i]`.

    Attributes:
        path: the file, for errors.
        separator: the character between fields: a tab, a comma or a semicolon.
        lines: the text of each row.
        has_comments: whether there were comments between the rows.
    """

    path: Path
    separator: str
    lines: pa.Array
    number: Longs
    fields: pa.Array
    start: Longs
    count: Longs
    has_comments: bool = False

    def __len__(self) -> int:
        return len(self.lines)

    def text(self, i: int) -> str:
        """Return the line of row `i`."""
        return str(self.lines[i].as_py())

    def row(self, i: int) -> list[str]:
        """Return the fields of row `i`."""
        return list(self.fields.slice(self.start[i], self.count[i]).to_pylist())

    def without_first(self) -> TableRows:
        """Return the rows below a header."""
        start, count, number = self.start[1:], self.count[1:], self.number[1:]
        return replace(self, lines=self.lines[1:], number=number, start=start, count=count)

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


def read_rows(path: Path, encoding: str = UTF8) -> Iterator[TableRows]:
    """Yield the rows of a .tsv, .csv or .txt file (also .gz) in an `encoding`, in blocks.

    Blank lines are skipped, and comments: lines that begin with `# `, `##`, or with `#` and have one field.
    """
    separator = ""
    for first, text in blocks(path, encoding):
        separator = separator or _separator(text[:SAMPLE_CHARACTERS], ending(path))
        lines = pc.split_pattern(pa.array([text], pa.large_string()), "\n").flatten()
        lines = pc.utf8_rtrim(lines, "\r") if "\r" in text else lines
        present = pc.not_equal(pc.utf8_trim(lines, " "), "")
        has_comments = False
        if text.startswith(COMMENT) or f"\n{COMMENT}" in text:
            is_comment = pc.match_substring_regex(lines, f"^#([ #]|[^{separator}]*$)")
            has_comments = bool(pc.any(is_comment).as_py())
            present = pc.and_not(present, is_comment)
        lines, number = lines.filter(present), first + np.flatnonzero(present.to_numpy(zero_copy_only=False))
        if separator != "\t" and '"' in text:
            fields, offsets = _quoted_fields(lines.to_pylist(), separator, path, number)
        else:
            split = pc.split_pattern(lines, separator)
            fields, offsets = split.values, split.offsets.to_numpy().astype(np.int64)
        yield TableRows(path, separator, lines, number, fields, offsets[:-1], np.diff(offsets), has_comments)


def _separator(sample: str, kind: str) -> str:
    """Return the usual separator of the file ending `kind`, unless only another one is in every line of the `sample`.

    A .csv file with as many semicolons in every line, but not as many commas, is separated by semicolons.
    """
    usual, *others = (",", ";", "\t") if kind == ".csv" else ("\t", ",", ";")
    lines = [line for line in sample.split("\n")[:-1] or [sample] if line.strip() and not line.startswith(COMMENT)]
    counts = {one: {line.count(one) for line in lines} for one in (usual, *others)}
    if usual == "," and len(counts[","]) > 1 and len(counts[";"]) == 1 and 0 not in counts[";"]:
        return ";"
    if any(usual in line for line in lines):
        return usual if 0 not in counts[usual] else _in_every_line(counts, others) or usual
    return _in_every_line(counts, others) or next((one for one in others if one in sample), usual)


def _in_every_line(counts: Mapping[str, set[int]], separators: Sequence[str]) -> str:
    return next((one for one in separators if counts[one] and 0 not in counts[one]), "")


def _quoted_fields(lines: list[str], separator: str, path: Path, number: Longs) -> tuple[pa.Array, Longs]:
    """All fields, and the offset of each line."""
    try:
        rows = list(csv.reader(lines, delimiter=separator, strict=True))
        if len(rows) != len(lines):
            raise csv.Error("unexpected end of data")
    except csv.Error:
        rows = [_quoted_row(line, separator, path, i) for line, i in zip(lines, number.tolist(), strict=True)]
    offsets = np.fromiter(accumulate(map(len, rows), initial=0), np.int64, len(rows) + 1)
    return pa.array(list(chain.from_iterable(rows)), pa.large_string()), offsets


def _quoted_row(line: str, separator: str, path: Path, number: int) -> list[str]:
    try:
        return next(csv.reader([line], delimiter=separator, strict=True))
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


def read_delimited(path: Path, columns: GivenColumns | None = None, encoding: str = UTF8) -> Iterator[Batch]:
    """Yield the facts of a .tsv, .csv or .txt file (also .gz).

    Args:
        path: the file.
        columns: role -> column, as given by the user.
        encoding: of the text.
    """
    layout: ColumnLayout | None = None
    notes: tuple[str, ...] = ()
    for rows in read_rows(path, encoding):
        if rows.has_comments:
            notes = (f"{path.name}: {COMMENTS_NOTE}",)
        if is_first := layout is None and len(rows) > 0:
            layout = _layout(rows, columns or {})
            notes += (f"{path.name}: {layout.note}",) if layout.note else ()
            rows = rows.without_first() if layout.has_header else rows
        facts = row_facts(rows, layout or POSITIONAL, notes)
        yield from with_doubt(facts, layout, path.name) if layout and is_first and not columns else facts


def names_columns(path: Path, columns: GivenColumns, encoding: str) -> bool:
    """Return whether the first line of a file is a header; `columns` and `encoding` as in `read_delimited`."""
    rows = next(read_rows(path, encoding), None)
    return rows is not None and len(rows) > 0 and _layout(rows, columns).has_header


def _layout(rows: TableRows, columns: GivenColumns) -> ColumnLayout:
    with in_file(rows.path, int(rows.number[0])):
        return find_layout(rows.row(0), columns, stem(rows.path))


def row_facts(rows: TableRows, layout: ColumnLayout, notes: tuple[str, ...] = ()) -> Iterator[Batch]:
    """Yield the facts of the rows by their `layout`, a batch for each split that they name; `notes` are theirs.

    The object may be missing in a row, and empty only in a row with a weight.
    """
    place, count = layout.place, rows.count
    roles = {role: rows.column(i) for role, i in place.items() if (count > i).any() or role in ("subject", "predicate")}
    further = [role for role in FURTHER_ARGUMENTS if role in roles]
    subject, weight_place = roles["subject"], place.get("weight", layout.width)
    predicate = roles.get("predicate")
    required = 1 + max(place["subject"], place.get("predicate", place["subject"]))
    is_named = layout is not POSITIONAL
    where = f"for {', '.join(place)}" if is_named else EXPECTED
    named = f"{required} to {layout.width} {SEPARATOR_NAMES[rows.separator]}-separated fields"

    def unnamed(i: int) -> str:
        if is_named:
            return f"expected a name {where}, got an empty one in {rows.text(i)!r}"
        return f"expected {where} without empty names, got {rows.text(i)!r}; a unary fact has two columns"

    def miscounted(i: int) -> str:
        advice = f"; {ADVICE}" if layout is POSITIONAL and count[i] > layout.width else ""
        return f"expected {named} {where}, got {count[i]}: {rows.text(i)!r}{advice}"

    is_unnamed = is_empty(subject) | (False if predicate is None else is_empty(predicate))
    faults: list[Fault] = [((count < required) | (count > layout.width), miscounted), (is_unnamed, unnamed)]
    object, weight = roles.get("object"), None
    if object is not None:
        no_object = is_empty(object)
        if not further:
            faults.append((no_object & (count <= weight_place), unnamed))
        object = pc.if_else(pa.array(no_object), None, object) if no_object.any() else object
    if "weight" in roles:
        weight, is_number = parse_numbers(roles["weight"])
        wrong = (count > weight_place) & ~(is_number & (weight >= 0) & (weight <= 1))
        column = "in the fourth column" if layout is POSITIONAL else f"in column {weight_place + 1}"
        describe = f"expected a weight in [0, 1] {column}, got "
        advice = f"; {ADVICE}" if layout is POSITIONAL else ""
        faults.append((wrong, lambda i: f"{describe}{rows.row(i)[weight_place]!r}{advice}"))
        weight[count <= weight_place] = 1.0
    if "split" in roles:
        unknown = ~np.asarray(pc.is_in(pc.utf8_lower(roles["split"]), SPLIT_NAMES).to_numpy(zero_copy_only=False))
        faults.append((unknown, lambda i: f"{EXPECTED_SPLIT}, got {roles['split'][i].as_py()!r}"))
    time = roles.get("time")
    if time is not None:
        faults.append((~present(time), lambda i: f"{EXPECTED_TIME}, got none in {rows.text(i)!r}"))
    if further:
        faults += _faults_of_wide(rows, [roles["object"], *(roles[role] for role in further)], weight)
    rows.check(*faults)
    if layout.many:
        each = pc.split_pattern(predicate, ";")
        parents = pc.list_parent_indices(each)
        predicate, subject, time = each.values, subject.take(parents), time if time is None else time.take(parents)
    if predicate is None:
        predicate = pa.repeat(pa.scalar(layout.predicate, pa.large_string()), len(rows))
    more = tuple(encoded(pc.if_else(pa.array(is_empty(roles[role])), None, roles[role])) for role in further)
    rest = {"more": more, "notes": notes, "labels": row_labels(roles), "time": time}
    batch = Batch.of(subject, predicate, object, weight, **rest)
    yield from by_split(batch, roles.get("split"))


def _faults_of_wide(rows: TableRows, columns: Sequence[pa.Array], weight: Doubles | None) -> Iterator[Fault]:
    """Yield what may be wrong with facts of three and more arguments: `columns` are those after the subject."""
    given = [present(column) for column in columns]
    for earlier, later in pairwise(given):
        yield later & ~earlier, lambda i: f"expected all arguments up to the last, got {rows.text(i)!r}"
    if weight is not None:
        yield given[1] & (weight < 1), lambda i: f"{NO_WEIGHT}, got {rows.text(i)!r}"


def read_labels(path: Path, encoding: str = UTF8) -> dict[str, str]:
    """Return name -> label of a labels.tsv (also .gz) in an `encoding`: `name <TAB> label` on each line."""
    labels: dict[str, str] = {}
    for number, line in lines(path, encoding):
        name, tab, label = line.partition("\t")
        if not tab or not name:
            raise DataError(f"expected name <TAB> label, got {line!r}", path, number)
        labels[name] = label
    return labels
