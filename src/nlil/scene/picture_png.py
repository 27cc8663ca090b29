"""A canvas as PNG, through matplotlib: one pixel of the canvas is one pixel of the file."""

from __future__ import annotations

import io
import warnings
from pathlib import Path
from typing import Any

from ..errors import DataError, require
from .picture_canvas import Canvas, Photo, Rect, Shape, Stroke, Tag
from .picture_svg import arrow_head, shaft_end

DPI = 100
POINTS = 72 / DPI
"""matplotlib measures text and lines in points."""


def write_png(canvas: Canvas, path: Path) -> None:
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

    match shape:
        case Rect((x, y, width, height)):
            axes.add_patch(
                Rectangle(
                    (x, y),
                    width,
                    height,
                    facecolor=shape.fill,
                    edgecolor=shape.stroke,
                    linewidth=shape.width * POINTS,
                    alpha=shape.opacity,
                    zorder=order,
                )
            )
        case Stroke(start):
            end = shaft_end(shape)
            axes.plot(
                (start[0], end[0]),
                (start[1], end[1]),
                color=shape.colour,
                linewidth=shape.width * POINTS,
                alpha=shape.opacity,
                linestyle="--" if shape.dashed else "-",
                zorder=order,
            )
            if shape.head:
                axes.add_patch(
                    Polygon(
                        arrow_head(shape),
                        closed=True,
                        facecolor=shape.colour,
                        edgecolor="none",
                        alpha=shape.opacity,
                        zorder=order,
                    )
                )
        case Tag((x, y, width, height)):
            if shape.fill != "none":
                axes.add_patch(
                    FancyBboxPatch(
                        (x, y),
                        width,
                        height,
                        boxstyle="round,pad=0,rounding_size=3",
                        linewidth=0,
                        facecolor=shape.fill,
                        alpha=shape.opacity,
                        zorder=order,
                    )
                )
            axes.text(
                x if shape.at_left else x + width / 2,
                y + height / 2,
                shape.text,
                color=shape.colour,
                fontsize=shape.size * POINTS,
                fontweight="bold" if shape.bold else "normal",
                parse_math=False,
                ha="left" if shape.at_left else "center",
                va="center_baseline",
                alpha=shape.opacity,
                zorder=order,
            )
        case Photo((x, y, width, height)):
            axes.imshow(_pixels(shape), extent=(x, x + width, y + height, y), aspect="auto", zorder=order)


def _pixels(photo: Photo) -> Any:
    from matplotlib.image import imread

    try:
        return imread(io.BytesIO(photo.content), format=photo.media_type.rpartition("/")[2])
    except (OSError, SyntaxError, ValueError) as error:  # what the decoders raise for damaged files
        raise DataError(f"the image cannot be decoded ({error}); give a whole PNG or JPEG file") from error
