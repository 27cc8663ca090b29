"""Prolog terms: lists, numbers, operators and clauses as values, and the text of a value.

Rules of nlil have a grammar of their own (syntax.py); this one reads what other systems write: background clauses,
examples with lists, bias files. A clause is a term too: `a :- b, c.` is ':-'(a, ','(b, c)).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from .text import atom_text
from .tokens import TERMS, Fault, Token, tokenize, unclosed

LIST, EMPTY = "[|]", "[]"
INFIX = {
    ":-": (1200, 1199, 1199), "-->": (1200, 1199, 1199), "::": (1150, 1149, 1149), ";": (1100, 1099, 1100),
    "->": (1050, 1049, 1050), ",": (1000, 999, 1000),
    **dict.fromkeys(
        ("=", "\\=", "==", "\\==", "<", ">", "=<", ">=", "=:=", "=\\=", "is", "=..", "@<", "@>", "@=<", "@>=", "!="),
        (700, 699, 699),
    ),
    ":": (200, 199, 200), **dict.fromkeys(("+", "-"), (500, 500, 499)),
    **dict.fromkeys(("*", "/", "//", "mod", "rem", "div"), (400, 400, 399)),
    "**": (200, 199, 199), "^": (200, 199, 200),
}  # fmt: skip
"""Operator -> its priority, and the largest priority of its left and its right side."""
PREFIX = {":-": 1199, "\\+": 900, "not": 900, "-": 200, "+": 200, "#": 200, "dynamic": 1150, "discontiguous": 1150}
MAX_DEPTH = 200
"""Limit of nested terms; the parser is recursive."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A variable by `name`; every `_` gets a name of its own."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class Name:
    """An atom, a number or a string: its `text` without quotes."""

    text: str

    def __str__(self) -> str:
        return self.text if is_number(self.text) or self.text == EMPTY else atom_text(self.text)


@dataclass(frozen=True, slots=True)
class Compound:
    """functor(args)."""

    functor: str
    args: tuple[Term, ...]

    def __str__(self) -> str:
        if self.functor == LIST:
            return _list_text(self)
        if len(self.args) == 2 and self.functor in INFIX:
            left, right = (f"({a})" if _is_infix(a) else str(a) for a in self.args)
            return f"({left}, {right})" if self.functor == "," else f"{left} {self.functor} {right}"
        if len(self.args) == 1 and self.functor in PREFIX:
            return f"{self.functor} ({self.args[0]})"
        return f"{atom_text(self.functor)}({', '.join(map(str, self.args))})"


Term = Variable | Name | Compound


def _is_infix(term: Term) -> bool:
    return isinstance(term, Compound) and len(term.args) == 2 and term.functor in INFIX and term.functor != ","


def _list_text(term: Term) -> str:
    items = []
    while isinstance(term, Compound) and term.functor == LIST:
        items.append(str(term.args[0]))
        term = term.args[1]
    rest = "" if term == Name(EMPTY) else f"|{term}"
    return f"[{', '.join(items)}{rest}]"


_NUMBER = re.compile(r"[+-]?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")


def is_number(text: str) -> bool:
    """Return whether `text` is a number."""
    return _NUMBER.fullmatch(text) is not None


def is_count(text: str) -> bool:
    """Return whether `text` is a whole number of at most nine digits, as arities and bounds are."""
    return text.isdecimal() and len(text) < 10


def is_ground(term: Term) -> bool:
    """Return whether `term` has no variables."""
    return not variables(term)


def variables(term: Term) -> dict[str, None]:
    """Return the names of the variables of `term`, in the order of their first occurrences."""
    found: dict[str, None] = {}
    waiting = [term]
    while waiting:  # not recursive: a list of n items is nested n deep
        match waiting.pop():
            case Variable(name):
                found[name] = None
            case Compound(_, args):
                waiting += reversed(args)
            case _:
                continue
    return found


def conjuncts(term: Term) -> list[Term]:
    """Return the items of a conjunction `term`: a, b, c."""
    if isinstance(term, Compound) and term.functor == "," and len(term.args) == 2:
        return [*conjuncts(term.args[0]), *conjuncts(term.args[1])]
    return [term]


@dataclass(frozen=True)
class Source:
    """A clause as a `term`, with its `text` and its place: the `line` that it begins on, and the `path` of its file."""

    term: Term
    text: str
    line: int
    path: Path | None = None

    def error(self, expected: str) -> DataError:
        """Return the error that something else was `expected`."""
        return DataError(f"expected {expected}, got {self.text!r}", self.path, self.line)


