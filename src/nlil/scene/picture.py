"""draw: an explanation as a picture; write_picture: write it to a file, .svg, .png or .html.

For a scene, the picture shows the graph of the image with its boxes; for other facts, the proof as a graph, with
objects on rings around the query, or in columns from X to Y. What rules use is placed first; the rest gets the space
that is left.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from html import escape
from itertools import groupby
from pathlib import Path

from ..data.files import replacing
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..explanation.why import Explanation
from .canvas import (
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
    as_svg,
    cut_line,
    direction,
    gap,
    moved,
    read_photo,
    shortened,
    tag_size,
    text_width,
    write_png,
)
from .picture_content import NO_RULE, Link, Scene, Shown, Thing, scene_of

FORMATS = (".svg", ".png", ".html")
QUERY_COLOUR = "#b3122d"
RULE_COLOURS = ("#0b5fa5", "#00735a", "#7d3c98", "#8a5a00", "#00707d")
OTHER_COLOUR, OTHER_TEXT = "#8c8c8c", "#4d4d4d"
SMALL_TEXT = 11.0
CAPTION = 14.0
DOT = 3.5
"""Half the side of the square where arrows begin and end."""
MAX_NAMED = 8
"""Arrows of rules that always have a label; for others the colour shows the rule, and the rule the relation."""
SIDE = 5.0
"""Offset of an arrow to its right if there is another one in the opposite direction."""
SIZE = 14.0
"""Text size of objects that matter."""
MIN_SIDE, MAX_SIDE = 900.0, 1400.0
"""The longer side of an image is scaled to this range."""
MIN_DISTANCE = 46.0
"""The least distance between points where arrows begin and end, if the boxes allow it."""
ACROSS = (0.5, 0.5, 0.5, 0.25, 0.75, 0.25, 0.75, 0.25, 0.75, 0.5, 0.5, 0.1, 0.9)
DOWN = (0.5, 0.25, 0.75, 0.5, 0.5, 0.25, 0.25, 0.75, 0.75, 0.1, 0.9, 0.5, 0.5)
"""Positions of that point within a box, best first."""
NODE_GAP, MARGIN = 40.0, 30.0
MIN_WIDTH = 640.0
"""The least width, so that the rules below the picture are readable."""


def draw(explanation: Explanation, kb: KnowledgeBase, image: str | Path | None = None) -> Canvas:
    """Draw an explanation, on top of the `image` (a PNG or JPEG file) if there is one."""
    scene = scene_of(explanation, kb)
    if image is None:
        return compose(scene)
    photo = read_photo(image)
    if not scene.has_places:
        raise ConfigError(
            f"{image}: an image needs objects with boxes, and this data has none for "
            f"{explanation.fact.arguments[0]}; draw it without the image",
            "image",
        )
    width, height = photo.size
    if scene.size is not None and abs(scene.size[0] * height / (scene.size[1] * width) - 1) > 0.03:
        raise ConfigError(
            f"{image}: expected an image with the aspect ratio of {scene.size[0]:.0f} x {scene.size[1]:.0f}, as in the "
            f"data, got {width:.0f} x {height:.0f}; name the image that the graph belongs to",
            "image",
        )
    return compose(scene, photo)


def check_picture_name(path: str | Path) -> None:
    """Raise ConfigError for a name without one of the endings FORMATS."""
    if Path(path).suffix.lower() not in FORMATS:
        raise ConfigError(f"{path}: expected a name ending in {', '.join(FORMATS)}", "out")


def write_picture(canvas: Canvas, path: str | Path, explanation: Explanation) -> Path:
    """Write `canvas` atomically; the ending of the name determines the format."""
    path = Path(path)
    check_picture_name(path)
    with replacing(path) as temporary:
        if path.suffix.lower() == ".png":
            write_png(canvas, temporary)
        else:
            text = as_svg(canvas) if path.suffix.lower() == ".svg" else as_page(canvas, explanation)
            temporary.write_text(text, encoding="utf-8")
    return path


def as_page(canvas: Canvas, explanation: Explanation) -> str:
    """Return one self-contained page: the picture, `canvas`, and the explanation below it."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(canvas.title)}</title>\n"
        "<style>body{font-family:sans-serif;max-width:90rem;margin:1rem auto;padding:0 1rem;line-height:1.45}"
        "svg{max-width:100%;height:auto}code{white-space:pre-wrap}small{color:#555}</style></head>\n"
        f"<body>\n{as_svg(canvas)}\n{explanation._repr_html_()}\n</body></html>\n"
    )


