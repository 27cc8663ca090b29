"""What a report draws as SVG: bars and learning curves, and the pieces of text that they are made of.

Names from the data enter through `text` and `titled` only, which escape them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from ..learning.curves import PANELS, Curve, Points, mean, points

WIDTH, HEIGHT = 328.0, 230.0
LEFT, RIGHT, TOP, BOTTOM = 46.0, 10.0, 28.0, 52.0
TICKS = 4
MAX_FAINT_LINES = 40
"""Targets with a faint line of their own, the first by name; the mean is over all."""


def number(value: float) -> str:
    """
    >>> number(12.0), number(3.14159), number(-0.001)
    ('12', '3.14', '0')
    """
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, body: str = "", **attributes: str | float) -> str:
    """`class_` and `stroke_width` are written as class and stroke-width; numbers to two places."""
    words = [name]
    for key, value in attributes.items():
        shown = escape(value, quote=True) if isinstance(value, str) else number(value)
        words.append(f'{key.rstrip("_").replace("_", "-")}="{shown}"')
    return f"<{' '.join(words)}>{body}</{name}>" if body else f"<{' '.join(words)}/>"


def text(x: float, y: float, content: str, **attributes: str | float) -> str:
    return element("text", escape(content), x=x, y=y, **attributes)


def titled(title: str, body: str, **attributes: str | float) -> str:
    """A group that says `title` where a pointer rests on it."""
    return element("g", f"<title>{escape(title)}</title>{body}", **attributes)


def picture(width: float, height: float, title: str, body: str, kind: str) -> str:
    return (
        f'<svg class="{kind}" role="img" width="{number(width)}" height="{number(height)}" '
        f'viewBox="0 0 {number(width)} {number(height)}"><title>{escape(title)}</title>{body}</svg>'
    )


def path(points: list[tuple[float, float]]) -> str:
    """The `points` attribute of a polyline."""
    return " ".join(f"{number(x)},{number(y)}" for x, y in points)


def bar(share: float, interval: tuple[float, float] | None = None) -> str:
    """A bar of `share` of its width; `interval` is drawn as a line with ends over it."""
    share = min(max(share, 0.0), 1.0)
    body = element("rect", width=100.0, height=10.0, class_="rest") + element(
        "rect", width=100 * share, height=10.0, class_="part"
    )
    if interval is not None:
        low, high = (100 * bound for bound in interval)
        body += element("line", x1=low, x2=high, y1=5.0, y2=5.0, class_="interval")
        for bound in (low, high):
            body += element("line", x1=bound, x2=bound, y1=1.5, y2=8.5, class_="interval")
    return f'<svg class="bar" aria-hidden="true" viewBox="0 0 100 10" preserveAspectRatio="none">{body}</svg>'


# learning curves: each target faint, their mean bold -----------------------------------------------------


def curves(history: Sequence[Mapping[str, Any]]) -> str | None:
    """The panels side by side; None where nothing was trained."""
    drawn = [_panel(title, lines, history) for title, lines in PANELS]
    found = [panel for panel in drawn if panel is not None]
    return "".join(found) or None


def _panel(title: str, lines: Sequence[Curve], history: Sequence[Mapping[str, Any]]) -> str | None:
    measured = {curve: points(history, curve.key) for curve in lines}
    values = [point for by_target in measured.values() for line in by_target.values() for point in line]
    if not values:
        return None
    axes = _Axes(values, is_share="F1" in title)
    body = text(LEFT, 16.0, title, class_="curve-title") + axes.drawn()
    for position, (curve, by_target) in enumerate(measured.items()):
        if by_target:
            body += axes.curve(by_target, position) + axes.key(curve.label, position)
    num_targets = max(map(len, measured.values()))
    return picture(WIDTH, HEIGHT, f"{title} by epoch, mean of {num_targets} targets", body, "curves")


class _Axes:
    def __init__(self, values: Points, is_share: bool) -> None:
        epochs, heights = [x for x, _ in values], [y for _, y in values]
        self.x_low, self.x_high = min(epochs), max(max(epochs), min(epochs) + 1)
        self.y_low, self.y_high = (0.0, 1.0) if is_share else (min(0.0, *heights), max(heights))
        if self.y_high <= self.y_low:
            self.y_high = self.y_low + 1

    def at(self, point: tuple[float, float]) -> tuple[float, float]:
        across = (point[0] - self.x_low) / (self.x_high - self.x_low)
        up = (point[1] - self.y_low) / (self.y_high - self.y_low)
        return LEFT + across * (WIDTH - LEFT - RIGHT), HEIGHT - BOTTOM - up * (HEIGHT - TOP - BOTTOM)

    def drawn(self) -> str:
        result = ""
        for tick in range(TICKS + 1):
            value = self.y_low + (self.y_high - self.y_low) * tick / TICKS
            _, y = self.at((self.x_low, value))
            result += element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y, y2=y, class_="grid")
            result += text(LEFT - 5, y + 4, f"{value:.3g}", text_anchor="end")
        for epoch, anchor in ((self.x_low, "start"), (self.x_high, "end")):
            x, y = self.at((epoch, self.y_low))
            result += text(x, y + 15, number(epoch), text_anchor=anchor)
        return result + text((LEFT + WIDTH - RIGHT) / 2, HEIGHT - BOTTOM + 15, "epoch", text_anchor="middle")

    def curve(self, by_target: Mapping[str, Points], position: int) -> str:
        faint = [by_target[target] for target in sorted(by_target)[:MAX_FAINT_LINES]] if len(by_target) > 1 else []
        result = "".join(self._line(line, f"faint series{position}") for line in faint)
        return result + self._line(mean(by_target), f"mean series{position}")

    def _line(self, line: Points, kind: str) -> str:
        places = [self.at(point) for point in line]
        if len(places) == 1:
            return element("circle", cx=places[0][0], cy=places[0][1], r=3.0, class_=f"dot {kind}")
        return element("polyline", points=path(places), class_=kind)

    def key(self, label: str, position: int) -> str:
        x, y = LEFT + 140.0 * position, HEIGHT - 14.0
        return element("line", x1=x, x2=x + 22, y1=y, y2=y, class_=f"mean series{position}") + text(
            x + 28, y + 4, label
        )
