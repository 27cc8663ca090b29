"""A query as a person types it, `uncle(alice, ?)`: names as in the data, quoted only where necessary.

Unlike a rule, a query has no variables, so `Uncle(Alice, ?)` and `/film/genre(/m/01, ?)` need no quotes.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from ..errors import RuleSyntaxError
from .predicate import Fact, Predicate
from .text import atom_text
from .tokens import QUOTED, Fault, unquote

_EXAMPLE = "write it as in uncle(alice, ?) or person(obj17)"
_NAME = re.compile(rf"\s*(?:(?P<quoted>{QUOTED})\s*|(?P<bare>[^(),]*))")
_CLOSE = re.compile(r"\)\s*\.?\s*\Z")


@dataclass(frozen=True, slots=True)
class Query:
    """P(a, ?) by name: the name of its `predicate`, and its `arguments`, where None stands for the answer."""

    predicate: str
    arguments: tuple[str | None, ...]

    @property
    def target(self) -> Predicate:
        """The predicate with its arity."""
        return Predicate(self.predicate, 1 if len(self.arguments) == 1 else 2)

    def __str__(self) -> str:
        inner = ", ".join("?" if a is None else atom_text(a) for a in self.arguments)
        return f"{atom_text(self.predicate)}({inner})"


def parse_query(text: str) -> Query:
    """Parse a query such as p(a, ?), p(?, b) or p(a) from `text`. Raises RuleSyntaxError.

    >>> parse_query("/film/genre(/m/01, ?)")
    Query(predicate='/film/genre', arguments=('/m/01', None))
    """
    try:
        return _query(text)
    except Fault as fault:
        raise RuleSyntaxError(f"{fault.message}; {_EXAMPLE}", text, fault.offset + 1) from None


def parse_fact(text: str) -> Fact:
    """Parse p(a) or p(a, b) from `text`, with names written as in a query. Raises RuleSyntaxError."""
    query = parse_query(text)
    known = tuple(a for a in query.arguments if a is not None)
    if len(known) != len(query.arguments):
        raise RuleSyntaxError(
            "expected a fact without '?', as in uncle(alice, bob) or person(obj17)", text, text.rindex("?") + 1
        )
    return Fact(query.target, known)


def _query(text: str) -> Query:
    predicate, offset = _name(text, 0, "the name of a predicate")
    if predicate is None:
        raise Fault("expected the name of a predicate, got '?'", 0)
    if text[offset : offset + 1] != "(":
        raise Fault(f"expected '(' after {predicate!r}, got {_shown(text, offset)}", offset)
    arguments: list[str | None] = []
    while not arguments or text[offset : offset + 1] == ",":
        argument, offset = _name(text, offset + 1, "a name or '?'")
        arguments.append(argument)
    if text[offset : offset + 1] != ")":
        raise Fault(f"expected ',' or ')', got {_shown(text, offset)}", offset)
    if not _CLOSE.match(text, offset):
        raise Fault(f"expected nothing after ')', got {text[offset + 1 :].strip()!r}", offset + 1)
    if len(arguments) > 2:
        raise Fault(f"the predicate {predicate!r} takes one or two arguments, got {len(arguments)}", offset)
    return Query(predicate, tuple(arguments))


def _name(text: str, offset: int, expected: str) -> tuple[str | None, int]:
    """Return the name at the offset (None for `?`), and the offset after it."""
    found = _NAME.match(text, offset)
    assert found is not None, "a bare name may be empty"
    kind = found.lastgroup or ""
    name, begin = found[kind], found.start(kind)
    if kind == "quoted":
        return unquote(name, begin), found.end()
    if name.startswith("'"):
        raise Fault("the quoted name that begins here is not closed", begin)
    if not name.strip():
        raise Fault(f"expected {expected}, got {_shown(text, begin)}", begin)
    return None if name.strip() == "?" else name.strip(), found.end()


def _shown(text: str, offset: int) -> str:
    return repr(text[offset]) if offset < len(text) else "the end"
