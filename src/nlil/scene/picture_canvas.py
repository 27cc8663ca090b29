"""A drawing as a list of plain shapes, how wide text is, and room for labels that do not cover each other."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass, field

from .picture_scene import Box

Point = tuple[float, float]

LINE_HEIGHT = 1.45
"""Height of a label in sizes of its text."""
PADDING = 4.0
LONGEST = 40
"""Characters of a label; the whole text is said beside it (an SVG's title)."""
MARGIN = 2.0
"""Between two labels."""
RING, RINGS = 14.0, 40
"""How a label that must be shown looks for room: on rings around its place, so far apart, so many."""


@dataclass(frozen=True)
class Rect:
    """`kind` and `name` say what is drawn, for programs that read the drawing."""

    box: Box
    stroke: str
    width: float
    opacity: float = 1.0
    fill: str = "none"
    kind: str = ""
    name: str = ""
    title: str = ""


@dataclass(frozen=True)
class Stroke:
    """A line; an arrow where it has a head."""

    start: Point
    end: Point
    colour: str
    width: float
    opacity: float = 1.0
    dashed: bool = False
    head: float = 0.0
    kind: str = ""


@dataclass(frozen=True)
class Tag:
    """Text in the middle of its box, or at its left."""

    box: Box
    text: str
    size: float
    colour: str
    fill: str = "none"
    bold: bool = False
    at_left: bool = False
    opacity: float = 1.0
    kind: str = ""
    title: str = ""


@dataclass(frozen=True)
class Photo:
    """An image file as it is, to be drawn in the box."""

    box: Box
    content: bytes
    media_type: str


Shape = Rect | Stroke | Tag | Photo


@dataclass(frozen=True)
class Canvas:
    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def text_width(text: str, size: float) -> float:
    """About what a plain sans-serif font needs, rather too much than too little."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in " .,:;'|!ijlI()[]ftr/-":
        return 0.4
    if character in "mwMW@%+=":
        return 0.92
    return 0.72 if character.isupper() else 0.64


def shortened(text: str, limit: int = LONGEST) -> str:
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tag_size(text: str, size: float, bold: bool = False) -> tuple[float, float]:
    return text_width(text, size) * (1.12 if bold else 1.0) + 2 * PADDING, size * LINE_HEIGHT


def overlap(one: Box, two: Box, gap: float = 0.0) -> bool:
    return (
        one[0] < two[0] + two[2] + gap
        and two[0] < one[0] + one[2] + gap
        and one[1] < two[1] + two[3] + gap
        and two[1] < one[1] + one[3] + gap
    )


@dataclass
class Room:
    """Greedy placement: each label takes the first of its places that is free. Nothing taken is given back."""

    width: float
    height: float
    taken: list[Box] = field(default_factory=list)
    better_free: list[Box] = field(default_factory=list)  # arrows: labels keep off them where they can

    def take(self, box: Box) -> None:
        self.taken.append(box)

    def place(self, size: tuple[float, float], centres: Iterable[Point], must: bool = True) -> Box | None:
        """A box of this size at one of the centres; None where all are taken and it need not be shown."""
        boxes = [self._inside(_around(centre, size)) for centre in centres]
        free = [box for box in boxes if self._is_free(box)]
        clear = (box for box in free if not any(overlap(box, other) for other in self.better_free))
        found = next(clear, free[0] if free else None)
        if found is None and must:
            found = self._search(boxes[0], size)
        if found is not None:
            self.take(found)
        return found

    def _is_free(self, box: Box) -> bool:
        return not any(overlap(box, other, MARGIN) for other in self.taken)

    def _inside(self, box: Box) -> Box:
        x, y, width, height = box
        return max(min(x, self.width - width - 1), 1), max(min(y, self.height - height - 1), 1), width, height

    def _search(self, first: Box, size: tuple[float, float]) -> Box:
        middle = (first[0] + size[0] / 2, first[1] + size[1] / 2)
        for ring in range(1, RINGS):
            span = range(-ring, ring + 1)
            steps = [(i, j) for i in span for j in span if max(abs(i), abs(j)) == ring]
            for i, j in sorted(steps, key=lambda step: (step[0] ** 2 + step[1] ** 2, step)):
                box = self._inside(_around((middle[0] + i * RING, middle[1] + j * RING), size))
                if self._is_free(box):
                    return box
        return first


def _around(centre: Point, size: tuple[float, float]) -> Box:
    return centre[0] - size[0] / 2, centre[1] - size[1] / 2, *size
