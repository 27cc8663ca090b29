"""Where objects stand: at the places of their boxes, or on rings around the query, or in columns from X to Y."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from .picture_canvas import Point, shortened, tag_size
from .picture_scene import NO_RULE, Box, Link, Scene, Thing

SIZE = 14.0
"""Of the text of objects that matter."""
SHORTEST, LONGEST_SIDE = 900.0, 1400.0
"""An image whose longer side is not between these is drawn larger or smaller."""
APART = 46.0
"""The least distance of two points where arrows begin and end, if the boxes leave room for it."""
GRID = (
    (0.5, 0.5),
    (0.5, 0.25),
    (0.5, 0.75),
    (0.25, 0.5),
    (0.75, 0.5),
    (0.25, 0.25),
    (0.75, 0.25),
    (0.25, 0.75),
    (0.75, 0.75),
    (0.5, 0.1),
    (0.5, 0.9),
    (0.1, 0.5),
    (0.9, 0.5),
)
"""Where in its box an object may have that point, best first."""
NODE_GAP, EDGE = 40.0, 30.0
NARROWEST = 640.0
"""Rules stand below the picture and want to be read."""


@dataclass(frozen=True)
class Node:
    """A thing on the canvas. `anchor` is where arrows end; at a `solid` node they end at its border."""

    thing: Thing
    box: Box
    anchor: Point
    solid: bool


@dataclass(frozen=True)
class Placed:
    nodes: dict[str, Node]
    width: float
    height: float
    scale: float = 1.0


def placed(scene: Scene, image_size: tuple[float, float] | None = None) -> Placed:
    if scene.has_places:
        return _at_places(scene, image_size)
    if sum(thing.is_query for thing in scene.things) == 2:
        return _columns(scene)
    return _rings(scene)


# boxes --------------------------------------------------------------------------------------------------


def _at_places(scene: Scene, image_size: tuple[float, float] | None) -> Placed:
    boxes = [thing.box for thing in scene.things if thing.box is not None]
    extent = max(box[0] + box[2] for box in boxes), max(box[1] + box[3] for box in boxes)
    width, height = scene.size or image_size or (max(extent[0], 1.0) * 1.02, max(extent[1], 1.0) * 1.02)
    longer = max(width, height)
    scale = min(max(longer, SHORTEST), LONGEST_SIDE) / longer
    width, height = width * scale, height * scale
    nodes = _anchored([(thing, _clipped(thing.box, scale, width, height)) for thing in scene.things if thing.box])
    homeless = [thing for thing in scene.things if thing.box is None and (thing.is_query or thing.is_used)]
    if homeless:
        nodes |= _row(homeless, width, height)
        height += 2 * SIZE * 2
    return Placed(nodes, width, height, scale)


def _clipped(box: Box, scale: float, width: float, height: float) -> Box:
    """Annotators draw boxes that reach over the border."""
    left, top = (min(max(value * scale, 0), limit - 2) for value, limit in zip(box[:2], (width, height)))
    right, bottom = ((box[i] + box[i + 2]) * scale for i in (0, 1))
    return left, top, max(min(right, width) - left, 2.0), max(min(bottom, height) - top, 2.0)


def _anchored(things: Sequence[tuple[Thing, Box]]) -> dict[str, Node]:
    """Small boxes choose first: they have the least choice. What nobody uses comes last and disturbs nobody."""

    def key(item: tuple[Thing, Box]) -> tuple[bool, float, str]:
        thing, box = item
        return not (thing.is_query or thing.is_used), box[2] * box[3], thing.name

    points: list[Point] = []
    found = {}
    for thing, (x, y, width, height) in sorted(things, key=key):
        choice = [(x + width * across, y + height * down) for across, down in GRID]
        apart = [min((math.dist(point, other) for other in points), default=APART) for point in choice]
        best = next((p for p, distance in zip(choice, apart) if distance >= APART), choice[apart.index(max(apart))])
        points.append(best)
        found[thing.name] = Node(thing, (x, y, width, height), best, False)
    return found


def _row(things: Sequence[Thing], width: float, top: float) -> dict[str, Node]:
    """Objects without a box stand below the image."""
    return {
        thing.name: _solid(thing, (width * (i + 0.5) / len(things), top + 2 * SIZE)) for i, thing in enumerate(things)
    }


# graphs without places ----------------------------------------------------------------------------------


def _solid(thing: Thing, centre: Point) -> Node:
    width, height = _node_size(thing)
    return Node(thing, (centre[0] - width / 2, centre[1] - height / 2, width, height), centre, True)


def _node_size(thing: Thing) -> tuple[float, float]:
    width, height = tag_size(shortened(thing.text), SIZE, bold=True)
    return width + 10, height + 8


def _distances(start: str, names: Sequence[str], links: Sequence[Link]) -> dict[str, int]:
    """Steps from the start along links in either direction; what is not reached stands one beyond the farthest."""
    steps, front = {start: 0}, {start}
    while front:
        beside = {
            end
            for k in links
            if not k.is_asked
            for end, other in ((k.subject, k.object), (k.object, k.subject))
            if other in front
        }
        depth = max(steps.values()) + 1
        front = {name for name in beside if name not in steps and name in names}
        steps |= dict.fromkeys(sorted(front), depth)
    beyond = max(steps.values()) + 1
    return {name: steps.get(name, beyond) for name in names}


def _rings(scene: Scene) -> Placed:
    """The query in the middle, its neighbours around it, the others outside, each near what it is linked to."""
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
    angles |= _spread(outer, wished[outer[0]] if outer else 0.0)
    flat = 0.62  # screens are wider than they are high
    centres = {query: (0.0, 0.0)}
    for name, angle in angles.items():
        reach = far if name in outer else radius
        centres[name] = (reach * math.cos(angle), reach * flat * math.sin(angle))
    return _trimmed([_solid(things[name], centres[name]) for name in names])


def _trimmed(nodes: Sequence[Node]) -> Placed:
    """Moved into the corner, with a margin for labels."""
    left, top = (min(node.box[i] for node in nodes) - EDGE for i in (0, 1))
    right, bottom = (max(node.box[i] + node.box[i + 2] for node in nodes) + EDGE for i in (0, 1))
    moved = {n.thing.name: _solid(n.thing, (n.anchor[0] - left, n.anchor[1] - top)) for n in nodes}
    return Placed(moved, max(right - left, NARROWEST), bottom - top)


def _spread(names: Sequence[str], start: float) -> dict[str, float]:
    """Evenly around the ring, in the given order."""
    return {name: start + 2 * math.pi * i / len(names) for i, name in enumerate(names)}


def _mean_angle(name: str, angles: dict[str, float], links: Sequence[Link]) -> float:
    ends = [
        angles[b if a == name else a]
        for k in links
        for a, b in [(k.subject, k.object)]
        if name in (a, b) and (b if a == name else a) in angles
    ]
    if not ends:
        return 2 * math.pi
    return math.atan2(sum(map(math.sin, ends)), sum(map(math.cos, ends))) % (2 * math.pi)


def _columns(scene: Scene) -> Placed:
    """X at the left, Y at the right, the entities between them by their distance from X."""
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
            # Middle columns stand a little lower, so that the arrow of the question has the straight way.
            lower = 34.0 if name not in (first, last) and len(column) % 2 else 0.0
            nodes[name] = _solid(things[name], (left + widest / 2, height * (i + 0.5) / len(column) + lower))
        left += widest + gap
    return _trimmed([nodes[name] for name in things])
