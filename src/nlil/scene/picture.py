"""draw: an explanation as a picture; write_picture: to a file, .svg, .png or .html.

For a scene the graph of the image, boxes at their places; for other facts the proof as a graph.
"""

from __future__ import annotations

import struct
from html import escape
from pathlib import Path

from ..data.files import replacing
from ..data.kb import KnowledgeBase
from ..errors import ConfigError, DataError
from ..explanation.why import Explanation
from .canvas import Canvas, Photo, as_svg, write_png
from .picture_content import scene_of
from .picture_layout import compose

FORMATS = (".svg", ".png", ".html")
PNG, JPEG = b"\x89PNG\r\n\x1a\n", b"\xff\xd8\xff"
JPEG_FRAMES = {*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC}
"""JPEG segments that give the size."""


def draw(explanation: Explanation, kb: KnowledgeBase, image: str | Path | None = None) -> Canvas:
    """The picture; over the image (a PNG or JPEG file) where one is given."""
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
            f"{image}: expected an image of the shape {scene.size[0]:.0f} x {scene.size[1]:.0f}, as the "
            f"data says, got {width:.0f} x {height:.0f}; name the image that the graph belongs to",
            "image",
        )
    return compose(scene, photo)


def check_picture_name(path: str | Path) -> None:
    if Path(path).suffix.lower() not in FORMATS:
        raise ConfigError(f"{path}: expected a name ending in {', '.join(FORMATS)}", "out")


def write_picture(canvas: Canvas, path: str | Path, explanation: Explanation) -> Path:
    """Whole or not at all; the ending names the format."""
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
    """One self-contained page: the picture, and the explanation below it."""
    return (
        "<!DOCTYPE html>\n<html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'>"
        f"<title>{escape(canvas.title)}</title>\n"
        "<style>body{font-family:sans-serif;max-width:90rem;margin:1rem auto;padding:0 1rem;line-height:1.45}"
        "svg{max-width:100%;height:auto}code{white-space:pre-wrap}small{color:#555}</style></head>\n"
        f"<body>\n{as_svg(canvas)}\n{explanation._repr_html_()}\n</body></html>\n"
    )


def read_photo(path: str | Path) -> Photo:
    """A PNG or JPEG file with its size; nothing is decoded here."""
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
        raise DataError("expected a whole PNG or JPEG image, got one that is cut short or damaged", path) from None
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