def compose(scene: Scene, photo: Photo | None = None) -> Canvas:
    """Return the picture of `scene`, on top of the image file `photo` if there is one."""
    places = placed(scene, None if photo is None else photo.size)
    drawing = _Drawing(scene, places, Room(places.width, places.height), over_photo=photo is not None)
    frame = (0.0, 0.0, places.width, places.height)
    shapes: list[Shape] = []
    if scene.has_places:
        shapes.append(Rect(frame, "#cfcfcf", 1.0, fill="#f7f7f5", kind="frame"))
    if photo is not None:
        width, height = scene.size or photo.size
        shapes.append(replace(photo, box=(0.0, 0.0, width * places.scale, height * places.scale)))
    shapes += drawing.shapes()
    shapes += _captions(scene, places)
    height = places.height + len(scene.captions) * CAPTION * LINE_HEIGHT + 12
    return Canvas(round(places.width), round(height), scene.captions[0][0], tuple(shapes))


def colour_of(rule: int) -> str:
    """Return the colour of a rule."""
    return OTHER_COLOUR if rule == NO_RULE else RULE_COLOURS[rule % len(RULE_COLOURS)]


@dataclass
class _Drawing:
    """Boxes are below arrows, arrows below text; space is assigned in the order of importance."""

    scene: Scene
    places: Placed
    room: Room
    over_photo: bool
    below: list[Shape] = field(default_factory=list)
    arrows: list[Shape] = field(default_factory=list)
    above: list[Shape] = field(default_factory=list)

    def shapes(self) -> list[Shape]:
        nodes = sorted(self.places.nodes.values(), key=_importance)
        self.below = [shape for node in nodes for shape in _frame(node, self.over_photo)]
        for node in nodes:
            if node.solid:
                self._write(node, node.box)
        links = [link for link in self.scene.links if {link.subject, link.object} <= self.places.nodes.keys()]
        paths = [(link, self._path(link)) for link in links]
        strong = [(link, path) for link, path in paths if link.matters]
        for link, path in strong:
            self._arrow(link, path)
        for node in reversed(nodes):
            if node.thing.matters:
                self._label(node)
        for place, (link, path) in enumerate(strong):
            self._name(link, path, must=place < MAX_NAMED)
        for node in reversed(nodes):
            if not node.thing.matters:
                self._label(node)
        for link, path in paths:
            if not link.matters:
                self._faint(link, path)
        return [*self.below, *self.arrows, *self.above]

    # objects --------------------------------------------------------------------------------------

    def _label(self, node: DrawnThing) -> None:
        if node.solid:
            return
        matters = node.thing.matters
        text, size = shortened(node.thing.text), SIZE if matters else SMALL_TEXT
        room = tag_size(text, size, bold=matters)
        box = self.room.place(room, _beside(node.box, *room), must=matters)
        if box is None:
            return
        if gap(box, node.box) > 12:
            centre = (box[0] + box[2] / 2, box[1] + box[3] / 2)
            self.arrows.append(Stroke(centre, node.anchor, _colour(node.thing), 1.0, 0.8, kind="leader"))
        self._write(node, box)

    def _write(self, node: DrawnThing, box: Box) -> None:
        thing, text, kind = node.thing, shortened(node.thing.text), f"label {node.thing.kind}"
        if node.solid:
            self.room.take(box)
        if thing.matters:
            tag = Tag(box, text, SIZE, "#ffffff", _colour(thing), bold=True, kind=kind, title=thing.title)
        elif node.solid:
            tag = Tag(box, text, SIZE, OTHER_TEXT, kind=kind, title=thing.title)
        else:
            tag = Tag(box, text, SMALL_TEXT, OTHER_TEXT, "#ffffff", opacity=0.85, kind=kind, title=thing.title)
        self.above.append(tag)

    # relations ------------------------------------------------------------------------------------

    def _path(self, link: Link) -> tuple[Point, Point]:
        one, two = self.places.nodes[link.subject], self.places.nodes[link.object]
        across, down = direction(one.anchor, two.anchor)
        both_ways = any((k.subject, k.object) == (link.object, link.subject) for k in self.scene.links)
        start, end = (moved(node.anchor, (-down, across), SIDE if both_ways else 0.0) for node in (one, two))
        return cut_line(start, end, *(_reach(node, across, down) for node in (one, two)))

    def _arrow(self, link: Link, path: tuple[Point, Point]) -> None:
        if link.subject == link.object:
            return
        start, end = path
        if self.over_photo:
            self.arrows.append(Stroke(start, end, "#ffffff", 5.0, 0.7, kind="halo"))
        self.arrows.append(Stroke(start, end, _colour(link), 2.2, 1.0, link.is_query, 11.0, f"link {link.kind}"))
        for node in (self.places.nodes[link.subject], self.places.nodes[link.object]):
            if not node.solid:
                x, y = node.anchor
                dot = (x - DOT, y - DOT, 2 * DOT, 2 * DOT)
                self.arrows.append(Rect(dot, "#ffffff", 1.0, 1.0, _colour(node.thing), kind="dot"))
                self.room.take(dot)
        steps = int(math.dist(start, end) // 10)
        points = (_along(path, i / max(steps, 1)) for i in range(steps + 1))
        self.room.better_free += [(x - 3, y - 3, 6.0, 6.0) for x, y in points]

    def _name(self, link: Link, path: tuple[Point, Point], must: bool) -> Box | None:
        size, colour, kind = (13.0, _colour(link), "used") if link.matters else (SMALL_TEXT, OTHER_TEXT, "other")
        text = shortened(link.text)
        box = self.room.place(tag_size(text, size), _beside_line(path, *tag_size(text, size)), must)
        if box is not None:
            self.above.append(Tag(box, text, size, colour, "#ffffff", kind=f"relation {kind}", title=link.text))
        return box

    def _faint(self, link: Link, path: tuple[Point, Point]) -> None:
        """Draw an arrow that no rule uses, if there is space for its label."""
        if link.subject != link.object and self._name(link, path, must=False) is not None:
            self.arrows.insert(0, Stroke(*path, OTHER_COLOUR, 1.0, 0.75, head=7.0, kind="link other"))


def _importance(node: DrawnThing) -> tuple[bool, bool, float]:
    """A sort key: the most important node comes last, and small boxes after large ones."""
    return node.thing.is_query, node.thing.is_used, -node.box[2] * node.box[3]


def _colour(shown: Shown) -> str:
    return QUERY_COLOUR if shown.is_query else colour_of(shown.rule)


def _frame(node: DrawnThing, over_photo: bool) -> list[Shape]:
    thing, matters, kind = node.thing, node.thing.matters, f"box {node.thing.kind}"
    fill, width = "#ffffff" if node.solid else "none", 3.5 if thing.is_query else 2.5 if thing.is_used else 1.0
    colour = "#ffffff" if over_photo and not matters else _colour(thing)
    opacity = 1.0 if matters or node.solid else 0.8
    frame = Rect(node.box, colour, width, opacity, fill, kind, thing.name, thing.title)
    if not over_photo:
        return [frame]
    # An image may be dark or bright, so each frame has a halo of the opposite kind.
    edge, opacity = ("#ffffff", 0.7) if matters else ("#000000", 0.35)
    return [Rect(node.box, edge, width + 2.5, opacity, kind="halo"), frame]


# places for labels --------------------------------------------------------------------------------------


def _beside(box: Box, width: float, height: float) -> list[Point]:
    """Return positions around the corners of the box, outside first, then inside."""
    x, y, w, h = box
    lefts = [x + width / 2, x + w - width / 2, x + w / 2]
    outside = [(left, top) for top in (y - height / 2 - 1, y + h + height / 2 + 1) for left in lefts]
    tops = (y + height / 2 + 2, y + h - height / 2 - 2)
    inside = [(left, top) for top in tops for left in (lefts[0] + 2, lefts[1] - 2)]
    beside = [(x - width / 2 - 2, y + height / 2), (x + w + width / 2 + 2, y + height / 2)]
    roomy = w > width + 4 and h > 2.5 * height
    return [*inside[:2], *outside, *inside[2:], *beside] if roomy else [*outside, *beside, *inside]


def _beside_line(path: tuple[Point, Point], width: float, height: float) -> list[Point]:
    """Return positions on the line, if it stays visible on both sides of the text, then beside it."""
    across, down = direction(*path)
    covered = min(width / max(abs(across), 1e-6), height / max(abs(down), 1e-6))
    parts = (0.5, 0.42, 0.58, 0.34, 0.66, 0.26, 0.74)
    points = [_along(path, part) for part in parts]
    aside = (width * abs(down) + height * abs(across)) / 2 + 5
    off = [moved(point, (-down, across), aside * side) for point in points for side in (1, -1)]
    return [*points, *off] if math.dist(*path) > covered + 36 else off


def _along(path: tuple[Point, Point], part: float) -> Point:
    return moved(path[0], direction(*path), math.dist(*path) * part)


def _reach(node: DrawnThing, across: float, down: float) -> float:
    """Return the distance from the middle of the node to its border in this direction."""
    _, _, width, height = node.box
    to_border = min(width / 2 / max(abs(across), 1e-9), height / 2 / max(abs(down), 1e-9))
    return to_border + 3 if node.solid else DOT + 2


# captions below the picture -----------------------------------------------------------------------------


def _captions(scene: Scene, places: Placed) -> list[Shape]:
    shapes: list[Shape] = []
    shown = {thing.rule for thing in scene.things} | {link.rule for link in scene.links}
    for row, (text, rule) in enumerate(scene.captions):
        top = places.height + 6 + row * CAPTION * LINE_HEIGHT
        colour = QUERY_COLOUR if row == 0 else "#1a1a1a" if rule == NO_RULE else colour_of(rule)
        if row == 0 or rule != NO_RULE:
            # An empty square: nothing in the picture has this colour.
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


# positions of objects ---------------------------------------------------------------------------------


@dataclass(frozen=True)
class DrawnThing:
    """A `thing` on the canvas, in a `box`. `anchor` is where arrows end; at a `solid` node they end at its border."""

    thing: Thing
    box: Box
    anchor: Point
    solid: bool


@dataclass(frozen=True)
class Placed:
    """The `nodes` by name, the `width` and `height` of the picture, and the `scale` of the image."""

    nodes: dict[str, DrawnThing]
    width: float
    height: float
    scale: float = 1.0


def placed(scene: Scene, image_size: tuple[float, float] | None = None) -> Placed:
    """Place every object of `scene`; `image_size` is that of the image file, if there is one."""
    if scene.has_places:
        return _at_places(scene, image_size)
    if sum(thing.is_query for thing in scene.things) == 2:
        return _columns(scene)
    return _rings(scene)


# boxes --------------------------------------------------------------------------------------------------


def _at_places(scene: Scene, image_size: tuple[float, float] | None) -> Placed:
    assert scene.extent is not None
    extent = scene.extent
    width, height = scene.size or image_size or (max(extent[0], 1.0) * 1.02, max(extent[1], 1.0) * 1.02)
    longer = max(width, height)
    scale = min(max(longer, MIN_SIDE), MAX_SIDE) / longer
    width, height = width * scale, height * scale
    nodes = _anchored([(thing, _clipped(thing.box, scale, width, height)) for thing in scene.things if thing.box])
    homeless = [thing for thing in scene.things if thing.box is None and thing.matters]
    if homeless:
        nodes |= _row(homeless, width, height)
        height += 2 * SIZE * 2
    return Placed(nodes, width, height, scale)


def _clipped(box: Box, scale: float, width: float, height: float) -> Box:
    """Clip a box to the image: annotated boxes may cross its border."""
    left, top = (min(max(value * scale, 0), limit - 2) for value, limit in zip(box[:2], (width, height)))
    right, bottom = ((box[i] + box[i + 2]) * scale for i in (0, 1))
    return left, top, max(min(right, width) - left, 2.0), max(min(bottom, height) - top, 2.0)


def _anchored(things: Sequence[tuple[Thing, Box]]) -> dict[str, DrawnThing]:
    """Choose the points where arrows end: small boxes first, since they have the least choice; unused ones last."""

    def key(item: tuple[Thing, Box]) -> tuple[bool, float, str]:
        thing, box = item
        return not thing.matters, box[2] * box[3], thing.name

    points: list[Point] = []
    found = {}
    for thing, (x, y, width, height) in sorted(things, key=key):
        choice = [(x + width * across, y + height * down) for across, down in zip(ACROSS, DOWN)]
        apart = [min((math.dist(point, other) for other in points), default=MIN_DISTANCE) for point in choice]
        far_enough = (p for p, distance in zip(choice, apart) if distance >= MIN_DISTANCE)
        best = next(far_enough, choice[apart.index(max(apart))])
        points.append(best)
        found[thing.name] = DrawnThing(thing, (x, y, width, height), best, False)
    return found


def _row(things: Sequence[Thing], width: float, top: float) -> dict[str, DrawnThing]:
    """Place objects without a box below the image."""
    places = [(width * (i + 0.5) / len(things), top + 2 * SIZE) for i in range(len(things))]
    return {thing.name: _solid(thing, place) for thing, place in zip(things, places)}


# graphs without boxes -----------------------------------------------------------------------------------


def _solid(thing: Thing, centre: Point) -> DrawnThing:
    width, height = _node_size(thing)
    return DrawnThing(thing, (centre[0] - width / 2, centre[1] - height / 2, width, height), centre, True)


def _node_size(thing: Thing) -> tuple[float, float]:
    width, height = tag_size(shortened(thing.text), SIZE, bold=True)
    return width + 10, height + 8


def _distances(start: str, names: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Return the steps from the start along links in either direction; unreached names are one beyond the farthest."""
    steps, front = {start: 0}, {start}
    while front:
        known = [k for k in links if not k.is_query]
        beside = {end for k in known for end in (k.subject, k.object) if k.other(end) in front}
        depth = max(steps.values()) + 1
        front = {name for name in beside if name not in steps and name in names}
        steps |= dict.fromkeys(sorted(front), depth)
    beyond = max(steps.values()) + 1
    return {name: steps.get(name, beyond) for name in names}


def _rings(scene: Scene) -> Placed:
    """Place the query in the middle, its neighbours around it, and the others outside, near what they are linked to."""
    names = [thing.name for thing in scene.things]
    things = {thing.name: thing for thing in scene.things}
    query = next((t.name for t in scene.things if t.is_query), names[0])
    depth = _distances(query, names, scene.links)
    rings = [[n for n in names if (1 if depth[n] == 1 else 2) == ring and n != query] for ring in (1, 2)]
    inner, outer = rings if rings[0] else (rings[1], [])
    widest = max(_node_size(thing)[0] for thing in scene.things) + NODE_GAP
    longest = max((tag_size(shortened(k.text), SIZE)[0] for k in scene.links if k.rule != NO_RULE), default=0.0)
    radius = max(widest * 1.1, widest * len(inner) / 5, widest + longest)
    far = max(radius + widest * 0.95, widest * len(outer) / 6) if outer else radius
    angles = _spread(inner, 0.0)
    wished = {name: _mean_angle(name, angles, scene.links) for name in outer}
    outer.sort(key=lambda name: (wished[name], name))
    angles |= _near(outer, wished, min(1.2 * widest / far, 2 * math.pi / max(len(outer), 1)))
    flat = 0.62  # screens are wider than they are high
    centres = {query: (0.0, 0.0)}
    for name, angle in angles.items():
        reach = far if name in outer else radius
        centres[name] = (reach * math.cos(angle), reach * flat * math.sin(angle))
    return _trimmed([_solid(things[name], centres[name]) for name in names])


def _trimmed(nodes: Sequence[DrawnThing]) -> Placed:
    """Move nodes into the corner, with a margin for labels."""
    left, top = (min(node.box[i] for node in nodes) - MARGIN for i in (0, 1))
    right, bottom = (max(node.box[i] + node.box[i + 2] for node in nodes) + MARGIN for i in (0, 1))
    moved = {n.thing.name: _solid(n.thing, (n.anchor[0] - left, n.anchor[1] - top)) for n in nodes}
    return Placed(moved, max(right - left, MIN_WIDTH), bottom - top)


def _spread(names: Sequence[str], start: float) -> dict[str, float]:
    """Return angles that spread the names evenly around the ring, in this order."""
    return {name: start + 2 * math.pi * i / len(names) for i, name in enumerate(names)}


def _near(names: Sequence[str], wished: dict[str, float], gap: float) -> dict[str, float]:
    """Return angles that are at least `gap` apart, as a fan around each of the `wished` ones, sorted like `names`."""
    fans = [(wish, list(fan)) for wish, fan in groupby(names, key=lambda name: round(wished[name], 3))]
    # Fans push those after them on, so the first one comes after the widest free part of the circle.
    turn = 2 * math.pi
    free = [(wish - fans[i - 1][0]) % turn or turn for i, (wish, _) in enumerate(fans)]
    first = free.index(max(free)) if free else 0
    found: dict[str, float] = {}
    for wish, fan in [*fans[first:], *((wish + turn, fan) for wish, fan in fans[:first])]:
        begin = wish - gap * (len(fan) - 1) / 2
        if found:
            begin = max(begin, max(found.values()) + gap)
        found |= {name: begin + gap * i for i, name in enumerate(fan)}
    return found


def _mean_angle(name: str, angles: dict[str, float], links: Sequence[Link]) -> float:
    beside = [link.other(name) for link in links if name in (link.subject, link.object)]
    ends = [angles[other] for other in beside if other in angles]
    if not ends:
        return 2 * math.pi
    return math.atan2(sum(map(math.sin, ends)), sum(map(math.cos, ends))) % (2 * math.pi)


def _columns(scene: Scene) -> Placed:
    """Place X at the left, Y at the right, and the entities between them by their distance from X."""
    things = {thing.name: thing for thing in scene.things}
    first, last = [thing.name for thing in scene.things if thing.is_query]
    depth = _distances(first, list(things), scene.links)
    depth[last] = max([depth[n] + 1 for n in things if n != last])
    columns = [[n for n in things if depth[n] == d] for d in sorted(set(depth.values()))]
    gap = max([160.0, *(tag_size(shortened(k.text), SIZE)[0] + 50 for k in scene.links)])
    height = max(max(map(len, columns)) * 64.0, 150.0) + 60
    nodes, left = {}, 0.0
    for column in columns:
        widest = max(_node_size(things[name])[0] for name in column)
        for i, name in enumerate(column):
            # Middle columns are a little lower, so that the arrow of the query can be straight.
            lower = 34.0 if name not in (first, last) and len(column) % 2 else 0.0
            nodes[name] = _solid(things[name], (left + widest / 2, height * (i + 0.5) / len(column) + lower))
        left += widest + gap
    return _trimmed([nodes[name] for name in things])
