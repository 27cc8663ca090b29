"""How an input is changed at random: bytes of any format, and values inside JSON and Parquet."""

from __future__ import annotations

import gzip
import io
import json
import random
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

Files = dict[str, bytes]

MAX_BYTES = 900_000
"""Inputs stay below a megabyte."""
MAX_OPERATIONS = 6
TOKENS = (
    *(b"\x00", b"\xff", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xf0\x9f\x98\x80", "\u2028".encode(), "\u202e".encode()),
    *(b"\x1b[31m", b"\t", b"\n", b"\r\n", b"\r", b" ", b"\x85", "\u0660".encode(), b"'", b'"', b"\\", b"\\x41\\"),
    *(b"\\ud800", b"\\u0000", b"(", b")", b"[", b"]", b"{", b"}", b"<", b">", b",", b".", b"|", b"!", b"=", b"\\="),
    *(b":-", b"\\+", b";", b"%", b"/*", b"*/", b"?", b"X", b"Y", b"Z1", b"_", b"true", b"null", b"NaN", b"inf"),
    *(b"-1", b"0", b"1e999", b"1e-999", b"-0.0", b"9" * 20, b"9" * 400, b"2147483648", b"0x10", b"1_000", b".5"),
    *(b"&#0;", b"&amp;", b"%00", b"%ff", b"%2e%2e%2f", b"../", b"=>", b"<=", b"?a  p  ?b", b"@en", b"^^<x:y>", b"#"),
    *(b"subject", b"predicate", b"object", b"weight", b"split", b"negative", b"pos(", b"neg(", b"even:99", b"nan"),
)
ODD_VALUES: tuple[Any, ...] = (
    *(None, True, False, -1, 0, 1, 2, 3, 99, -(2**31), 2**31 - 1, 2**31, 2**63 - 1, -(2**63), 2**63, 10**30),
    *(0.5, -0.0, 1e-320, 1e308, float("nan"), float("inf"), "", "x", "a", "\ud800", "\x00", "\x1b[2J", "x" * 70_000),
    *([], {}, [[]], [1], {"a": 1}, [None], "even", "kin:30", "../..", "nan", "1e400", "p/2", "١"),
)
TYPES = (
    *(pa.int8(), pa.int32(), pa.int64(), pa.uint64(), pa.float32(), pa.float64(), pa.bool_(), pa.string()),
    *(pa.large_string(), pa.binary(), pa.date32(), pa.timestamp("ns"), pa.decimal128(20, 2), pa.null()),
    *(pa.list_(pa.int64()), pa.list_(pa.string()), pa.struct({"x": pa.int64()}), pa.dictionary(pa.int8(), pa.string())),
)


def mutated(files: Files, rng: random.Random) -> Files:
    """Return the files with a few of them changed."""
    found = dict(files)
    for _ in range(1 + (rng.random() < 0.2)):
        name = rng.choice(sorted(found))
        found[name] = changed(name, found[name], rng)[:MAX_BYTES]
    if len(found) > 1 and rng.random() < 0.05:
        del found[rng.choice(sorted(found))]
    if len(found) > 1 and rng.random() < 0.03:
        found[rng.choice(sorted(found))] = found[rng.choice(sorted(found))]
    return found


def changed(name: str, content: bytes, rng: random.Random) -> bytes:
    """Return other content for the file `name`: changed inside its format if it has one, else as bytes."""
    try:
        if name.endswith(".gz") and rng.random() < 0.8:
            return gzip.compress(changed(name[:-3], gzip.decompress(content), rng), 1, mtime=0)
        if rng.random() < 0.7:
            if name.endswith((".json", ".jsonl", ".ndjson")):
                return _changed_json(name, content, rng)
            if name.endswith(".parquet"):
                return _changed_parquet(content, rng)
            if name.endswith(".safetensors"):
                return _changed_safetensors(content, rng)
    except Exception:  # it is not of its format any more, or the other value cannot be written in it
        pass
    for _ in range(rng.randint(1, MAX_OPERATIONS)):
        content = rng.choice(OPERATIONS)(content, rng)[:MAX_BYTES]
    return content


# bytes --------------------------------------------------------------------------------------------------


def _span(content: bytes, rng: random.Random) -> tuple[int, int]:
    begin = rng.randint(0, len(content))
    return begin, min(len(content), begin + int(rng.expovariate(1 / 12)) + 1)


def _flip(content: bytes, rng: random.Random) -> bytes:
    if not content:
        return content
    at = rng.randrange(len(content))
    return content[:at] + bytes([content[at] ^ (1 << rng.randrange(8))]) + content[at + 1 :]


def _insert(content: bytes, rng: random.Random) -> bytes:
    at = rng.randint(0, len(content))
    return content[:at] + rng.choice(TOKENS) + content[at:]


def _replace(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + rng.choice(TOKENS) + content[end:]


def _delete(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    return content[:begin] + content[end:]


def _copy(content: bytes, rng: random.Random) -> bytes:
    begin, end = _span(content, rng)
    at = rng.randint(0, len(content))
    return content[:at] + content[begin:end] * rng.choice((1, 1, 2, 3, 50)) + content[at:]


def _repeat(content: bytes, rng: random.Random) -> bytes:
    """Insert one piece very often: deep nesting, long names, long lines, many columns."""
    begin, end = _span(content, rng)
    piece = rng.choice((content[begin:end] or b"x", rng.choice(TOKENS)))
    at = rng.randint(0, len(content))
    count = min(rng.choice((10, 100, 1_000, 20_000, 100_000)), MAX_BYTES // len(piece))
    return content[:at] + piece * count + content[at:]


def _lines(content: bytes, rng: random.Random) -> bytes:
    lines = content.split(b"\n")
    one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
    match rng.randrange(4):
        case 0:
            lines[one], lines[two] = lines[two], lines[one]
        case 1:
            lines.insert(one, lines[two])
        case 2:
            del lines[one]
        case _:
            lines[one] += lines[two]
    return b"\n".join(lines)


def _cut(content: bytes, rng: random.Random) -> bytes:
    return content[: rng.randint(0, len(content))]


def _encode(content: bytes, rng: random.Random) -> bytes:
    return content.decode("utf-8", "replace").encode(rng.choice(("utf-16", "utf-8-sig", "utf-32-le", "utf-7")))


def _ends(content: bytes, rng: random.Random) -> bytes:
    return content.replace(b"\n", rng.choice((b"\r\n", b"\r", b"", b"\n\n", b"\n ")))


OPERATIONS: tuple[Callable[[bytes, random.Random], bytes], ...] = (
    *(_flip, _flip, _insert, _insert, _insert, _replace, _replace, _delete, _delete, _copy, _copy, _lines, _lines),
    *(_repeat, _cut, _encode, _ends),
)
"""Changes of bytes; those that are listed more often are chosen more often."""


# values inside a format ---------------------------------------------------------------------------------


def _changed_json(name: str, content: bytes, rng: random.Random) -> bytes:
    if name.endswith(".json"):
        return _json_bytes(_with_odd_value(json.loads(content), rng))
    lines = content.split(b"\n")
    at = rng.randrange(len(lines))
    lines[at] = _json_bytes(_with_odd_value(json.loads(lines[at] or b"{}"), rng))
    return b"\n".join(lines)


def _json_bytes(value: Any) -> bytes:
    """Return the JSON of a value, cut at MAX_BYTES: a list of 1,000 such lists would take seconds to write."""
    parts, size = [], 0
    for part in json.JSONEncoder().iterencode(value):
        parts.append(part)
        size += len(part)
        if size > MAX_BYTES:
            break
    return "".join(parts).encode()[:MAX_BYTES]


def _with_odd_value(document: Any, rng: random.Random) -> Any:
    """Return the document with a value at a random place replaced, removed, doubled or wrapped."""
    places: list[tuple[Any, Any]] = []
    stack = [document]
    while stack and len(places) < 5_000:
        value = stack.pop()
        items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
        for key, inner in items:
            places.append((value, key))
            stack.append(inner)
    if not places or rng.random() < 0.02:
        return rng.choice(ODD_VALUES)
    for _ in range(rng.choice((1, 1, 1, 2, 5))):
        holder, key = rng.choice(places)
        try:
            old = holder[key]
        except (LookupError, TypeError):
            continue
        match rng.randrange(6):
            case 0:
                del holder[key]
            case 1:
                other, place = rng.choice(places)
                try:
                    holder[key] = json.loads(json.dumps(other[place]))
                except (LookupError, TypeError):
                    continue
            case 2:
                holder[key] = [old] * rng.choice((1, 2, 1_000))
            case 3 if isinstance(holder, dict):
                holder[str(rng.choice(ODD_VALUES))[:200]] = old
            case 4 if isinstance(old, int | float) and not isinstance(old, bool):
                holder[key] = rng.choice((-old, old + 1, old - 1, old * 2**31, str(old), old + 0.5, [old]))
            case _:
                holder[key] = rng.choice(ODD_VALUES)
    return document


def _changed_parquet(content: bytes, rng: random.Random) -> bytes:
    table = pq.ParquetFile(io.BytesIO(content)).read(use_threads=False)
    about = dict(table.schema.metadata or {})
    for _ in range(rng.choice((1, 1, 1, 2))):
        if about and rng.random() < 0.3:
            key = rng.choice(sorted(about))
            try:
                about[key] = _json_bytes(_with_odd_value(json.loads(about[key]), rng))
            except ValueError:
                about[key] = changed("", about[key], rng)
        else:
            table = _changed_table(table, rng)
    stream = io.BytesIO()
    pq.write_table(table.replace_schema_metadata(about), stream)
    return stream.getvalue()


def _changed_table(table: pa.Table, rng: random.Random) -> pa.Table:
    if not table.num_columns:
        return table
    at = rng.randrange(table.num_columns)
    name, column = table.column_names[at], table.column(at)
    match rng.randrange(8):
        case 0:
            return table.drop_columns([name])
        case 1:
            return table.append_column(name, column)
        case 2:
            return table.rename_columns(
                [*table.column_names[:at], str(rng.choice(ODD_VALUES))[:99], *table.column_names[at + 1 :]]
            )
        case 3:
            kind = rng.choice(TYPES)
            try:
                return table.set_column(at, name, column.cast(kind, safe=False))
            except (pa.ArrowException, NotImplementedError):
                return table.set_column(at, name, pa.nulls(len(table), kind))
        case 4:
            return table.slice(rng.randint(0, len(table)), rng.choice((0, 1, len(table))))
        case 5:
            return pa.concat_tables([table] * rng.choice((2, 50)))
        case _:
            values = column.to_pylist()
            for _ in range(rng.choice((1, 1, 3))):
                if values:
                    row = rng.randrange(len(values))
                    old = values[row]
                    near = (
                        (-1 - old, old + 1, old - 1, -old, old * 2, 0, 2**31 - 1, -(2**31)) if type(old) is int else ()
                    )
                    values[row] = rng.choice((*near, *ODD_VALUES) if rng.random() < 0.5 else near or ODD_VALUES)
            try:
                return table.set_column(at, name, pa.array(values, column.type))
            except (pa.ArrowException, TypeError, ValueError, OverflowError):
                return table.set_column(at, name, pa.array(values))


def _changed_safetensors(content: bytes, rng: random.Random) -> bytes:
    size = int.from_bytes(content[:8], "little")
    header = _json_bytes(_with_odd_value(json.loads(content[8 : 8 + size]), rng))
    return len(header).to_bytes(8, "little") + header + content[8 + size :]
