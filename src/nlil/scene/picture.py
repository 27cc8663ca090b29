"""draw: an explanation as a picture; write_picture: to a file, .svg, .png or .html.

For a scene the graph of the image, boxes at their places; for other facts the proof as a graph. One layout
(`compose`) is drawn by two back ends, `picture_svg` and `picture_png`.
"""

from __future__ import annotations

from html import escape
from pathlib import Path

from ..data.files import replacing
from ..data.kb import KnowledgeBase
from ..errors import ConfigError
from ..explanation.explanation import Explanation
from .picture_canvas import Canvas
from .picture_drawing import compose
from .picture_photo import read_photo
from .picture_scene import scene_of
from .picture_svg import as_svg

FORMATS = (".svg", ".png", ".html")


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
    if scene.size is not None and abs(scene.size[0] * photo.height / (scene.size[1] * photo.width) - 1) > 0.03:
        raise ConfigError(
            f"{image}: expected an image of the shape {scene.size[0]:.0f} x {scene.size[1]:.0f}, as the "
            f"data says, got {photo.width} x {photo.height}; name the image that the graph belongs to",
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
            from .picture_png import write_png

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
