"""From tokens to a syntax tree: the grammar, before bodies are interpreted.

clause       head.    head :- disjunction.    (`<=` and `<-` are accepted instead of `:-`)
denial       :- disjunction.    (only in programs)
disjunction  conjunction ; conjunction ; ...
conjunction  item, item, ...
item         p(t) | p(t, t) | t = t | V \\= V | true | \\+ item | ( disjunction )

`offset` is always the position of the first character in the text, from 0; `body` is a disjunction of conjunctions.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from .formula import ANY, Anchor, Constant, Variable, X, Y
from .predicate import Predicate
from .rule import Head
from .tokens import Fault, Token, tokenize, unclosed

MAX_DEPTH = 100
"""Limit of nested parentheses and negations; the parser is recursive."""


@dataclass(frozen=True, slots=True)
class Term:
    """A variable or a name. Terms are equal if they mean the same, wherever they occur.

    `text` is the name without quotes; `anchor` is X or Y for head variables, else ANY.
    """

    text: str
    anchor: Anchor
    offset: int = field(compare=False)

    @property
    def is_variable(self) -> bool:
        """Whether it is a variable, of the head or of the body."""
        return not isinstance(self.anchor, Constant)

    @property
    def shown(self) -> str:
        """The term as messages show it."""
        return self.text.partition(" ")[0] if self.is_variable else repr(self.text)


@dataclass(frozen=True, slots=True)
class Atom:
    """p(t) or p(t, t): a `predicate` and its `terms`."""

    predicate: Predicate
    terms: tuple[Term, ...]
    offset: int


@dataclass(frozen=True, slots=True)
class Equation:
    """t = t, two `terms`."""

    terms: tuple[Term, Term]
    offset: int


@dataclass(frozen=True, slots=True)
class Inequality:
    """V \\= V, two `terms`."""

    terms: tuple[Term, Term]
    offset: int


@dataclass(frozen=True, slots=True)
class TrueMark:
    """true."""

    offset: int


@dataclass(frozen=True, slots=True)
class Negation:
    """\\+ ( disjunction )."""

    body: Disjunction
    offset: int


@dataclass(frozen=True, slots=True)
class Group:
    """( disjunction )."""

    body: Disjunction
    offset: int


Literal = Atom | Equation
Item = Literal | Inequality | TrueMark | Negation | Group
Conjunction = tuple[Item, ...]
Disjunction = tuple[Conjunction, ...]


@dataclass(frozen=True, slots=True)
class Clause:
    """A rule; `names` are the head variables as written (A, B in p(A, B)), "" for a constant."""

    head: Head
    body: Disjunction
    offset: int
    names: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Denial:
    """A clause without a head: its body never holds."""

    body: Disjunction
    offset: int


def read_program(text: str, denials: bool = True) -> list[Clause | Denial]:
    """Parse every clause of `text`, and with `denials` every denial; the last dot may be missing."""
    reader = _Reader(text)
    found: list[Clause | Denial] = []
    while not reader.at_end:
        found.append((reader.denial() if denials else None) or reader.clause())
    return found


def head_of(atom: Atom) -> tuple[Head, dict[str, Anchor]]:
    """Return the head that `atom` denotes, and which of its variables is X and which is Y.

    p(A, B) becomes p(X, Y), whatever its variables are called.
    """
    anchors: dict[str, Anchor] = {}
    arguments: list[Variable | Constant] = []
    for term, variable in zip(atom.terms, (X, Y)):
        if term.text in anchors and term.is_variable:
            raise Fault(f"{term.shown} occurs twice in the head; use two variables", term.offset)
        if term.is_variable:
            anchors[term.text] = variable
        arguments.append(term.anchor if isinstance(term.anchor, Constant) else variable)
    if not anchors:
        raise Fault("the head needs a variable, as in p(X), p(X, Y), p(X, c) or p(c, Y)", atom.offset)
    return Head(atom.predicate, tuple(arguments)), anchors


def _known_tokens(text: str) -> Iterator[Token]:
    """Yield the tokens of `text` as they are needed; one that no rule contains raises Fault."""
    for token in tokenize(text):
        if token.kind == "open":
            raise unclosed(text, token.offset)
        if token.kind == "other":
            hint = "quote names that hold it, as in '/film/genre'"
            raise Fault(f"unexpected character {token.text!r}; {hint}", token.offset)
        yield token


class _Reader:
    """A recursive-descent parser: each method parses one construct and advances past it.

    Tokens are read one ahead at most, so an error early in a long text is found early.
    """

    def __init__(self, text: str) -> None:
        self._rest = _known_tokens(text)
        self._next = next(self._rest)
        self._following: Token | None = None
        self._depth = 0
        self._anchors: Mapping[str, Anchor] = {}

    @property
    def _after(self) -> Token:
        if self._following is None:
            self._following = next(self._rest, self._next)
        return self._following

    @property
    def at_end(self) -> bool:
        return self._next.kind == "end"

    def _take(self) -> Token:
        token = self._next
        self._next, self._following = self._after, None
        return token

    def _accept(self, *marks: str) -> bool:
        found = self._next.is_mark(*marks)
        if found:
            self._take()
        return found

    def _fault(self, expected: str) -> Fault:
        return Fault(f"expected {expected}, got {self._next.shown}", self._next.offset)

    def clause(self) -> Clause:
        """Parse head :- body. A missing body is true."""
        start = self._next
        if start.kind != "name":
            raise self._fault("a rule such as p(X, Y) :- q(X, Y)")
        self._anchors = {}
        atom = self._atom()
        head, self._anchors = head_of(atom)
        body: Disjunction = ((TrueMark(start.offset),),)
        follows = "':-' or '.' after the head"
        if self._accept(":-", "<=", "<-"):
            body = self._disjunction()
            follows = "',', ';' or '.' after an atom of the body"
        self._end(follows)
        return Clause(head, body, start.offset, tuple(term.text if term.is_variable else "" for term in atom.terms))

    def denial(self) -> Denial | None:
        """Parse :- body; return None if something else follows."""
        offset, self._anchors = self._next.offset, {}
        if not self._accept(":-"):
            return None
        body = self._disjunction()
        self._end("',' or '.' after an atom of a denial")
        return Denial(body, offset)

    def _end(self, follows: str) -> None:
        if not (self.at_end or self._accept(".")):
            raise self._fault(follows)

    def _disjunction(self) -> Disjunction:
        branches = [self._conjunction()]
        while self._accept(";"):
            branches.append(self._conjunction())
        return tuple(branches)

    def _conjunction(self) -> Conjunction:
        items = [self._item()]
        while self._accept(","):
            items.append(self._item())
        return tuple(items)

    def _item(self) -> Item:
        token = self._next
        if token.is_mark("(", "\\+"):
            return self._nested()
        if token.kind == "name" and self._after.is_mark("("):
            return self._atom()
        if (token.kind, token.text) == ("name", "true") and not self._after.is_mark("=", "\\="):
            return TrueMark(self._take().offset)
        if token.kind in ("name", "variable"):
            return self._comparison()
        raise self._fault("an atom such as p(X, Z1)")

    def _nested(self) -> Negation | Group:
        """Parse \\+ item, or ( disjunction )."""
        opening = self._take()
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Fault(f"more than {MAX_DEPTH} nested parentheses and negations", opening.offset)
        item: Negation | Group
        if opening.text == "(":
            item = Group(self._disjunction(), opening.offset)
            if not self._accept(")"):
                raise self._fault(f"',', ';' or the ')' for the '(' of column {opening.offset + 1}")
        else:
            argument = self._item()
            body = argument.body if isinstance(argument, Group) else ((argument,),)
            item = Negation(body, opening.offset)
        self._depth -= 1
        return item

    def _atom(self) -> Atom:
        name = self._take()
        if not self._accept("("):
            raise self._fault(f"'(' after the predicate {name.text!r}")
        terms = [self._term()]
        while self._accept(","):
            terms.append(self._term())
        if not self._accept(")"):
            raise self._fault("',' or ')' after an argument")
        match terms:
            case [_]:
                return Atom(Predicate(name.text, 1), tuple(terms), name.offset)
            case [_, _]:
                return Atom(Predicate(name.text, 2), tuple(terms), name.offset)
        raise Fault(f"the predicate {name.text!r} takes one or two arguments, got {len(terms)}", name.offset)

    def _term(self) -> Term:
        token = self._next
        if token.kind not in ("name", "variable"):
            raise self._fault("a variable or a name")
        self._take()
        # Each `_` is a new variable. A name with a space cannot clash with another variable.
        text = f"_ {token.offset}" if token.kind == "variable" and token.text == "_" else token.text
        anchor = self._anchors.get(text, ANY) if token.kind == "variable" else Constant(text)
        return Term(text, anchor, token.offset)

    def _comparison(self) -> Equation | Inequality:
        left, mark = self._term(), self._next
        if not self._accept("=", "\\="):
            raise self._fault(f"'(', '=' or '\\=' after {left.shown}")
        kind = Equation if mark.text == "=" else Inequality
        return kind((left, self._term()), left.offset)
