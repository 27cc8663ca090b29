"""Prolog facts: `p(a).`, `p(a, 'B c').`; also pos(...) and neg(...) of an examples file.

Names are read as in rules (logic/tokens.py): an unquoted word that begins with a capital letter or `_` is a variable,
which is an error in a fact; in quotes it is a name. Directives (`:- ...`) are skipped and counted. Anything else that
is not a fact is an error with its line number, and so is an example of three or more arguments: `nlil program` reads
those itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ..errors import DataError
from ..logic.tokens import FACTS, Fault, Token, tokenize, unclosed
from .arrow import string_array
from .builder import ROWS_PER_BATCH, Batch, Row, encoded
from .columns import MAX_ARGUMENTS
from .files import blocks
from .limits import MAX_LINE


class _FactTokens(NamedTuple):
    """The tokens before a dot, with their source text and line for errors."""

    tokens: list[Token]
    source: str
    path: Path
    line: int

    def error(self, expected: str, got: str = "", hint: str = "") -> DataError:
        source = " ".join(self.source.split())
        return DataError(f"expected {expected}, got {got}{source!r}{hint}", self.path, self.line)


def read_prolog(path: Path) -> Iterator[Batch]:
    """Yield the facts of the .pl file at `path` (also .gz) in batches."""
    for _, batch in _read(path, wrapped=False):
        yield batch


def read_examples(path: Path) -> Iterator[tuple[str, Batch]]:
    """Yield ('pos' | 'neg', facts) of the examples file at `path`: pos(p(a, b)). neg(p(a))."""
    yield from _read(path, wrapped=True)


def _read(path: Path, wrapped: bool) -> Iterator[tuple[str, Batch]]:
    rows: dict[str, list[Row]] = {}
    wide: list[tuple[str, ...]] = []
    num_directives = 0
    for clause in _clauses(path):
        if clause.tokens[0].is_mark(":-"):
            num_directives += 1
            continue
        kind, (name, *args) = _example(clause) if wrapped else ("pos", _fact(clause))
        if len(args) > 2:
            wide.append((name, *args))
            if len(wide) == ROWS_PER_BATCH:
                yield kind, _wide_batch(wide)
                wide = []
            continue
        rows.setdefault(kind, []).append((args[0], name, args[1] if len(args) > 1 else None, 1.0))
        if len(rows[kind]) == ROWS_PER_BATCH:
            yield kind, Batch.of_rows(rows.pop(kind))
    notes = (f"{path.name}: {num_directives} directive(s) skipped",) if num_directives else ()
    if wide:
        yield "pos", _wide_batch(wide, notes=() if rows else notes)
    for kind, rest in rows.items():
        yield kind, Batch.of_rows(rest, notes=notes)


def _wide_batch(rows: list[tuple[str, ...]], **rest: Any) -> Batch:
    """Return facts of three and more arguments, each as its predicate and its arguments."""
    width = max(map(len, rows))
    predicate, subject, object, *more = zip(*((*row, *[None] * (width - len(row))) for row in rows), strict=True)
    columns = tuple(encoded(string_array(column)) for column in more)
    return Batch.of(list(subject), list(predicate), list(object), more=columns, **rest)


def _clauses(path: Path) -> Iterator[_FactTokens]:
    """Yield every clause of the file. One that is incomplete at the end of a block is read again with the next."""
    text, line = "", 1  # the text that is not read yet, and its first line number
    tokens: list[Token] = []
    for _, block in blocks(path):
        text += block
        begin, tokens = 0, []
        try:
            for token in tokenize(text, FACTS):
                if token.is_mark("."):
                    first = tokens[0].offset if tokens else token.offset
                    line += text.count("\n", begin, first)
                    if not tokens:
                        raise DataError("expected a fact before '.', got nothing", path, line)
                    yield _FactTokens(tokens, text[first : token.offset], path, line)
                    line += text.count("\n", first, token.offset)
                    begin, tokens = token.offset + 1, []
                elif token.kind != "end":
                    tokens.append(token)
        except Fault as fault:
            raise DataError(fault.message, path, line + text.count("\n", begin, fault.offset)) from fault
        text = text[begin:]
        if len(text) > MAX_LINE:
            raise DataError(f"expected clauses of at most {MAX_LINE:,} characters, got a longer one", path, line)
        tokens = [token._replace(offset=token.offset - begin) for token in tokens]
    if tokens and tokens[-1].kind == "open":
        opened = unclosed(text, tokens[-1].offset)
        raise DataError(opened.message, path, line + text.count("\n", 0, opened.offset))
    if tokens:
        line += text.count("\n", 0, tokens[-1].offset)
        rest = " ".join(text[tokens[0].offset :].split())
        raise DataError(f"expected '.' at the end of {rest!r}, got the end of the file", path, line)


def _fact(clause: _FactTokens) -> list[str]:
    """Return the predicate and the arguments."""
    tokens = clause.tokens
    marks = [token.text for token in tokens[1::2] if token.kind == "mark"]
    if len(tokens) != 2 * len(marks) or marks != ["(", *"," * (len(marks) - 2), ")"]:
        if any(token.is_mark(":-", "-->") for token in tokens):
            raise clause.error("a fact", "a clause with a body: ", "; list the facts that it derives")
        raise clause.error("a fact p(a). or p(a, b).")
    for token in tokens[::2]:
        if token.kind == "variable":
            hint = (
                f"; unquoted words that begin with a capital letter or _ are variables, so quote a name: '{token.text}'"
            )
            raise clause.error("names or numbers", f"the variable {token.text!r} in ", hint)
        if token.kind != "name":
            raise clause.error("a fact p(a). or p(a, b).")
        if not token.text:
            raise clause.error("names", "an empty one in ")
    if len(marks) - 1 > MAX_ARGUMENTS:
        raise clause.error(f"at most {MAX_ARGUMENTS} arguments")
    return [token.text for token in tokens[::2]]


def _example(clause: _FactTokens) -> tuple[str, list[str]]:
    match clause.tokens:
        case [Token("name", "pos" | "neg" as kind), Token("mark", "("), _, _, *_, Token("mark", ")")]:
            fact = _fact(clause._replace(tokens=clause.tokens[2:-1]))
            if len(fact) > 3:
                raise clause.error("examples of one or two arguments", hint="; nlil program learns wider targets")
            return kind, fact
    raise clause.error("pos(p(a, b)). or neg(p(a, b)).")
