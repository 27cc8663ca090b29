"""A drawing as a list of shapes, placement of labels without overlaps, and output as SVG or PNG.

The SVG has no scripts, and everything from the data is escaped. One pixel of the canvas is one pixel of a PNG. The same
canvas gives the same bytes.

Lengths are in pixels, points are (x, y) from the top left; `width`, `height` and `size` (of text) are lengths,
`opacity` is from 0 to 1; `kind` and `name` tell programs that read the drawing what a shape stands for; `title` is its
tooltip.
"""

from __future__ import annotations

import base64
import io
import math
import re
import struct
import unicodedata
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape
from pathlib import Path
from typing import Any

from ..errors import DataError, require

Box = tuple[float, float, float, float]
"""x, y, width, height."""
Point = tuple[float, float]

LINE_HEIGHT = 1.45
"""Height of a label, as a multiple of its text size."""
PADDING = 4.0
MAX_CHARACTERS = 40
"""Limit of a label; its tooltip has the whole text."""
MARGIN = 2.0
"""Between two labels."""
RING, RINGS = 14.0, 40
"""A label that must be shown searches for free space on rings around its place: their distance and their number."""
FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that are not allowed in XML, not even escaped."""
DPI = 100
POINTS = 72 / DPI
"""matplotlib measures text and lines in points."""
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG segments that give the size."""


@dataclass(frozen=True)
class Rect:
    """A rectangle, `box`, with an outline of the colour `stroke`, filled with `fill`."""

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
    """A line from `start` to `end` of this `colour`, `dashed` or not; an arrow if the length of its `head` is not 0."""

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
    """A `text` of this `colour`, `bold` or not, in the middle of its `box`, or with `at_left` at its left.

    `fill` is the colour of the box.
    """

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
    """An image file, unchanged: its `content`, of a `media_type`, is drawn in the `box`."""

    box: Box
    content: bytes
    media_type: str

    @property
    def size(self) -> tuple[float, float]:
        """Width and height in pixels."""
        return self.box[2], self.box[3]


Shape = Rect | Stroke | Tag | Photo


@dataclass(frozen=True)
class Canvas:
    """A drawing: its size in pixels, its title, and its `shapes` from back to front."""

    width: int
    height: int
    title: str
    shapes: tuple[Shape, ...]


def text_width(text: str, size: float) -> float:
    """Estimate the width of `text` in a sans-serif font, rather too large than too small."""
    return size * sum(map(_advance, text))


def _advance(character: str) -> float:
    if unicodedata.east_asian_width(character) in "WF":
        return 1.05
    if character in " .,:;'|!ijlI()[]ftr/-":
        return 0.4
    if character in "mwMW@%+=":
        return 0.92
    return 0.72 if character.isupper() else 0.64


def shortened(text: str, limit: int = MAX_CHARACTERS) -> str:
    """Return the text, cut to `limit` characters if it is longer."""
    return text if len(text) <= limit else text[: limit - 1] + "…"


def tag_size(text: str, size: float, bold: bool = False) -> tuple[float, float]:
    """Return width and height of a label with `text` of this size, `bold` or not."""
    return text_width(text, size) * (1.12 if bold else 1.0) + 2 * PADDING, size * LINE_HEIGHT


def overlap(one: Box, two: Box, gap: float = 0.0) -> bool:
    """Return whether two boxes, `one` and `two`, share some area, or are nearer than `gap`."""
    return (
        one[0] < two[0] + two[2] + gap
        and two[0] < one[0] + one[2] + gap
        and one[1] < two[1] + two[3] + gap
        and two[1] < one[1] + one[3] + gap
    )


def gap(one: Box, two: Box) -> float:
    """Return the distance between two boxes, `one` and `two`; 0 if they overlap."""
    across = max(one[0] - two[0] - two[2], two[0] - one[0] - one[2], 0.0)
    down = max(one[1] - two[1] - two[3], two[1] - one[1] - one[3], 0.0)
    return math.hypot(across, down)


def shaft_end(stroke: Stroke) -> Point:
    """Return where the line of an arrow, `stroke`, ends.

    That is inside its head, so that its blunt end does not show at the tip.
    """
    return moved(stroke.end, direction(stroke.start, stroke.end), -0.7 * stroke.head)


def arrow_head(stroke: Stroke) -> tuple[Point, Point, Point]:
    """Return the corners of the head of `stroke`, the tip first."""
    across, down = direction(stroke.start, stroke.end)
    back, half = moved(stroke.end, (across, down), -stroke.head), 0.42 * stroke.head
    return stroke.end, moved(back, (-down, across), half), moved(back, (-down, across), -half)


def direction(start: Point, end: Point) -> Point:
    """Return the unit vector from `start` to `end`; (1, 0) if they are the same."""
    length = math.dist(start, end)
    return ((end[0] - start[0]) / length, (end[1] - start[1]) / length) if length else (1.0, 0.0)


