"""Rule text to tokens, and quoted names to the names they stand for. Knows no grammar."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal


class Fault(Exception):
    """What is wrong, and the offset (from 0) where. The parser's border turns it into RuleSyntaxError."""

    def __init__(self, message: str, offset: int) -> None:
        self.message, self.offset = message, offset
        super().__init__(message)


@dataclass(frozen=True, slots=True)
class Token:
    """`text` is the name meant: unquoted and with its escapes resolved."""

    kind: Literal["name", "variable", "mark", "end"]
    text: str
    offset: int
    quoted: bool = False

    @property
    def shown(self) -> str:
        return "the end" if self.kind == "end" else repr(self.text)

    def is_mark(self, *marks: str) -> bool:
        return self.kind == "mark" and self.text in marks


# Possessive (*+): a doubled quote, or the backslash that ends \x41\, is never read a second way.
QUOTED = r"'(?:[^'\\\n]|''|\\x[0-9a-fA-F]+\\|\\[0-7]+\\|\\[\s\S])*+'"
_TOKEN = re.compile(
    rf"""(?P<skip>\s+|%[^\n]*|/\*[\s\S]*?\*/)
       |(?P<quoted>{QUOTED})
       |(?P<word>[^\W\d]\w*)
       |(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?)
       |(?P<mark>:-|<=|<-|\\\+|\\=|[=(),;.])""",
    re.VERBOSE,
)
_ESCAPE = re.compile(
    r"""''
       |\\(?:x(?P<hex>[0-9a-fA-F]+)\\ | (?P<octal>[0-7]+)\\
           | u(?P<short>[0-9a-fA-F]{4}) | U(?P<long>[0-9a-fA-F]{8}) | (?P<char>[\s\S]))""",
    re.VERBOSE,
)
_CHARACTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "s": " ",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "\n": "",
}  # fmt: skip


def tokenize(text: str) -> list[Token]:
    """Every token of the text; the last one is the end."""
    tokens: list[Token] = []
    offset = 0
    while offset < len(text):
        match = _TOKEN.match(text, offset)
        if match is None:
            raise Fault(_stray(text[offset]), offset)
        found = match.group()
        match match.lastgroup:
            case "quoted":
                tokens.append(Token("name", unquote(found, offset), offset, quoted=True))
            case "word":
                is_variable = found[0] == "_" or found[0].isupper() or found[0].istitle()
                tokens.append(Token("variable" if is_variable else "name", found, offset))
            case "number":
                tokens.append(Token("name", found, offset))
            case "mark":
                tokens.append(Token("mark", found, offset))
        offset = match.end()
    return [*tokens, Token("end", "", len(text))]


def _stray(character: str) -> str:
    if character == "'":
        return "the quoted name that begins here is not closed on its line"
    return f"unexpected character {character!r}; quote names that hold it, as in '/film/genre'"


def unquote(quoted: str, offset: int) -> str:
    """The name inside Prolog quotes: '' and the escapes \\n, \\\\, \\', \\x41\\, \\101\\, \\u0041, ... resolved.

    >>> unquote(r"'it\\'s'", 0)
    "it's"
    """

    def character(match: re.Match[str]) -> str:
        if match.group() == "''":
            return "'"
        kind = match.lastgroup or ""
        digits = match[kind]
        where = offset + 1 + match.start()
        if kind == "char":
            if digits not in _CHARACTERS:
                raise Fault(f"unknown escape {match.group()!r} in a quoted name; write \\\\ for a backslash", where)
            return _CHARACTERS[digits]
        # A run of 20 hexadecimal digits is a typing error, not a number worth computing.
        code = int(digits, 8 if kind == "octal" else 16) if len(digits) <= 20 else 0x110000
        if code > 0x10FFFF:
            raise Fault(f"the escape {match.group()!r} is no character", where)
        return chr(code)

    return _ESCAPE.sub(character, quoted[1:-1])
