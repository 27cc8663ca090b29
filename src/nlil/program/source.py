"""Clauses of a Prolog file, with the place of each for errors."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Source, Term, is_ground, read_clauses
from ..logic.tokens import Fault
from .clause import Symbol

GroundAtom = tuple[Symbol, tuple[str, ...]]
"""A fact by name: its predicate, and the text of each argument."""


def read_source(path: Path) -> Iterator[Source]:
    """Yield every clause of the file."""
    from ..data.files import blocks

    text = "".join(block for _, block in blocks(path))
    try:
        yield from read_clauses(text, path)
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
    symbol = symbol_of(term)
    if symbol is None or not is_ground(term):
        return None
    return symbol, tuple(str(a) for a in term.args) if isinstance(term, Compound) else ()
