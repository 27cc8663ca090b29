"""From Prolog text to tokens: for rules (syntax.py), fact files (data/prolog.py) and terms (terms.py).

A word is a variable if it begins with `_` or with a capital letter of any alphabet (X, Éric); otherwise it is a name.
Numbers, 'quoted names' and "strings" are names too. Comments are skipped.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple


class Fault(Exception):
    """A syntax error: a `message` and the `offset` (from 0). The public parsers turn it into RuleSyntaxError."""

    def __init__(self, message: str, offset: int) -> None:
        self.message, self.offset = message, offset
        super().__init__(message)


class Token(NamedTuple):
    """A token: its `kind`, its `text` (unquoted, escapes resolved), and its `offset` from 0.

    `other` is a character or a run of digits and letters that is no token, `open` an unclosed quote or comment, `end`
    the end of the text. Numbers of rules are names; only terms have symbols. `follows_space`: white space is before it.
    """

    kind: Literal["name", "variable", "number", "mark", "symbol", "other", "open", "end"]
    text: str
    offset: int
    follows_space: bool = False

    @property
    def shown(self) -> str:
        """The token as messages show it."""
        return "the end" if self.kind == "end" else repr(self.text)

    def is_mark(self, *marks: str) -> bool:
        """Return whether it is one of these marks."""
        return self.kind == "mark" and self.text in marks


# Possessive (*+, ++): a doubled quote, or the backslash that ends \x41\, must not be matched in another way, and a long
# run of digits that is no number is read once.
_ESCAPED = r"\\x[0-9a-fA-F]+\\|\\[0-7]+\\|\\[\s\S]"
_QUOTE = rf"'(?:[^'\\\n]|''|{_ESCAPED})*+"
_STRING = rf'"(?:[^"\\\n]|""|{_ESCAPED})*+'
QUOTED, STRING = f"{_QUOTE}'", f'{_STRING}"'


def _grammar(*own: str) -> re.Pattern[str]:
    """Return the pattern of a token; `own` are alternatives of one notation, groups named for the kind of token."""
    alternatives = "|".join(own)
    return re.compile(
        rf"""(?P<space>(?:\s+|%[^\n]*|/\*[\s\S]*?\*/)*+)
          (?:(?P<open>(?:/\*[\s\S]*|{_QUOTE}|{_STRING})\Z)
           |{alternatives}
           |(?P<word>[^\W\d]\w*)
           |(?P<quoted>{QUOTED}|{STRING})
           |(?P<end>\Z)
           |(?P<other>\w+|[\s\S]))""",
        re.VERBOSE,
    )


_MARKS, _NUMBER = r"(?P<mark>:-|-->|<=|<-|\\\+|\\=|[=(),;.])", r"[+-]?\d++(?:\.\d++)?(?:[eE][+-]?\d++)?(?!\w)"
FACTS = _grammar(_MARKS, rf"(?P<name>{_NUMBER})")
"""A few marks, and numbers with their sign."""
RULES = _grammar(_MARKS, rf"(?P<name>{_NUMBER}|(?:[^\W\d]\w*+)?:\w[\w-]*+)")
"""Facts, and names with a prefix: `ex:ann`, `:ann`."""
TERMS = _grammar(
    r"(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)",
    r"(?P<stop>\.(?=\s|%|\Z|[a-z]|:-))",
    r"(?P<symbol>!=|[-+*/\\^<>=~:.?@\#&$]+)",
    r"(?P<mark>[()\[\]|,;!{}])",
)
"""All of Prolog's terms: runs of symbols are operators, and a dot before white space ends a clause."""
_ESCAPE = re.compile(
    r"""(?P<doubled>''|"")
       |\\(?:x(?P<hex>[0-9a-fA-F]+)\\ | (?P<octal>[0-7]+)\\
           | u(?P<short>[0-9a-fA-F]{4}) | U(?P<long>[0-9a-fA-F]{8}) | (?P<char>[\s\S]))""",
    re.VERBOSE,
)
_CHARACTERS = {
    "n": "\n", "t": "\t", "r": "\r", "a": "\a", "b": "\b", "f": "\f", "v": "\v", "e": "\x1b", "s": " ",
    "\\": "\\", "'": "'", '"': '"', "`": "`", "\n": "",
}  # fmt: skip


def tokenize(text: str, grammar: re.Pattern[str] = RULES) -> Iterator[Token]:
    """Yield every token of `text`; the last one is `end`. A quote that is not closed on its line raises Fault.

    `grammar` is RULES, FACTS or TERMS.
    """
    for match in grammar.finditer(text):
        kind = match.lastgroup or "end"
        found, offset, spaced = match[kind], match.start(kind), bool(match["space"])
        match kind:
            case "word":
                yield Token("variable" if begins_variable(found) else "name", found, offset, spaced)
            case "quoted":
                yield Token("name", unquote(found, offset), offset, spaced)
            case "stop":
                yield Token("mark", found, offset, spaced)
            case "other" if found in ("'", '"'):
                raise unclosed(text, offset)
            case "name" | "number" | "mark" | "symbol" | "open" | "other" | "end":
                yield Token(kind, found, offset, spaced)
        if kind == "end":
            return


def begins_variable(word: str) -> bool:
    """Return whether Prolog reads the bare word as a variable: it begins with `_` or an upper or title case letter."""
    return word[0] == "_" or word[0].isupper() or word[0].istitle()


def unclosed(text: str, offset: int) -> Fault:
    """Return the Fault for a comment, quoted name or string at `offset` of `text` that is not closed."""
    if text[offset] == "/":
        return Fault("expected '*/' to close this comment, got the end", offset)
    return Fault(f"the quoted name is not closed on its line, got {text[offset:].partition(chr(10))[0]!r}", offset)


def unquote(quoted: str, offset: int) -> str:
    """Return the name inside Prolog quotes, with '' and the escapes \\n, \\\\, \\', \\x41\\, \\101\\, \\u0041 resolved.

    `quoted` includes its quotes; `offset` is its position in the whole text, for error messages.

    >>> unquote(r"'it\\'s'", 0)
    "it's"
    """
    quote = quoted[0]

    def character(match: re.Match[str]) -> str:
        kind = match.lastgroup or ""
        digits = match[kind]
        where = offset + 1 + match.start()
        if kind == "doubled":
            return quote if digits[0] == quote else digits
        if kind == "char":
            if digits not in _CHARACTERS:
                raise Fault(f"unknown escape {match.group()!r} in a quoted name; write \\\\ for a backslash", where)
            return _CHARACTERS[digits]
        # A run of 20 hexadecimal digits is a typo, not a number worth computing.
        code = int(digits, 8 if kind == "octal" else 16) if len(digits) <= 20 else 0x110000
        if code > 0x10FFFF:
            raise Fault(f"the escape {match.group()!r} is not a character", where)
        return chr(code)

    inner = quoted[1:-1]
    return _ESCAPE.sub(character, inner) if "\\" in inner or quote in inner else inner
