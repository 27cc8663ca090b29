"""What the address asks for: values of its query, checked. Whatever is odd becomes one sentence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlencode

from ..errors import ConfigError, NlilError

LONGEST = 2000
"""Characters of one value; a name or a fact is much shorter."""


class NoSuchPage(NlilError):
    """The address is well formed, and there is nothing at it."""


@dataclass(frozen=True)
class Wanted:
    """The values after `?`, by name; and the path, which links to the next page of a list need."""

    values: Mapping[str, str]

    def text(self, name: str, default: str = "") -> str:
        value = self.values.get(name, default)
        if len(value) > LONGEST:
            raise ConfigError(f"{name}: expected at most {LONGEST:,} characters, got {len(value):,}", name)
        return value.strip()

    def choice(self, name: str, allowed: Sequence[str], default: str = "") -> str:
        value = self.text(name) or default
        if value and value not in allowed:
            raise ConfigError(f"{name}: expected {', '.join(allowed)}, got {value[:80]!r}", name)
        return value

    def whole(self, name: str, default: int, low: int = 0, high: int = 10**9) -> int:
        value = self.text(name)
        # isdecimal takes digits of every script, which int reads as well; it takes no sign and no blank.
        if value and not (value.isdecimal() and len(value) <= 10 and low <= int(value) <= high):
            raise ConfigError(f"{name}: expected a whole number from {low:,} to {high:,}, got {value[:80]!r}", name)
        return int(value) if value else default

    def share(self, name: str, default: float = 0.0) -> float:
        value = self.text(name)
        try:
            number = float(value) if value else default
        except ValueError:
            number = math.nan
        if not 0 <= number <= 1:
            raise ConfigError(f"{name}: expected a number from 0 to 1, got {value[:80]!r}", name)
        return number

    def linked(self, **changes: Any) -> str:
        """The same address with other values; empty ones are left out."""
        values = {**self.values, **{name: str(value) for name, value in changes.items()}}
        return "?" + urlencode({name: value for name, value in values.items() if value != ""})


def page_of(number: int, total: int, size: int, what: str) -> dict[str, int]:
    """Which part of a list a page shows; NoSuchPage beyond its end. The first page of nothing is empty."""
    pages = max(1, -(-total // size))
    if number > pages:
        count = f"there is {pages:,} page" if pages == 1 else f"there are {pages:,} pages"
        raise NoSuchPage(f"page {number:,} of the {what}: {count}; choose one of them")
    return {"page": number, "pages": pages, "size": size, "total": total}