def moved(point: Point, way: Point, distance: float) -> Point:
    """Return `point` moved by a `distance` along a direction, the unit vector `way`."""
    return point[0] + way[0] * distance, point[1] + way[1] * distance


def cut_line(start: Point, end: Point, before: float, after: float) -> tuple[Point, Point]:
    """Return the line from `start` to `end` without the lengths `before` at its start and `after` at its end."""
    way = direction(start, end)
    return moved(start, way, before), moved(end, way, -after)


@dataclass
class Room:
    """Greedy placement: each label takes the first of its positions that is free.

    Attributes:
        taken: boxes that no label may cover.
        better_free: arrows, which labels avoid if possible.
    """

    width: float
    height: float
    taken: list[Box] = field(default_factory=list)
    better_free: list[Box] = field(default_factory=list)

    def take(self, box: Box) -> None:
        """Mark a box as taken."""
        self.taken.append(box)

    def place(self, size: tuple[float, float], centres: Iterable[Point], must: bool = True) -> Box | None:
        """Return a box of this size at one of the `centres`; None if all are taken, unless it `must` be shown."""
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


# image files --------------------------------------------------------------------------------------------


def read_photo(path: str | Path) -> Photo:
    """Read a PNG or JPEG file and its size, without decoding it."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise DataError(f"cannot be read ({error.strerror or error})", path) from error
    try:
        if content.startswith(PNG):
            return _photo(content, "image/png", *struct.unpack(">II", content[16:24]))
        if content.startswith(JPEG):
            return _photo(content, "image/jpeg", *_jpeg_size(content))
    except (struct.error, ValueError):
        raise DataError("expected a complete PNG or JPEG image, got one that is incomplete or damaged", path) from None
    raise DataError(f"expected a PNG or JPEG image, got a file that begins with {content[:8]!r}", path)


def _photo(content: bytes, media_type: str, width: int, height: int) -> Photo:
    if min(width, height) <= 0:
        raise ValueError
    return Photo((0.0, 0.0, float(width), float(height)), content, media_type)


def _jpeg_size(content: bytes) -> tuple[int, int]:
    at = 2
    while True:
        mark, kind, length = struct.unpack(">BBH", content[at : at + 4])
        if mark != 0xFF:
            raise ValueError
        if kind in JPEG_FRAMES:
            height, width = struct.unpack(">HH", content[at + 5 : at + 9])
            return width, height
        # Between segments there may be fill bytes of 0xFF.
        at += 1 if kind == 0xFF else 2 + length


# SVG --------------------------------------------------------------------------------------------------


def as_svg(canvas: Canvas, link: Callable[[str], tuple[str, str] | None] = lambda name: None) -> str:
    """Return the drawing as SVG.

    Args:
        canvas: The drawing.
        link: Returns the address of the page of a shape, by name, and its label; None if it has no page.
    """
    body = [
        element("title", escaped(canvas.title)),
        element("rect", width="100%", height="100%", fill="#ffffff"),
        *(_linked(shape, link(shape.name)) if isinstance(shape, Rect) else _shape(shape) for shape in canvas.shapes),
    ]
    width, height = float(canvas.width), float(canvas.height)
    # The content of an image is hidden from a screen reader, so a drawing with links is none.
    role = "group" if any('href="' in shape for shape in body) else "img"
    return picture(width, height, "\n" + "\n".join(body) + "\n", role, font_family=FONT) + "\n"


def picture(width: float, height: float, body: str, role: str = "img", **attributes: str | float | None) -> str:
    """Return an SVG picture of this size.

    `body` is markup, `role` is for screen readers, and `attributes` are those of `element`.
    """
    box = f"0 0 {_number(width)} {_number(height)}"
    size: dict[str, str | float | None] = {"width": width, "height": height, "viewBox": box, "role": role}
    return element("svg", body, xmlns="http://www.w3.org/2000/svg", **size, **attributes)


def element(name: str, body: str = "", /, **attributes: str | float | None) -> str:
    """Return the element `name` with its body, which is markup.

    `attributes` are escaped, numbers are written to two digits, and None leaves an attribute out; `class_` and
    `stroke_width` become class and stroke-width.

    >>> element("rect", class_="a", stroke_width=0.123, fill=None)
    '<rect class="a" stroke-width="0.12"/>'
    """
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            shown = escaped(value) if isinstance(value, str) else _number(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    return f"<{' '.join(words)}>{body}</{name}>" if body else f"<{' '.join(words)}/>"


def _linked(rect: Rect, page: tuple[str, str] | None) -> str:
    if page is None or not rect.name:
        return _shape(rect)
    address, label = page
    return element("a", _shape(rect), href=address, class_="node", aria_label=label)


def _shape(shape: Shape) -> str:
    match shape:
        case Rect():
            return element(
                "rect",
                titled(shape.title),
                class_=shape.kind,
                data_name=shape.name or None,
                **_place(shape.box),
                fill=shape.fill,
                stroke=shape.stroke,
                stroke_width=shape.width,
                opacity=shape.opacity,
            )
        case Stroke(colour=colour):
            style = {"stroke": colour, "fill": colour, "class_": shape.kind}
            return element("g", arrow(shape), **style, stroke_width=shape.width, opacity=shape.opacity)
        case Tag():
            return element("g", _tag(shape), class_=shape.kind, opacity=shape.opacity)
        case Photo(box, content, media_type):
            data = f"data:{media_type};base64,{base64.b64encode(content).decode('ascii')}"
            return element("image", **_place(box), preserveAspectRatio="none", href=data)


def arrow(stroke: Stroke) -> str:
    """Return a line, `stroke`, and its head, if any; the element around it sets the colours."""
    (x1, y1), (x2, y2) = stroke.start, shaft_end(stroke)
    line = element("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke_dasharray="7 5" if stroke.dashed else None)
    points = " ".join(f"{_number(x)},{_number(y)}" for x, y in arrow_head(stroke))
    return line + element("polygon", points=points, class_="arrow", stroke="none") if stroke.head else line


def _tag(tag: Tag) -> str:
    x, y, width, height = tag.box
    back = element("rect", **_place(tag.box), rx=3.0, fill=tag.fill) if tag.fill != "none" else ""
    style: dict[str, str | float | None] = {
        "text_anchor": "start" if tag.at_left else "middle",
        "font_size": tag.size,
        "font_weight": "bold" if tag.bold else None,
        "fill": tag.colour,
        "xml:space": "preserve",
    }
    left, baseline = x if tag.at_left else x + width / 2, y + height / 2 + tag.size * 0.36
    return titled(tag.title) + back + element("text", escaped(tag.text), x=left, y=baseline, **style)


def titled(title: str) -> str:
    """Return the tooltip of the element around it; nothing for an empty title."""
    return element("title", escaped(title)) if title else ""


def _place(box: Box) -> dict[str, float]:
    return dict(zip(("x", "y", "width", "height"), box))


def _number(value: float) -> str:
    """Format with two digits, a hundredth of a pixel, the same on every machine."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def escaped(text: str) -> str:
    """Return `text` from data, safe in XML."""
    return escape(FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)