def read_clauses(text: str, path: Path | None = None) -> Iterator[Source]:
    """Yield every clause of `text`, which is that of the file at `path`, each ended by a dot. Raises Fault."""
    reader = _Reader(text)
    line, seen = 1, 0
    while reader.token.kind != "end":
        begin = reader.token.offset
        term = reader.term(1200)
        if not reader.is_mark("."):
            raise Fault(f"expected '.' at the end of a clause, got {reader.token.shown}", reader.token.offset)
        end = reader.token.offset
        line += text.count("\n", seen, begin)
        seen = begin
        reader.advance()
        yield Source(term, " ".join(text[begin:end].split()), line, path)


def read_term(text: str) -> Term:
    """Parse `text` as one term, without a dot at its end. Raises Fault."""
    reader = _Reader(text)
    term = reader.term(1200)
    if reader.token.kind != "end":
        raise Fault(f"expected one term, got {reader.token.shown} after it", reader.token.offset)
    return term


def _tokens(text: str) -> Iterator[Token]:
    for token in tokenize(text, TERMS):
        if token.kind == "open":
            raise unclosed(text, token.offset)
        if token.kind == "other":
            raise Fault(f"unexpected character {token.text!r}", token.offset)
        yield token


class _Reader:
    """Reads terms by operator precedence."""

    def __init__(self, text: str) -> None:
        self._tokens = _tokens(text)
        self._depth = self._anonymous = 0
        self.token = next(self._tokens)

    def advance(self) -> Token:
        before, self.token = self.token, next(self._tokens, self.token)
        return before

    def is_mark(self, *marks: str) -> bool:
        return self.token.is_mark(*marks)

    def _expect(self, mark: str) -> None:
        if not self.is_mark(mark):
            raise Fault(f"expected {mark!r}, got {self.token.shown}", self.token.offset)
        self.advance()

    def term(self, most: int) -> Term:
        """Read a term of at most this priority."""
        outside = self._depth
        self._deeper()
        left, priority = self._primary(most)
        while (infix := self._infix()) is not None:
            of, most_left, most_right = INFIX[infix]
            if of > most or priority > most_left:
                break
            self.advance()
            if infix == "," and self.is_mark(")"):  # (a,) is a tuple of one in the bias files of Popper
                break
            self._deeper()  # a - b - c is nested on the left
            left, priority = Compound(infix, (left, self.term(most_right))), of
        self._depth = outside
        return left

    def _deeper(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise Fault(f"terms are nested more than {MAX_DEPTH} deep", self.token.offset)

    def _infix(self) -> str | None:
        text = self.token.text
        is_operator = self.token.kind in ("symbol", "name") or self.is_mark(",", ";")
        return text if is_operator and text in INFIX else None

    def _primary(self, most: int) -> tuple[Term, int]:
        token = self.advance()
        match token.kind, token.text:
            case "variable", "_":
                self._anonymous += 1
                return Variable(f"_{self._anonymous}"), 0
            case "variable", name:
                return Variable(name), 0
            case "number", text:
                return Name(text), 0
            case "mark", "(":
                inner = self.term(1200)
                self._expect(")")
                return inner, 0
            case "mark", "[":
                return self._list(), 0
            case "mark", "!":
                return Name("!"), 0
            case "name" | "symbol", text:
                return self._named(token, most)
        raise Fault(f"expected a term, got {token.shown}", token.offset)

    def _named(self, token: Token, most: int) -> tuple[Term, int]:
        text = token.text
        if self.is_mark("(") and not self.token.follows_space:
            self.advance()
            args = [self.term(999)]
            while self.is_mark(","):
                self.advance()
                args.append(self.term(999))
            self._expect(")")
            return Compound(text, tuple(args)), 0
        if self.is_mark("{"):  # count{V : p(V)}, as answer set programs write aggregates
            self.advance()
            inner = self.term(1200)
            self._expect("}")
            return Compound("{}", (Name(text), inner)), 0
        if text in "+-" and self.token.kind == "number" and not self.token.follows_space:
            return Name(("-" if text == "-" else "") + self.advance().text), 0
        if text in PREFIX and not self._ends():
            priority = min(PREFIX[text], most)
            return Compound(text, (self.term(priority),)), priority
        if token.kind == "symbol" and text not in INFIX:
            raise Fault(f"unexpected {text!r}", token.offset)
        return Name(text), 0

    def _ends(self) -> bool:
        """Whether the next token cannot begin a term, so that an operator stands for itself."""
        return self.token.kind == "end" or self.is_mark(")", "]", ",", "|", ".") or self._infix() is not None

    def _list(self) -> Term:
        if self.is_mark("]"):
            self.advance()
            return Name(EMPTY)
        items = [self.term(999)]
        while self.is_mark(","):
            self.advance()
            items.append(self.term(999))
        rest: Term = Name(EMPTY)
        if self.is_mark("|"):
            self.advance()
            rest = self.term(999)
        self._expect("]")
        for item in reversed(items):
            rest = Compound(LIST, (item, rest))
        return rest
