"""compose: a scene laid out as shapes. What matters is placed and written first; the rest gets what room is left."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

from .picture_canvas import (
    LINE_HEIGHT,
    Box,
    Canvas,
    Photo,
    Point,
    Rect,
    Room,
    Shape,
    Stroke,
    Tag,
    shortened,
    tag_size,
    text_width,
)
from .picture_photo import PhotoFile
from .picture_places import SIZE, Node, Placed, placed
from .picture_scene import NO_RULE, Link, Scene, Thing
from .picture_svg import direction

QUERY_COLOUR = "#b3122d"
RULE_COLOURS = ("#0b5fa5", "#00735a", "#7d3c98", "#8a5a00", "#00707d")
OTHER_COLOUR, OTHER_TEXT = "#8c8c8c", "#4d4d4d"
SMALL = 11.0
CAPTION = 14.0
DOT = 3.5
"""Half the side of the dot where arrows begin and end."""
NAMED = 8
"""Arrows of the rules that are named at any price; beyond that colours tell the rule, and the rule the relation."""
SIDE = 5.0
"""How far an arrow keeps to its right where another one comes back."""


def compose(scene: Scene, photo: PhotoFile | None = None) -> Canvas:
    places = placed(scene, None if photo is None else (photo.width, photo.height))
    drawing = _Drawing(scene, places, Room(places.width, places.height), over_photo=photo is not None)
    frame = (0.0, 0.0, places.width, places.height)
    shapes: list[Shape] = []
    if scene.has_places:
        shapes.append(Rect(frame, "#cfcfcf", 1.0, fill="#f7f7f5", kind="frame"))
    if photo is not None:
        extent = scene.size or (photo.width, photo.height)
        box = (0.0, 0.0, extent[0] * places.scale, extent[1] * places.scale)
        shapes.append(Photo(box, photo.content, photo.media_type))
    shapes += drawing.shapes()
    shapes += _captions(scene, places)
    height = places.height + _caption_height(scene)
    return Canvas(round(places.width), round(height), scene.captions[0][0], tuple(shapes))


def colour_of(rule: int) -> str:
    return OTHER_COLOUR if rule == NO_RULE else RULE_COLOURS[rule % len(RULE_COLOURS)]


@dataclass
class _Drawing:
    """Boxes lie below arrows, arrows below text; room is given away in the order of importance."""

    scene: Scene
    places: Placed
    room: Room
    over_photo: bool
    below: list[Shape] = field(default_factory=list)
    arrows: list[Shape] = field(default_factory=list)
    above: list[Shape] = field(default_factory=list)

    def shapes(self) -> list[Shape]:
        nodes = sorted(self.places.nodes.values(), key=lambda n: (_rank(n.thing), -n.box[2] * n.box[3]))
        self.below = [shape for node in nodes for shape in _frame(node, self.over_photo)]
        for node in nodes:
            if node.solid:
                self._write(node, node.box)
        paths = [
            (link, self._path(link))
            for link in self.scene.links
            if {link.subject, link.object} <= self.places.nodes.keys()
        ]
        strong = [(link, path) for link, path in paths if link.rule != NO_RULE or link.is_asked]
        for link, path in strong:
            self._arrow(link, path)
        important = [node for node in reversed(nodes) if _rank(node.thing)]
        for node in important:
            self._label(node)
        for place, (link, path) in enumerate(strong):
            self._name(link, path, must=place < NAMED)
        for node in reversed(nodes):
            if not _rank(node.thing):
                self._label(node)
        for link, path in paths:
            if link.rule == NO_RULE and not link.is_asked:
                self._faint(link, path)
        return [*self.below, *self.arrows, *self.above]

    # objects --------------------------------------------------------------------------------------

    def _label(self, node: Node) -> None:
        if node.solid:
            return
        matters = _rank(node.thing) > 0
        text, size = shortened(node.thing.text), SIZE if matters else SMALL
        room = tag_size(text, size, bold=matters)
        box = self.room.place(room, _beside(node.box, *room), must=matters)
        if box is None:
            return
        if _gap(box, node.box) > 12:
            centre = (box[0] + box[2] / 2, box[1] + box[3] / 2)
            self.arrows.append(Stroke(centre, node.anchor, _colour(node.thing), 1.0, 0.8, kind="leader"))
        self._write(node, box)

    def _write(self, node: Node, box: Box) -> None:
        thing = node.thing
        matters = _rank(thing) > 0
        if node.solid:
            self.room.take(box)
        self.above.append(
            Tag(
                box,
                shortened(thing.text),
                SIZE if matters or node.solid else SMALL,
                "#ffffff" if matters else OTHER_TEXT,
                _colour(thing) if matters else "none" if node.solid else "#ffffff",
                matters,
                kind=f"label {_kind(thing)}",
                title=f"{thing.text} ({thing.name})",
                opacity=1.0 if matters or node.solid else 0.85,
            )
        )

    # relations ------------------------------------------------------------------------------------

    def _path(self, link: Link) -> tuple[Point, Point]:
        one, two = self.places.nodes[link.subject], self.places.nodes[link.object]
        across, down = direction(one.anchor, two.anchor)
        both_ways = any((k.subject, k.object) == (link.object, link.subject) for k in self.scene.links)
        aside = (-down * SIDE, across * SIDE) if both_ways else (0.0, 0.0)
        start, end = ((n.anchor[0] + aside[0], n.anchor[1] + aside[1]) for n in (one, two))
        return _left(one, start, (across, down)), _left(two, end, (-across, -down))

    def _arrow(self, link: Link, path: tuple[Point, Point]) -> None:
        if link.subject == link.object:
            return
        start, end = path
        colour = QUERY_COLOUR if link.is_asked else colour_of(link.rule)
        if self.over_photo:
            self.arrows.append(Stroke(start, end, "#ffffff", 5.0, 0.7, kind="halo"))
        kind = "link asked" if link.is_asked else f"link used rule-{link.rule}"
        self.arrows.append(Stroke(start, end, colour, 2.2, 1.0, link.is_asked, 11.0, kind))
        for node in (self.places.nodes[link.subject], self.places.nodes[link.object]):
            if not node.solid:
                x, y = node.anchor
                dot = (x - DOT, y - DOT, 2 * DOT, 2 * DOT)
                self.arrows.append(Rect(dot, "#ffffff", 1.0, 1.0, _colour(node.thing), kind="dot"))
                self.room.take(dot)
        steps = int(math.dist(start, end) // 10)
        self.room.better_free += [
            (x - 3, y - 3, 6.0, 6.0) for x, y in (_along(path, i / max(steps, 1)) for i in range(steps + 1))
        ]

    def _name(self, link: Link, path: tuple[Point, Point], must: bool) -> Box | None:
        matters = link.rule != NO_RULE or link.is_asked
        text, size = shortened(link.text), 13.0 if matters else SMALL
        box = self.room.place(tag_size(text, size), _beside_line(path, *tag_size(text, size)), must)
        if box is not None:
            colour = OTHER_TEXT if not matters else QUERY_COLOUR if link.is_asked else colour_of(link.rule)
            self.above.append(
                Tag(
                    box,
                    text,
                    size,
                    colour,
                    "#ffffff",
                    kind="relation used" if matters else "relation other",
                    title=link.text,
                )
            )
        return box

    def _faint(self, link: Link, path: tuple[Point, Point]) -> None:
        """An arrow that nobody can name says nothing: it is left out where its text has no room."""
        if link.subject != link.object and self._name(link, path, must=False) is not None:
            self.arrows.insert(0, Stroke(*path, OTHER_COLOUR, 1.0, 0.75, head=7.0, kind="link other"))


def _rank(thing: Thing) -> int:
    return 2 if thing.is_query else 1 if thing.is_used else 0


def _kind(thing: Thing) -> str:
    return "query" if thing.is_query else f"used rule-{thing.rule}" if thing.is_used else "other"


def _colour(thing: Thing) -> str:
    return QUERY_COLOUR if thing.is_query else colour_of(thing.rule)


def _frame(node: Node, over_photo: bool) -> list[Shape]:
    thing = node.thing
    matters = _rank(thing)
    fill, width = "#ffffff" if node.solid else "none", (1.0, 2.5, 3.5)[matters]
    quiet = "#ffffff" if over_photo and not matters else _colour(thing)
    frame = Rect(
        node.box,
        quiet,
        width,
        1.0 if matters or node.solid else 0.8,
        fill,
        f"box {_kind(thing)}",
        thing.name,
        f"{thing.text} ({thing.name})",
    )
    if not over_photo:
        return [frame]
    # An image may be dark or bright where a frame runs: each has an edge of the other kind.
    edge, opacity = ("#ffffff", 0.7) if matters else ("#000000", 0.35)
    return [Rect(node.box, edge, width + 2.5, opacity, kind="halo"), frame]


# places for labels --------------------------------------------------------------------------------------


def _beside(box: Box, width: float, height: float) -> list[Point]:
    """Around the corners of the box, outside first, then inside, then its middle."""
    x, y, w, h = box
    lefts = [x + width / 2, x + w - width / 2, x + w / 2]
    outside = [(left, top) for top in (y - height / 2 - 1, y + h + height / 2 + 1) for left in lefts]
    tops = (y + height / 2 + 2, y + h - height / 2 - 2)
    inside = [(left, top) for top in tops for left in (lefts[0] + 2, lefts[1] - 2)]
    beside = [(x - width / 2 - 2, y + height / 2), (x + w + width / 2 + 2, y + height / 2)]
    roomy = w > width + 4 and h > 2.5 * height
    return [*inside[:2], *outside, *inside[2:], *beside] if roomy else [*outside, *beside, *inside]


def _beside_line(path: tuple[Point, Point], width: float, height: float) -> list[Point]:
    """On the line where the line still shows on both sides of the text, else beside it."""
    across, down = direction(*path)
    covered = min(width / max(abs(across), 1e-6), height / max(abs(down), 1e-6))
    parts = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    points = [_along(path, part) for part in parts]
    aside = (width * abs(down) + height * abs(across)) / 2 + 5
    off = [(x - down * aside * side, y + across * aside * side) for x, y in points for side in (1, -1)]
    return [*points, *off] if math.dist(*path) > covered + 36 else off


def _along(path: tuple[Point, Point], part: float) -> Point:
    (x1, y1), (x2, y2) = path
    return x1 + (x2 - x1) * part, y1 + (y2 - y1) * part


def _left(node: Node, point: Point, way: Point) -> Point:
    """Where a line from the point leaves the node."""
    if not node.solid:
        return point[0] + way[0] * (DOT + 2), point[1] + way[1] * (DOT + 2)
    _, _, width, height = node.box
    reach = min(width / 2 / max(abs(way[0]), 1e-9), height / 2 / max(abs(way[1]), 1e-9)) + 3
    return point[0] + way[0] * reach, point[1] + way[1] * reach


def _gap(one: Box, two: Box) -> float:
    across = max(one[0] - two[0] - two[2], two[0] - one[0] - one[2], 0.0)
    down = max(one[1] - two[1] - two[3], two[1] - one[1] - one[3], 0.0)
    return math.hypot(across, down)


# what is said below the picture -------------------------------------------------------------------------


def _caption_height(scene: Scene) -> float:
    return len(scene.captions) * CAPTION * LINE_HEIGHT + 12


def _captions(scene: Scene, places: Placed) -> list[Shape]:
    shapes: list[Shape] = []
    shown = {thing.rule for thing in scene.things} | {link.rule for link in scene.links}
    for row, (text, rule) in enumerate(scene.captions):
        top = places.height + 6 + row * CAPTION * LINE_HEIGHT
        colour = QUERY_COLOUR if row == 0 else "#1a1a1a" if rule == NO_RULE else colour_of(rule)
        if row == 0 or rule != NO_RULE:
            # Hollow: nothing in the picture has this colour.
            fill = colour if row == 0 or rule in shown else "none"
            shapes.append(Rect((8.0, top + 5, 10.0, 10.0), colour, 1.5, fill=fill, kind="key"))
        limit = len(text)
        while limit > 8 and text_width(shortened(text, limit), CAPTION) > places.width - 36:
            limit -= 1
        box = (26.0, top, places.width - 36, CAPTION * LINE_HEIGHT)
        shapes.append(
            Tag(box, shortened(text, limit), CAPTION, colour, bold=row == 0, at_left=True, kind="caption", title=text)
        )
    return shapes
