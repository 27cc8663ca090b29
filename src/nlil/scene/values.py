"""Values inside the JSON of an image, each of the kind that was expected or a clear sentence; shared by all formats.

`where` names the image or object. Every format is brought to GQA's structure, image by image:

    {"width", "height", "objects": {id: {"name", "x", "y", "w", "h", "attributes": [text], "relations":
                                         [{"name", "object": id}]}}}
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import count
from typing import Any, TypeVar

from ..errors import DataError

BOX, SIZE = ("x", "y", "w", "h"), ("width", "height")
UNKNOWN = float("nan")
FARTHEST = 1e9
"""Pixels; no image is larger, and a number beyond it would not fit the arrays."""
Named = TypeVar("Named")


@dataclass(frozen=True)
class Reading:
    """What the files of one data set share: numbers for objects that have no id, and what was passed over, counted."""

    numbers: Iterator[int] = field(default_factory=lambda: count(1))
    passed: Counter[str] = field(default_factory=Counter)

    def notes(self) -> tuple[str, ...]:
        return tuple(f"{number:,} {what}" for what, number in self.passed.items())


def text(thing: Any, key: str, where: str) -> str:
    value = thing.get(key) if isinstance(thing, Mapping) else None
    if not isinstance(value, str) or not value:
        raise DataError(f"{where}: expected text under {key!r}, got {value if isinstance(thing, Mapping) else thing!r}")
    return value


def items(thing: Any, key: str, where: str) -> list[Any]:
    """A list; absent is empty."""
    value = thing.get(key, []) if isinstance(thing, Mapping) else None
    if not isinstance(value, list):
        raise DataError(
            f"{where}: expected a list under {key!r}, got {value if isinstance(thing, Mapping) else thing!r:.80}"
        )
    return value


def numbers(thing: Mapping[str, Any], keys: tuple[str, ...], where: str) -> list[float]:
    """The numbers under the keys; null or absent is NaN."""
    return [UNKNOWN if thing.get(key) is None else number(thing[key], key, where) for key in keys]


def number(value: Any, key: str, where: str) -> float:
    if type(value) not in (int, float) or not -FARTHEST < value < FARTHEST:  # true is an int too
        raise DataError(f"{where}: expected a number under {key!r}, got {value!r:.80}")
    return float(value)


def corners(value: Any, key: str, where: str) -> tuple[float, float, float, float]:
    """Four numbers."""
    if not isinstance(value, list) or len(value) != 4:
        raise DataError(f"{where}: expected four numbers under {key!r}, got {value!r:.80}")
    a, b, c, d = (number(v, key, where) for v in value)
    return a, b, c, d


def name_at(names: list[Named], index: Any, key: str, where: str) -> Named:
    """The name that an index stands for."""
    if isinstance(index, bool) or not isinstance(index, int) or not 0 <= index < len(names):
        raise DataError(f"{where}: expected a number from 0 to {len(names) - 1} under {key!r}, got {index!r:.80}")
    return names[index]


def new_object(name: str, x: float, y: float, w: float, h: float) -> dict[str, Any]:
    return {"name": name, "x": x, "y": y, "w": w, "h": h, "attributes": [], "relations": []}
