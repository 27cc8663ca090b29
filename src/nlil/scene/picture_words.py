"""The picture in words, for a terminal: the objects near the query, what they are and where."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from .picture_scene import Box, Scene, Thing

NEAREST = 8
"""Objects listed beside those that rules use."""


@dataclass(frozen=True)
class Neighbour:
    """`place` is in words, empty where nothing is known. Relations say X for the query and `it` for this object.

    `is_used`: one of the strongest rules looks at it.
    """

    name: str
    what: str
    place: str
    relations: tuple[str, ...]
    is_used: bool
    is_query: bool

    def to_dict(self) -> dict[str, Any]:
        return {
            "object": self.name,
            "class": self.what,
            "place": self.place,
            "relations": list(self.relations),
            "used": self.is_used,
            "query": self.is_query,
        }


def surroundings(scene: Scene, limit: int = NEAREST) -> list[Neighbour]:
    """The query, what rules use, then what is nearest: by relations where there are any, by boxes otherwise."""
    query = next(thing for thing in scene.things if thing.is_query)
    size = scene.size or _extent(scene)
    linked = {
        end for link in scene.links if query.name in (link.subject, link.object) for end in (link.subject, link.object)
    }

    def key(thing: Thing) -> tuple[bool, bool, bool, float, str]:
        return not thing.is_query, not thing.is_used, thing.name not in linked, _distance(thing, query), thing.name

    ordered = sorted(scene.things, key=key)
    needed = sum(thing.is_query or thing.is_used for thing in ordered)
    near = [t for t in ordered[needed:] if t.name in linked or t.box is not None][:limit]
    return [_neighbour(thing, scene, query, size) for thing in (*ordered[:needed], *near)]


def _neighbour(thing: Thing, scene: Scene, query: Thing, size: tuple[float, float] | None) -> Neighbour:
    place = place_in_words(thing.box, size) if thing.box is not None and size is not None else ""
    ways = []
    for link in scene.links:
        if (link.subject, link.object) == (query.name, thing.name) and thing is not query:
            ways.append(f"X {link.text} it")
        elif (link.subject, link.object) == (thing.name, query.name) and thing is not query:
            ways.append(f"it {link.text} X")
    return Neighbour(thing.name, thing.what, place, tuple(ways), thing.is_used, thing.is_query)


def place_in_words(box: Box, size: tuple[float, float]) -> str:
    """Where the middle of the box lies, by thirds of the image.

    >>> place_in_words((0, 0, 10, 10), (100, 100)), place_in_words((40, 40, 10, 10), (100, 100))
    ('top left', 'middle')
    """
    x, y, width, height = box
    if width >= 0.8 * size[0] and height >= 0.8 * size[1]:
        return "all over"
    across = ("left", "", "right")[_third(x + width / 2, size[0])]
    down = ("top", "", "bottom")[_third(y + height / 2, size[1])]
    return f"{down} {across}".strip() or "middle"


def _third(value: float, whole: float) -> int:
    return min(max(int(3 * value / max(whole, 1e-9)), 0), 2)


def _extent(scene: Scene) -> tuple[float, float] | None:
    boxes = [thing.box for thing in scene.things if thing.box is not None]
    return (max(b[0] + b[2] for b in boxes), max(b[1] + b[3] for b in boxes)) if boxes else None


def _distance(thing: Thing, query: Thing) -> float:
    if thing.box is None or query.box is None:
        return math.inf
    one, two = thing.box, query.box
    across = max(one[0] - two[0] - two[2], two[0] - one[0] - one[2], 0.0)
    down = max(one[1] - two[1] - two[3], two[1] - one[1] - one[3], 0.0)
    return math.hypot(across, down)
