"""bias.pl of Popper: every line is respected; a line that is not supported is an error."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Source, Term, Variable, conjuncts, is_count
from .bias import Bias
from .clause import Symbol
from .source import read_source

SWITCHES = {"enable_recursion": "recursion", "enable_pi": "invention", "allow_singletons": "", "non_datalog": ""}
"""Lines without arguments, and what they allow; clauses may have singletons anyway."""
NUMBERS = ("max_vars", "max_body", "max_clauses")


Binding = dict[str, Term]
"""Terms by the name of a variable."""


@dataclass
class _Declarations:
    """The content of the lines of a bias file read so far."""

    heads: list[Symbol] = field(default_factory=list)
    body: list[Symbol] = field(default_factory=list)
    bounds: dict[str, int] = field(default_factory=dict)
    allowed: set[str] = field(default_factory=set)
    types: dict[Symbol, tuple[str, ...]] = field(default_factory=dict)
    directions: dict[Symbol, tuple[str, ...]] = field(default_factory=dict)


def read_bias(path: Path) -> tuple[Bias, Symbol]:
    """Return the bias of a file and the predicate to learn."""
    lines = _Declarations()
    sources = list(read_source(path))
    facts = [source.term for source in sources]
    for source in sources:
        for line in _instances(source, facts):
            _read(line, lines)
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


def _instances(source: Source, facts: Sequence[Term]) -> Iterator[Source]:
    """Yield the line itself, or what a rule such as body_pred(P, 1) :- constant(P, _) says with these `facts`."""
    match source.term:
        case Compound(":-", (head, body)):
            found: list[Binding] = [{}]
            for goal in conjuncts(body):
                found = [
                    more for values in found for fact in facts if (more := _matched(goal, fact, values)) is not None
                ]
            if not found:
                raise source.error("a rule whose conditions are lines of this file")
            yield from (replace(source, term=_filled(head, values)) for values in found)
        case _:
            yield source


def _matched(pattern: Term, fact: Term, values: Binding) -> Binding | None:
    """Return the `values` of variables with which the `pattern` is the `fact`; None if there are none."""
    if isinstance(pattern, Variable):
        return {**values, pattern.name: fact} if values.get(pattern.name, fact) == fact else None
    if not isinstance(pattern, Compound) or not isinstance(fact, Compound):
        return values if pattern == fact else None
    if (pattern.functor, len(pattern.args)) != (fact.functor, len(fact.args)):
        return None
    found: Binding | None = values
    for one, other in zip(pattern.args, fact.args):
        found = None if found is None else _matched(one, other, found)
    return found


def _filled(term: Term, values: Binding) -> Term:
    if isinstance(term, Variable):
        return values.get(term.name, term)
    return Compound(term.functor, tuple(_filled(a, values) for a in term.args)) if isinstance(term, Compound) else term


def _inputs(words: tuple[str, ...]) -> tuple[bool, ...]:
    return tuple(word == "in" for word in words)


def _read(source: Source, lines: _Declarations) -> None:
    match source.term:
        case Compound("constant", _) | Compound(":-", (Compound("dynamic" | "discontiguous" | "style_check"),)):
            return  # names for the rules of this file, and what Prolog is told
        case Name(word) if word in SWITCHES:
            lines.allowed.add(SWITCHES[word])
        case Compound("head_pred" | "body_pred" as kind, (Name(name), Name(arity))) if is_count(arity):
            (lines.heads if kind == "head_pred" else lines.body).append(Symbol(name, int(arity)))
        case Compound(word, (Name(value),)) if word in NUMBERS and is_count(value):
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
