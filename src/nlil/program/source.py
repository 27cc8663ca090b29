"""Clauses of a Prolog file, with the place of each for errors."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Term, read_clauses
from ..logic.tokens import Fault
from .clause import Symbol

GroundAtom = tuple[Symbol, tuple[str, ...]]
"""A fact by name: its predicate, and the text of each argument."""


@dataclass(frozen=True)
class Source:
    """A clause as a `term`, with its `text` and its place: `path` and `line`."""

    term: Term
    text: str
    path: Path
    line: int

    def error(self, expected: str) -> DataError:
        """Return the error that something else was `expected`."""
        return DataError(f"expected {expected}, got {self.text!r}", self.path, self.line)


def read_source(path: Path) -> Iterator[Source]:
    """Yield every clause of the file."""
    from ..data.files import blocks

    text = "".join(block for _, block in blocks(path))
    try:
        for clause in read_clauses(text):
            yield Source(clause.term, clause.source, path, clause.line)
    except Fault as fault:
        raise DataError(fault.message, path, 1 + text.count("\n", 0, fault.offset)) from fault


def symbol_of(term: Term) -> Symbol | None:
    """Return the predicate of `term`, or None if it is not an atom."""
    match term:
        case Compound(name, args):
            return Symbol(name, len(args))
        case Name(name):
            return Symbol(name, 0)
        case _:
            return None


def atom_of(term: Term) -> GroundAtom | None:
    """Return `term` as a ground atom by name, or None if it is not one."""
    from ..logic.terms import is_ground

    symbol = symbol_of(term)
    if symbol is None or not is_ground(term):
        return None
    return symbol, tuple(str(a) for a in term.args) if isinstance(term, Compound) else ()
