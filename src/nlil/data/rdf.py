"""N-Triples and Turtle, parsed by pyoxigraph.

rdf:type becomes a unary predicate with the name of the class, rdfs:label a label, and a literal an entity with the name
of its lexical value. Other IRIs are names unchanged; `write.py` writes a name that is not an IRI as `urn:nlil:...`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from ..errors import DataError, require
from .builder import Batch, Row, row_batches
from .files import ending, readable

RDF_TYPE = "http://www.w3.org/1999/02/22-rdf-syntax-ns#type"
RDFS_LABEL = "http://www.w3.org/2000/01/rdf-schema#label"
OWN_SCHEME = "urn:nlil:"


def read_rdf(path: Path) -> Iterator[Batch]:
    """Yield the triples of the .nt or .ttl file at `path` (also .gz) in batches."""
    rdf = require("pyoxigraph", "rdf", "reading N-Triples and Turtle")
    syntax = rdf.RdfFormat.N_TRIPLES if ending(path) == ".nt" else rdf.RdfFormat.TURTLE
    labels: dict[str, tuple[int, str]] = {}

    def rows() -> Iterator[Row]:
        with readable(path) as stream:
            try:
                for triple in rdf.parse(input=stream, format=syntax):
                    subject, predicate = _name(triple.subject), _name(triple.predicate)
                    if predicate == RDFS_LABEL:
                        _keep_best(labels, subject, triple.object)
                    elif predicate == RDF_TYPE:
                        yield subject, _name(triple.object), None, 1.0
                    else:
                        yield subject, predicate, _name(triple.object), 1.0
            except SyntaxError as error:
                raise DataError(f"expected {ending(path)[1:]} triples, got: {error.msg}", path, error.lineno) from error

    yield from row_batches(rows())
    yield Batch.of_rows([], labels={name: label for name, (_, label) in labels.items()})


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


def _keep_best(labels: dict[str, tuple[int, str]], name: str, term: Any) -> None:
    """Prefer a label without a language, then an English one, then any other; ties go to the first."""
    language = getattr(term, "language", None)
    rank = 0 if not language else 1 if language.startswith("en") else 2
    if name not in labels or rank < labels[name][0]:
        labels[name] = (rank, str(term.value))
