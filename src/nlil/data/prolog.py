"""Prolog facts: `p(a).`, `p(a, 'B c').`; also pos(...) and neg(...) of an examples file.

Comments (% and /* */) are ignored, directives (`:- ...`) passed over and counted. Anything else
that is no ground fact of one or two arguments is an error with its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from ..logic.tokens import QUOTED, Fault, unquote
from .builder import ROWS_PER_BATCH, Row, batch_of
from .columns import Batch
from .files import lines

TOKEN = re.compile(
    rf"""\s+ | %.* | (?P<open>/\*)
      | (?P<quoted>{QUOTED})
      | (?P<string>"(?:[^"\\]|""|\\.)*")
      | (?P<number>-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?(?!\w))
      | (?P<atom>[^\W\d_A-Z]\w*)
      | (?P<variable>[A-Z_]\w*)
      | (?P<end>\.(?=\s|%|$))
      | (?P<mark>:-|-->|[^\w\s'"%])""",
    re.VERBOSE,
)
CONSTANT_KINDS = ("atom", "quoted", "string", "number")


@dataclass(frozen=True, slots=True)
class Token:
    kind: str
    text: str
    line: int

    @property
    def name(self) -> str:
        """The name a constant stands for, quotes undone."""
        match self.kind:
            case "quoted":
                return unquote(self.text, 0)
            case "string":
                return re.sub(r'""|\\([\\"])', lambda m: m[1] or '"', self.text[1:-1])
        return self.text


def read_prolog(path: Path) -> Iterator[Batch]:
    """The facts of a .pl file (also .gz)."""
    for _, batch in _read(path, wrapped=False):
        yield batch


def read_examples(path: Path) -> Iterator[tuple[str, Batch]]:
    """('pos' | 'neg', facts) of an examples file: pos(p(a, b)). neg(p(a))."""
    yield from _read(path, wrapped=True)


def _read(path: Path, wrapped: bool) -> Iterator[tuple[str, Batch]]:
    rows: dict[str, list[Row]] = {}
    num_directives = 0
    for clause in _clauses(path):
        if clause[0].text == ":-":
            num_directives += 1
            continue
        kind, row = _example(clause, path) if wrapped else ("pos", _fact(clause, path))
        rows.setdefault(kind, []).append(row)
        if len(rows[kind]) == ROWS_PER_BATCH:
            yield kind, batch_of(rows.pop(kind))
    notes = (f"{path.name}: {num_directives} directive(s) passed over",) if num_directives else ()
    for kind, rest in rows.items():
        yield kind, batch_of(rest, notes=notes)


def _clauses(path: Path) -> Iterator[list[Token]]:
    """The tokens of each clause, its final dot left out."""
    clause: list[Token] = []
    for token in _tokens(path):
        if token.kind != "end":
            clause.append(token)
        elif clause:
            yield clause
            clause = []
        else:
            raise DataError("expected a fact before '.', got nothing", path, token.line)
    if clause:
        raise DataError(f"expected '.' at the end of {_text(clause)!r}, got the end of the file", path, clause[-1].line)


def _tokens(path: Path) -> Iterator[Token]:
    comment_line = 0  # where a /* is open
    number = 0
    for number, line in lines(path):
        position = 0
        while position < len(line):
            if comment_line:
                close = line.find("*/", position)
                if close < 0:
                    break
                comment_line, position = 0, close + 2
                continue
            match = TOKEN.match(line, position)
            if match is None:
                raise DataError(f"expected a name, a number or a quoted name, got {line[position:]!r}", path, number)
            position = match.end()
            if match.lastgroup == "open":
                comment_line = number
            elif match.lastgroup:
                yield Token(match.lastgroup, match.group(), number)
    if comment_line:
        raise DataError("expected '*/' to close this comment, got the end of the file", path, comment_line)


def _text(clause: list[Token]) -> str:
    spaced = {",": ", ", ":-": " :- ", "-->": " --> "}
    return "".join(spaced.get(token.text, token.text) for token in clause)


def _fact(clause: list[Token], path: Path) -> Row:
    line, text = clause[0].line, _text(clause)
    if any(token.text in (":-", "-->") for token in clause if token.kind == "mark"):
        raise DataError(f"expected a fact, got a clause with a body: {text!r}; write out what it derives", path, line)
    name, *rest = clause
    marks = [token.text for token in rest if token.kind == "mark"]
    arguments = rest[1::2]
    plain = name.kind in ("atom", "quoted") and len(rest) == 2 * len(arguments) + 1
    if not plain or marks not in (["(", ")"], ["(", ",", ")"]):
        raise DataError(f"expected a fact p(a). or p(a, b)., got {text!r}", path, line)
    for argument in arguments:
        if argument.kind not in CONSTANT_KINDS:
            raise DataError(f"expected names or numbers as arguments, got {argument.text!r} in {text!r}", path, line)
    try:
        predicate, subject, *more = (token.name for token in (name, *arguments))
    except Fault as fault:
        raise DataError(f"{fault} in {text!r}", path, line) from fault
    if not all((predicate, subject, *more)):
        raise DataError(f"expected names, got an empty one in {text!r}", path, line)
    return subject, predicate, more[0] if more else None, 1.0


def _example(clause: list[Token], path: Path) -> tuple[str, Row]:
    match [token.text for token in clause]:
        case ["pos" | "neg" as kind, "(", *_, ")"] if len(clause) > 4:
            return kind, _fact(clause[2:-1], path)
    raise DataError(f"expected pos(p(a, b)). or neg(p(a, b))., got {_text(clause)!r}", path, clause[0].line)
