"""A canvas as SVG: plain text, no script, everything from the data escaped. The same canvas gives the same bytes."""

from __future__ import annotations

import base64
import math
import re
from html import escape

from .picture_canvas import Box, Canvas, Photo, Point, Rect, Shape, Stroke, Tag

FONT = "DejaVu Sans, Verdana, Helvetica, Arial, sans-serif"
FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML cannot say, not even escaped."""


def as_svg(canvas: Canvas) -> str:
    size = f'width="{canvas.width}" height="{canvas.height}" viewBox="0 0 {canvas.width} {canvas.height}"'
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" {size} role="img" font-family="{FONT}">',
        f"<title>{_text(canvas.title)}</title>",
        '<rect width="100%" height="100%" fill="#ffffff"/>',
        *map(_shape, canvas.shapes),
        "</svg>",
    ]
    return "\n".join(lines) + "\n"


def _shape(shape: Shape) -> str:
    match shape:
        case Rect():
            return _rect(shape)
        case Stroke():
            return _stroke(shape)
        case Tag():
            return _tag(shape)
        case Photo(box, content, media_type):
            data = base64.b64encode(content).decode("ascii")
            return f'<image {_place(box)} preserveAspectRatio="none" href="data:{media_type};base64,{data}"/>'


def _rect(rect: Rect) -> str:
    name = f' data-name="{_text(rect.name)}"' if rect.name else ""
    body = f"><title>{_text(rect.title)}</title></rect>" if rect.title else "/>"
    return (
        f'<rect class="{rect.kind}"{name} {_place(rect.box)} fill="{rect.fill}" stroke="{rect.stroke}" '
        f'stroke-width="{_number(rect.width)}" opacity="{_number(rect.opacity)}"{body}'
    )


def _stroke(stroke: Stroke) -> str:
    (x1, y1), (x2, y2) = stroke.start, shaft_end(stroke)
    dashes = ' stroke-dasharray="7 5"' if stroke.dashed else ""
    line = (
        f'<line x1="{_number(x1)}" y1="{_number(y1)}" x2="{_number(x2)}" y2="{_number(y2)}" '
        f'stroke="{stroke.colour}" stroke-width="{_number(stroke.width)}"{dashes}/>'
    )
    head = ""
    if stroke.head:
        points = " ".join(f"{_number(x)},{_number(y)}" for x, y in arrow_head(stroke))
        head = f'<polygon points="{points}" fill="{stroke.colour}"/>'
    return f'<g class="{stroke.kind}" opacity="{_number(stroke.opacity)}">{line}{head}</g>'


def _tag(tag: Tag) -> str:
    x, y, width, height = tag.box
    back = f'<rect {_place(tag.box)} rx="3" fill="{tag.fill}"/>' if tag.fill != "none" else ""
    middle, anchor = (x, "start") if tag.at_left else (x + width / 2, "middle")
    weight = ' font-weight="bold"' if tag.bold else ""
    title = f"<title>{_text(tag.title)}</title>" if tag.title else ""
    return (
        f'<g class="{tag.kind}" opacity="{_number(tag.opacity)}">{title}{back}'
        f'<text x="{_number(middle)}" y="{_number(y + height / 2 + tag.size * 0.36)}" text-anchor="{anchor}" '
        f'font-size="{_number(tag.size)}"{weight} fill="{tag.colour}" xml:space="preserve">{_text(tag.text)}'
        "</text></g>"
    )


def shaft_end(stroke: Stroke) -> Point:
    """An arrow's line ends inside its head, so that its blunt end does not show at the tip."""
    if not stroke.head:
        return stroke.end
    across, down = direction(stroke.start, stroke.end)
    return stroke.end[0] - across * stroke.head * 0.7, stroke.end[1] - down * stroke.head * 0.7


def arrow_head(stroke: Stroke) -> tuple[Point, Point, Point]:
    across, down = direction(stroke.start, stroke.end)
    x, y = stroke.end
    back, half = (x - across * stroke.head, y - down * stroke.head), stroke.head * 0.42
    return (x, y), (back[0] - down * half, back[1] + across * half), (back[0] + down * half, back[1] - across * half)


def direction(start: Point, end: Point) -> Point:
    """The unit vector from one point to another; to the right where they are the same."""
    length = math.dist(start, end)
    return ((end[0] - start[0]) / length, (end[1] - start[1]) / length) if length else (1.0, 0.0)


def _place(box: Box) -> str:
    x, y, width, height = map(_number, box)
    return f'x="{x}" y="{y}" width="{width}" height="{height}"'


def _number(value: float) -> str:
    """Two digits are a hundredth of a pixel; the same on every machine."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text == "-0" else text


def _text(text: str) -> str:
    return escape(FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text), quote=True)
