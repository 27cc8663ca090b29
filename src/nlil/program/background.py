"""Background clauses: the facts that they derive.

Datalog clauses, with negation and comparisons, are evaluated by our own fixpoint. All others need SWI-Prolog
(prolog.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..errors import DataError, NlilError
from ..logic.terms import Compound, Name, Source, Term, Variable, conjuncts, is_ground
from .base import Base, BaseBuilder, Tuples
from .clause import AT_LEAST, AT_MOST, DIFFERENT, EQUAL, LESS, MORE, Clause, Literal, Symbol
from .fixpoint import derive
from .source import GroundAtom, atom_of, symbol_of

TESTS = {
    "=": EQUAL, "==": EQUAL, "=:=": EQUAL, "\\=": DIFFERENT, "\\==": DIFFERENT, "=\\=": DIFFERENT,
    "<": LESS, "=<": AT_MOST, ">=": AT_LEAST, ">": MORE,
}  # fmt: skip


class NotDatalog(Exception):
    """A clause that our fixpoint cannot evaluate: it has compound terms, arithmetic, cut or an unsafe variable."""


def split(sources: Sequence[Source]) -> tuple[list[GroundAtom], list[Source]]:
    """Return the ground facts, and the other clauses; directives are left out."""
    facts: list[GroundAtom] = []
    clauses: list[Source] = []
    for source in sources:
        match source.term:
            case Compound(":-", (_,)):
                continue
            case Compound(":-", (_, _)):
                clauses.append(source)
            case Compound("-->", _):
                raise source.error("a fact or a clause head :- body")
            case term:
                atom = atom_of(term)
                if atom is not None:
                    facts.append(atom)
                elif symbol_of(term) is not None:
                    clauses.append(source)
                else:
                    raise source.error("a fact p(a, b) or a clause")
    return facts, clauses


def not_datalog(facts: Sequence[GroundAtom], sources: Sequence[Source]) -> Source | None:
    """Return the first clause that our fixpoint cannot evaluate with these `facts`, or None.

    A predicate without facts and clauses is assumed to be a built-in of Prolog.
    """
    known = {symbol for symbol, _ in facts} | {*TESTS.values()}
    known |= {s for source in sources if (s := symbol_of(_head(source.term))) is not None}
    for source in sources:
        try:
            clauses = list(_clauses(source.term, _Arguments()))
        except NotDatalog:
            return source
        if any(literal.symbol not in known for clause in clauses for literal in clause.body):
            return source
    return None


def _head(term: Term) -> Term:
    return term.args[0] if isinstance(term, Compound) and term.functor == ":-" else term


def evaluated(facts: Sequence[GroundAtom], sources: Sequence[Source]) -> list[GroundAtom]:
    """Return the `facts` and everything that the clauses, which must be Datalog, derive from them."""
    if not sources:
        return list(facts)
    builder = BaseBuilder()
    for symbol, args in facts:
        builder.add(symbol, args)
    names = _Arguments(builder)
    clauses = [clause for source in sources for clause in _clauses(source.term, names)]
    base = builder.finish({})
    try:
        found = derive(base, clauses)
    except NlilError as error:
        raise DataError(f"background clauses: {error}", sources[0].path) from error
    others = [(symbol, args) for symbol, args in facts if symbol not in found]
    return [*others, *_named(base, found)]


def _named(base: Base, found: Mapping[Symbol, Tuples]) -> Iterator[GroundAtom]:
    for symbol in sorted(found):
        for row in found[symbol].tolist():
            yield symbol, tuple(base.names[i] for i in row)


class _Arguments:
    """Turns the terms of one clause into arguments; without a builder it only checks."""

    def __init__(self, builder: BaseBuilder | None = None) -> None:
        self._builder = builder
        self._variables: dict[str, int] = {}

    def begin(self) -> None:
        self._variables = {}

    @property
    def known(self) -> int:
        return len(self._variables)

    def argument(self, term: Term) -> int:
        if isinstance(term, Variable):
            return self._variables.setdefault(term.name, len(self._variables))
        if not is_ground(term) or (isinstance(term, Compound) and term.functor in ("+", "-", "*", "/", "//", "mod")):
            raise NotDatalog
        return -1 if self._builder is None else ~self._builder.ids(Symbol("", 1), (str(term),))[0]


def _clauses(term: Term, names: _Arguments) -> Iterator[Clause]:
    """Yield a clause for each branch of the disjunctions in a body."""
    head, body = term.args if isinstance(term, Compound) and term.functor == ":-" else (term, Name("true"))
    for branch in _branches(body):
        names.begin()
        head_literal = _atom(head, names)
        literals = tuple(_literal(item, names) for item in branch if item != Name("true"))
        clause = Clause(head_literal, literals)
        _check_safe(clause)
        yield clause


def _branches(body: Term) -> Iterator[list[Term]]:
    if isinstance(body, Compound) and body.functor == ";":
        for branch in body.args:
            yield from _branches(branch)
        return
    found: list[list[Term]] = [[]]
    for item in conjuncts(body):
        if isinstance(item, Compound) and item.functor == ";":
            found = [[*before, *branch] for before in found for branch in _branches(item)]
        else:
            found = [[*before, item] for before in found]
    yield from found


def _literal(term: Term, names: _Arguments) -> Literal:
    match term:
        case Compound("\\+" | "not", (inner,)) if not (isinstance(inner, Compound) and inner.functor in TESTS):
            literal = _atom(inner, names)
            return Literal(literal.symbol, literal.args, True)
        case Compound(name, (left, right)) if name in TESTS:
            return Literal(TESTS[name], (names.argument(left), names.argument(right)))
        case _:
            return _atom(term, names)


def _atom(term: Term, names: _Arguments) -> Literal:
    symbol = symbol_of(term)
    if symbol is None or symbol.name in ("!", "is", "->", "findall", "fail", ",", ";", "=.."):
        raise NotDatalog
    args = term.args if isinstance(term, Compound) else ()
    return Literal(symbol, tuple(names.argument(a) for a in args))


def _check_safe(clause: Clause) -> None:
    """Raise NotDatalog if a variable of the head or of a test is not bound by an atom."""
    from .clause import BUILT_IN

    bound = {v for b in clause.body if not b.negated and b.symbol not in BUILT_IN for v in b.variables}
    wanted = {*clause.head.variables, *(v for b in clause.body if b.symbol in BUILT_IN for v in b.variables)}
    if not wanted <= bound:
        raise NotDatalog
