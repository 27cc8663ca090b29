"""bias.pl of Popper: every line is respected; a line that is not supported is an error."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from ..errors import DataError
from ..logic.terms import Compound, Name, Source, Term, Variable, conjuncts, is_count
from .bias import Bias, Range
from .clause import Symbol
from .source import read_source

SWITCHES = {"enable_recursion": "recursion", "enable_pi": "invention", "allow_singletons": "", "non_datalog": ""}
"""Lines without arguments, and what they allow; clauses may have singletons anyway."""
NUMBERS = ("max_vars", "max_body", "max_clauses")


COUNTS: Mapping[str, Callable[[int], Range]] = {
    "!=": lambda n: (n, n),
    "<": lambda n: (n, NO_LIMIT),
    "=<": lambda n: (n + 1, NO_LIMIT),
    "<=": lambda n: (n + 1, NO_LIMIT),
    ">": lambda n: (0, n),
    ">=": lambda n: (0, n - 1),
}  # fmt: skip
"""What a constraint that forbids `count OP n` allows."""
NO_LIMIT = 1_000_000
"""More variables than any clause has."""

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
    typed_vars: dict[str, Range] = field(default_factory=dict)
    once: set[str] = field(default_factory=set)
    in_body: list[tuple[int, Source]] = field(default_factory=list)


def read_bias(path: Path) -> tuple[Bias, Symbol, tuple[str, ...]]:
    """Return the bias of a file, the predicate to learn, and notes on lines that make no difference."""
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
    for variable, source in lines.in_body:
        if variable >= target.arity:  # a body has all variables of the head in any case
            raise source.error(f"the number of a variable of {target}, below {target.arity}")
    unused = [symbol for symbol in {**lines.types, **lines.directions} if symbol not in every]
    for symbol in unused:
        if near := [other for other in every if other.name == symbol.name]:
            raise DataError(
                f"type or direction of {symbol}: expected {near[0].arity} arguments, as {near[0]} has", path
            )
    notes = [f"type and direction of {symbol}: no head_pred or body_pred names it" for symbol in unused]
    bias = Bias(
        body=tuple(dict.fromkeys(lines.body)),
        recursion="recursion" in lines.allowed,
        invention="invention" in lines.allowed,
        tests=False,
        types=lines.types,
        directions={symbol: _inputs(words) for symbol, words in lines.directions.items()},
        typed_vars=lines.typed_vars,
        once=frozenset(lines.once),
        **lines.bounds,
    )
    return bias, target, tuple(notes)


def _instances(source: Source, facts: Sequence[Term]) -> Iterator[Source]:
    """Yield the line itself, or what a rule such as body_pred(P, 1) :- constant(P, _) says with these `facts`."""
    match source.term:
        case Compound(":-", (head, body)):
            for values in _bindings(source, conjuncts(body), facts):
                yield replace(source, term=_filled(head, values))
        case Compound(":-", (body,)):  # a constraint on clauses, for some lines of this file
            *conditions, last = conjuncts(body)
            for values in _bindings(source, [c for c in conditions if not _is_any_clause(c)], facts):
                yield replace(source, term=Compound(":-", (_filled(last, values),)))
        case _:
            yield source


def _bindings(source: Source, conditions: Sequence[Term], facts: Sequence[Term]) -> list[Binding]:
    """Return the values of variables with which all `conditions` of a line are `facts`."""
    found: list[Binding] = [{}]
    for goal in conditions:
        found = [more for values in found for fact in facts if (more := _matched(goal, fact, values)) is not None]
    if not found:
        raise source.error("conditions that are lines of this file")
    return found


def _is_any_clause(goal: Term) -> bool:
    return isinstance(goal, Compound) and goal.functor == "clause" and isinstance(goal.args[0], Variable)


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
        case Compound("constant" | "only_once", _) | Compound(
            ":-", (Compound("dynamic" | "discontiguous" | "style_check"),)
        ):
            return  # names for the rules and constraints of this file, and what Prolog is told
        case Compound(":-", (Compound(compared, (Compound("#", (Compound("{}", counted),)), Name(number))),)) if (
            compared in COUNTS and is_count(number)
        ):
            _read_count(source, counted, COUNTS[compared](int(number)), lines)
        case Compound(":-", (Compound("not", (Compound("body_var", (_, Name(number))),)),)) if is_count(number):
            lines.in_body.append((int(number), source))
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
                "head_pred, body_pred, max_vars, max_body, max_clauses, type, direction, enable_recursion, enable_pi, "
                "or a constraint such as :- clause(C), #count{V : var_type(C, V, t)} != 1"
            )


def _read_count(source: Source, counted: tuple[Term, ...], allowed: Range, lines: _Declarations) -> None:
    """Read the `allowed` number of what is `counted`: the word and the items of #count{V : var_type(C, V, ex)}."""
    match counted:
        case (Name("count"), items):
            first, *more = conjuncts(items)
        case _:
            raise source.error("#count{...}")
    match (first, *more):
        case (Compound(":", (Variable(one), Compound("var_type", (_, Variable(two), Name(kind))))),) | (
            Compound(":", (Variable(one), Compound("clause_var", (_, Variable(_))))),
            Compound("var_type", (_, Variable(two), Name(kind))),
        ) if one == two:
            least, most = lines.typed_vars.get(kind, (0, NO_LIMIT))
            lines.typed_vars[kind] = max(least, allowed[0]), min(most, allowed[1])
        case (Compound(":", (Variable(), Compound("body_literal", (_, Name(name), *_)))),) if allowed == (0, 1):
            lines.once.add(name)
        case _:
            raise source.error("#count{V : var_type(C, V, type)} or #count{Vars : body_literal(C, p, A, Vars)} > 1")


def _words(source: Source, term: Term) -> tuple[str, ...]:
    found = conjuncts(term)
    if not all(isinstance(word, Name) for word in found):
        raise source.error("names in parentheses, as in type(p, (a, b))")
    return tuple(word.text for word in found if isinstance(word, Name))
