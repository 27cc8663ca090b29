"""N-Triples and Turtle, parsed by pyoxigraph.

rdf:type becomes a unary predicate with the name of the class, rdfs:label a label. Numbers and dates become numbers of
their subject (numbers.py), a date as its year: 1980.5 is the first of July 1980. Any other literal is an entity with
the name of its lexical value. IRIs are names unchanged, and the prefixes of a Turtle file shorten them for display;
`write.py` writes a name that is not an IRI as `urn:nlil:...`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import DataError, require
from .builder import Batch, Row, row_batches
from .files import ending, readable

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
XSD = "http://www.w3.org/2001/XMLSchema#"
OWN_SCHEME = "urn:nlil:"

_SIGNED = ("integer", "nonPositiveInteger", "negativeInteger", "long", "int", "short", "byte")
_UNSIGNED = ("nonNegativeInteger", "positiveInteger", "unsignedLong", "unsignedInt", "unsignedShort", "unsignedByte")
NUMBER_TYPES = frozenset(XSD + name for name in ("decimal", "float", "double", *_SIGNED, *_UNSIGNED))
DATE_TYPES = frozenset(XSD + name for name in ("date", "dateTime", "dateTimeStamp", "gYear", "gYearMonth"))
_NUMBER = re.compile(r"\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*", re.ASCII)
_DATE = re.compile(
    r"(?P<year>-?\d{4,18})(-(?P<month>\d\d)(-(?P<day>\d\d)(T(?P<hour>\d\d):(?P<minute>\d\d):\d\d(\.\d+)?)?)?)?"
    r"(Z|[+-]\d\d:\d\d)?",
    re.ASCII,
)


def read_rdf(path: Path) -> Iterator[Batch]:
    """Yield the triples of the .nt or .ttl file at `path` (also .gz) in batches."""
    rdf = require("pyoxigraph", "rdf", "reading N-Triples and Turtle")
    syntax = rdf.RdfFormat.N_TRIPLES if ending(path) == ".nt" else rdf.RdfFormat.TURTLE
    labels: dict[str, tuple[int, str]] = {}
    numbers: list[tuple[str, str, float]] = []
    prefixes: dict[str, str] = {}

    def rows() -> Iterator[Row]:
        with readable(path) as stream:
            try:
                triples = rdf.parse(input=stream, format=syntax)
                for triple in triples:
                    subject, predicate = _name(triple.subject), _name(triple.predicate)
                    if predicate == RDFS_LABEL:
                        _keep_best(labels, subject, triple.object)
                    elif predicate == RDF_TYPE:
                        yield subject, _name(triple.object), None, 1.0
                    elif (number := _number(triple.object)) is not None:
                        numbers.append((predicate, subject, number))
                    else:
                        yield subject, predicate, _name(triple.object), 1.0
                prefixes.update(getattr(triples, "prefixes", {}))
            except SyntaxError as error:
                raise DataError(f"expected {ending(path)[1:]} triples, got: {error.msg}", path, error.lineno) from error

    yield from row_batches(rows())
    shown = {name: label for name, (_, label) in labels.items()}
    yield Batch.of_rows([], labels=shown, prefixes=prefixes, numbers=numbers)


def _name(term: Any) -> str:
    match type(term).__name__:
        case "NamedNode":
            value: str = term.value
            return unquote(value[len(OWN_SCHEME) :]) if value.startswith(OWN_SCHEME) else value
        case "BlankNode":
            return f"_:{term.value}"
        case "Literal":
            return str(term.value)
        case other:
            raise DataError(f"expected an IRI, a blank node or a literal, got a {other}: {term}")


def _number(term: Any) -> float | None:
    """Return the number that a literal stands for; None if it is not a number or a date, or does not look like one."""
    kind = getattr(term, "datatype", None)
    if kind is None:
        return None
    if kind.value in NUMBER_TYPES:
        return float(term.value) if _NUMBER.fullmatch(term.value) else None
    return date_number(term.value) if kind.value in DATE_TYPES else None


def date_number(text: str) -> float | None:
    """Return a date, a time on a date, a month or a year as years; None if `text` is none of these.

    The part of the year is that of twelve months of 31 days, which keeps the order. Time zones are ignored.

    >>> date_number("1980-07-01"), date_number("1980"), date_number("July")
    (1980.5, 1980.0, None)
    """
    found = _DATE.fullmatch(text.strip())
    if not found:
        return None
    year, month, day, hour, minute = (
        default if found[part] is None else int(found[part])
        for part, default in (("year", 0), ("month", 1), ("day", 1), ("hour", 0), ("minute", 0))
    )
    if not (1 <= month <= 12 and 1 <= day <= 31 and hour <= 24 and minute <= 59):
        return None
    return year + (month - 1 + (day - 1 + (hour + minute / 60) / 24) / 31) / 12


def _keep_best(labels: dict[str, tuple[int, str]], name: str, term: Any) -> None:
    """Prefer a label without a language, then an English one, then any other; ties go to the first."""
    language = getattr(term, "language", None)
    rank = 0 if not language else 1 if language.startswith("en") else 2
    if name not in labels or rank < labels[name][0]:
        labels[name] = (rank, str(term.value))
