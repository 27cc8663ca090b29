"""The errors a user can cause. Imports nothing.

    NlilError
    ├── DataError          a file or a fact is wrong        carries path, line
    ├── RuleSyntaxError    rule text is wrong               carries text, column
    ├── RuleError          a rule is meaningless            e.g. Y in the body of a unary head
    ├── ExportError        a language cannot express it     carries language
    ├── UnknownName        predicate, entity, data set      carries kind, name, closest
    ├── ConfigError        a key or a value is wrong        carries key
    ├── RunError           a run folder cannot be used      carries path
    ├── LimitError         a budget is too small            e.g. --memory
    ├── ClusterError       the cluster cannot be reached or was lost
    └── MissingExtra       an optional package is absent    carries package, extra

One sentence each: where, what was expected, what was found, what to do.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from typing import Any

MAX_QUOTED = 80
"""Limit of the characters of a name or line that a message quotes."""
MAX_MESSAGE = 2_000
"""Limit of the characters of a message."""
_QUOTE = re.compile(r"""(?<!\w)(['"])((?:(?!\1)[^\\]|\\.)*+)(?:\1|\Z)""", re.DOTALL)
UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")
"""Control characters other than line feed and tab, marks that turn the direction of text, and halves of characters."""

FEW_NAMES = 8
"""If no name is similar, up to this many known names are listed."""
MANY_NAMES = 20_000
"""Limit of the known names that are compared with an unknown one."""


class NlilError(Exception):
    """Base of every error that the user can fix; the command line prints it and exits with code 2.

    What `message` quotes is shortened, and control characters are escaped: names come from data.
    """

    def __init__(self, message: object = "") -> None:
        super().__init__(readable_message(str(message)))


def readable_message(message: str) -> str:
    """Return `message` with at most 80 characters of what it quotes, as a terminal can show it.

    >>> readable_message("expected a name, got '" + "x" * 1000 + "'")[-20:]
    "xxxxxxxxxxxxxxxx...'"
    """
    short = printable(_QUOTE.sub(_short_quote, message[: 1 << 20])[: MAX_MESSAGE + 1])
    return short if len(short) <= MAX_MESSAGE else short[: MAX_MESSAGE - 3] + "..."


def _short_quote(found: re.Match[str]) -> str:
    mark, quoted = found.groups()
    return found[0] if len(quoted) <= MAX_QUOTED else f"{mark}{quoted[: MAX_QUOTED - 3]}...{mark}"


def printable(text: str) -> str:
    """Return `text` with control characters as escapes: names from data must not command a terminal.

    >>> printable("red" + chr(27) + "[31m")
    'red\\\\x1b[31m'
    """
    return UNSAFE.sub(lambda found: found[0].encode("unicode_escape", "surrogatepass").decode(), text)


class CacheWarning(UserWarning):
    """Something cannot be cached on disk: results are the same, later calls take longer."""


class DataError(NlilError):
    """A file or a fact is wrong.

    `message` is the sentence; `path` and `line` (from 1) say where, None if there is no file or no single line.
    """

    def __init__(self, message: str, path: object = None, line: int | None = None) -> None:
        self.path, self.line = path, line
        where = "" if path is None else f"{path}: " if line is None else f"{path}:{line}: "
        super().__init__(where + message)


@contextmanager
def in_file(path: object, line: int | None = None) -> Iterator[None]:
    """Add the `path`, and the `line` if there is one, to a DataError of this block that does not say where."""
    try:
        yield
    except DataError as error:
        if error.path is not None:
            raise
        raise DataError(str(error), path, line) from error


class RuleSyntaxError(NlilError):
    """Rule text is wrong: `message` says how, `column` counts from 1 in `text`.

    `line` is the number of this line in a longer text, from 1; None if there is no other.
    """

    def __init__(self, message: str, text: str, column: int, line: int | None = None) -> None:
        self.text, self.column, self.line = text, column, line
        begin = max(0, min(column - MAX_QUOTED // 2, len(text) - MAX_QUOTED + 6))
        shown = ("..." if begin else "") + text[begin:]
        where = f"column {column}" if line is None else f"line {line}, column {column}"
        super().__init__(f"{where}: {message} in {shown!r}")


class RuleError(NlilError):
    """A well-formed rule that cannot be used with this data or for this purpose."""


class ExportError(NlilError):
    """A rule or a name that a language cannot express; it is refused, never approximated.

    `message` says what, `language` names the export.
    """

    def __init__(self, message: str, language: str) -> None:
        self.language = language
        super().__init__(f"{language}: {message}")


class UnknownName(NlilError):
    """A name that the data, a run or the catalogue does not contain.

    Args:
        kind: what is named, such as "predicate" or "data set".
        name: the name as the user wrote it.
        known: all existing names; the closest ones are shown, or all if they are few.
        hint: what to do, added at the end unless empty.
    """

    def __init__(self, kind: str, name: str, known: Iterable[str] = (), hint: str = "") -> None:
        self.kind, self.name = kind, name
        names = list(known)
        self.closest = closest(name, names)
        near = f"; closest: {', '.join(map(repr, self.closest))}" if self.closest else ""
        if not near and 0 < len(names) <= FEW_NAMES:
            near = f"; known: {', '.join(map(repr, names))}"
        super().__init__(f"unknown {kind} {name!r}{near}" + (f"; {hint}" if hint else ""))


class ConfigError(NlilError):
    """A setting is wrong: `message` says how; `key` is the name of the setting, None if there is no single one."""

    def __init__(self, message: str, key: str | None = None) -> None:
        self.key = key
        super().__init__(message)


class RunError(NlilError):
    """A run folder cannot be read or written: `message` says why, `path` is the file or folder."""

    def __init__(self, message: str, path: object = None) -> None:
        self.path = path
        super().__init__(message if path is None else f"{path}: {message}")


class LimitError(NlilError):
    """The work exceeds a limit that the user can raise, such as memory."""


class ClusterError(NlilError):
    """The cluster cannot be reached, or was lost during the work."""


class MissingExtra(NlilError):
    """An optional `package` is not installed.

    `extra` is the extra of nlil that installs it, `purpose` what needs it.
    """

    def __init__(self, package: str, extra: str, purpose: str) -> None:
        self.package, self.extra = package, extra
        super().__init__(
            f"{purpose} needs the package {package!r}, which is not installed; "
            f"install it with: pip install 'nlil[{extra}]'"
        )


def closest(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return up to three of the `known` names that are similar to `name`, nearest first, ignoring case.

    >>> closest('mothr', ['father', 'mother', 'brother'])
    ('mother', 'brother', 'father')
    """
    by_lower: dict[str, str] = {}
    for candidate in known:
        by_lower.setdefault(candidate.lower(), candidate)
    if len(by_lower) > MANY_NAMES:
        # Comparing with a million names takes a minute; a typo rarely changes the first letters or the length much.
        near = [n for n in by_lower if n[:2] == name[:2].lower() and abs(len(n) - len(name)) <= 2]
        by_lower = {n: by_lower[n] for n in near[:MANY_NAMES]}
    matches = difflib.get_close_matches(name.lower(), by_lower, n=3, cutoff=0.5)
    return tuple(by_lower[n] for n in matches)


def require(module: str, extra: str, purpose: str) -> Any:
    """Import the optional `module` and return it.

    `extra` is the extra of nlil that installs it, `purpose` what needs it. Raises MissingExtra, which says how to
    install it.
    """
    import importlib

    try:
        return importlib.import_module(module)
    except ImportError as error:
        raise MissingExtra(module.split(".")[0], extra, purpose) from error