# PNG --------------------------------------------------------------------------------------------------


def write_png(canvas: Canvas, path: Path) -> None:
    """Draw with matplotlib, one pixel per pixel of the canvas."""
    require("matplotlib", "report", "a picture as PNG")
    # Not pyplot: it would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(canvas.width / DPI, canvas.height / DPI), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    for order, shape in enumerate(canvas.shapes, start=1):
        _draw(axes, shape, order)
    axes.set_xlim(0, canvas.width)
    axes.set_ylim(canvas.height, 0)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Glyph")  # a name in a script that the font lacks is shown as boxes
        # No date and no version: the same canvas gives the same bytes.
        figure.savefig(path, format="png", metadata={"Software": None})


def _draw(axes: Any, shape: Shape, order: int) -> None:
    from matplotlib.patches import FancyBboxPatch, Polygon, Rectangle

    if isinstance(shape, Photo):
        x, y, width, height = shape.box
        axes.imshow(_pixels(shape), extent=(x, x + width, y + height, y), aspect="auto", zorder=order)
        return
    style: dict[str, Any] = {"alpha": shape.opacity, "zorder": order}
    if isinstance(shape, Stroke):
        xs, ys = zip(shape.start, shaft_end(shape))
        dashes = "--" if shape.dashed else "-"
        axes.plot(xs, ys, color=shape.colour, linewidth=shape.width * POINTS, linestyle=dashes, **style)
        if shape.head:
            axes.add_patch(Polygon(arrow_head(shape), closed=True, facecolor=shape.colour, edgecolor="none", **style))
        return
    x, y, width, height = shape.box
    if isinstance(shape, Rect):
        style |= {"facecolor": shape.fill, "edgecolor": shape.stroke, "linewidth": shape.width * POINTS}
        axes.add_patch(Rectangle((x, y), width, height, **style))
        return
    if shape.fill != "none":
        rounded: dict[str, Any] = {"boxstyle": "round,pad=0,rounding_size=3", "linewidth": 0, "facecolor": shape.fill}
        axes.add_patch(FancyBboxPatch((x, y), width, height, **rounded, **style))
    left, align = (x, "left") if shape.at_left else (x + width / 2, "center")
    style |= {"color": shape.colour, "fontsize": shape.size * POINTS, "parse_math": False}
    style |= {"fontweight": "bold" if shape.bold else "normal", "ha": align, "va": "center_baseline"}
    axes.text(left, y + height / 2, shape.text, **style)


def _pixels(photo: Photo) -> Any:
    from matplotlib.image import imread

    try:
        return imread(io.BytesIO(photo.content), format=photo.media_type.rpartition("/")[2])
    except (OSError, SyntaxError, ValueError) as error:  # what the decoders raise for damaged files
        raise DataError(f"the image cannot be decoded ({error}); give a complete PNG or JPEG file") from error
