"""bias.pl of Popper: every line is respected; a line that is not supported is an error."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Term, conjuncts, is_number
from .bias import Bias
from .clause import Symbol
from .source import Source, read_source

SWITCHES = {"enable_recursion": "recursion", "enable_pi": "invention", "allow_singletons": "", "non_datalog": ""}
"""Lines without arguments, and what they allow; clauses may have singletons anyway."""
NUMBERS = ("max_vars", "max_body", "max_clauses")


@dataclass
class _Lines:
    """The content of the lines of a bias file read so far."""

    heads: list[Symbol] = field(default_factory=list)
    body: list[Symbol] = field(default_factory=list)
    bounds: dict[str, int] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    types: dict[Symbol, tuple[str, ...]] = field(default_factory=dict)
    directions: dict[Symbol, tuple[str, ...]] = field(default_factory=dict)


def read_bias(path: Path) -> tuple[Bias, Symbol]:
    """Return the bias of a file and the predicate to learn."""
    lines = _Lines()
    for source in read_source(path):
        _read(source, lines)
    if len(lines.heads) != 1:
        raise DataError(f"expected one head_pred(p, arity), got {len(lines.heads)}", path)
    target = lines.heads[0]
    every = [target, *lines.body]
    if any(symbol == target for symbol in lines.body):
        lines.allowed.add("recursion")
    untyped = [symbol for symbol in every if symbol not in lines.types]
    if lines.types and untyped:  # as in Popper, where one missing type line would disable all others
        raise DataError(f"expected type lines for all predicates or for none, got none for {untyped[0]}", path)
    for symbol in lines.directions:
        if symbol not in every:
            raise DataError(f"direction of {symbol}: no head_pred or body_pred names it", path)
    bias = Bias(
        body=tuple(dict.fromkeys(lines.body)),
        recursion="recursion" in lines.allowed,
        invention="invention" in lines.allowed,
        tests=False,
        types=lines.types,
        directions={symbol: _inputs(words) for symbol, words in lines.directions.items()},
        **lines.bounds,
    )
    return bias, target


def _inputs(words: tuple[str, ...]) -> tuple[bool, ...]:
    return tuple(word == "in" for word in words)


def _read(source: Source, lines: _Lines) -> None:
    match source.term:
        case Name(word) if word in SWITCHES:
            lines.allowed.add(SWITCHES[word])
        case Compound("head_pred" | "body_pred" as kind, (Name(name), Name(arity))) if is_number(arity):
            (lines.heads if kind == "head_pred" else lines.body).append(Symbol(name, int(arity)))
        case Compound(word, (Name(value),)) if word in NUMBERS and is_number(value):
            lines.bounds[word] = int(value)
        case Compound("type", (Name(name), kinds)):
            words = _words(source, kinds)
            lines.types[Symbol(name, len(words))] = words
        case Compound("direction", (Name(name), ways)):
            words = _words(source, ways)
            lines.directions[Symbol(name, len(words))] = words
        case _:
            raise source.error(
                "head_pred, body_pred, max_vars, max_body, max_clauses, type, direction, enable_recursion or enable_pi"
            )


def _words(source: Source, term: Term) -> tuple[str, ...]:
    found = conjuncts(term)
    if not all(isinstance(word, Name) for word in found):
        raise source.error("names in parentheses, as in type(p, (a, b))")
    return tuple(word.text for word in found if isinstance(word, Name))
