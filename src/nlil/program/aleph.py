"""Aleph folders: NAME.b (background, modes, determinations), NAME.f (positive examples), NAME.n (negative ones)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Source, Term, is_count
from .bias import Bias
from .clause import Symbol
from .source import GroundAtom, atom_of, read_source

MARKS = {"+": True, "-": False, "#": False}
"""Prefix of the type of an argument -> whether it is an input; # marks an entity."""


def aleph_files(folder: Path) -> tuple[Path, Path, Path | None] | None:
    """Return the files .b, .f and .n (None if absent) of a `folder`; None if it has no .b and .f of one name."""
    found = [path for path in sorted(folder.glob("*.b")) if path.with_suffix(".f").is_file()]
    if len(found) != 1:
        return None
    negatives = found[0].with_suffix(".n")
    return found[0], found[0].with_suffix(".f"), negatives if negatives.is_file() else None


def read_atoms(path: Path | None) -> list[GroundAtom]:
    """Return the facts of a file of examples; none if there is no file."""
    found: list[GroundAtom] = []
    for source in [] if path is None else read_source(path):
        atom = atom_of(source.term)
        if atom is None:
            raise source.error("a fact p(a, b).")
        found.append(atom)
    return found


def aleph_bias(sources: Sequence[Source], path: Path) -> tuple[Bias, Symbol]:
    """Return the bias of the modes and determinations among the clauses `sources`, and the predicate to learn."""
    heads: list[Symbol] = []
    modes: dict[Symbol, set[tuple[tuple[str, str], ...]]] = {}
    determined: set[Symbol] = set()
    for source, directive in _directives(sources):
        match directive:
            case Compound("modeh" | "modeb" | "mode" as kind, args) if args and isinstance(args[-1], Compound):
                atom = args[-1]
                symbol = Symbol(atom.functor, len(atom.args))
                modes.setdefault(symbol, set()).add(tuple(_mode(source, arg) for arg in atom.args))
                heads += [symbol] if kind == "modeh" else []
            case Compound("determination", (_, Compound("/", (Name(name), Name(arity))))):
                if not is_count(arity):
                    raise source.error("determination(p/2, q/1)")
                determined.add(Symbol(name, int(arity)))
            case _:
                continue  # other directives are for Prolog or for the search of Aleph
    if len({*heads}) != 1:
        raise DataError(f"expected modeh of one predicate, got {len({*heads})}", path)
    target = heads[0]
    body = tuple(s for s in modes if s != target and (not determined or s in determined))
    single = {s: next(iter(found)) for s, found in modes.items() if len(found) == 1}
    types = {s: tuple(kind for _, kind in mode) for s, mode in single.items()}
    ways = {s: tuple(MARKS[mark] for mark, _ in mode) for s, mode in single.items()}
    names_entities = any(mark == "#" for mode in single.values() for mark, _ in mode)
    return (
        Bias(
            body=body,
            recursion=target in determined,
            invention=False,
            tests=names_entities,
            types=types if len(types) == len(modes) else {},
            directions=ways,
        ),
        target,
    )


def _directives(sources: Sequence[Source]) -> Iterator[tuple[Source, Term]]:
    for source in sources:
        match source.term:
            case Compound(":-", (directive,)):
                yield source, directive


def _mode(source: Source, term: Term) -> tuple[str, str]:
    match term:
        case Compound(mark, (Name(kind),)) if mark in MARKS:
            return mark, kind
    raise source.error("arguments such as +type, -type or #type in a mode")
