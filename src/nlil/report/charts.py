"""Line charts as SVG: small enough for a phone, without scripts, style sheets or other packages."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from typing import Any

from ..learning.curves import Points, mean, points
from ..logic.figures import number
from ..theory.theory import SIZES, SizeScore

WIDTH, HEIGHT = 360, 230
"""Size of a chart in pixels; fits on a phone."""
LEFT, RIGHT, TOP, BOTTOM = 46, 10, 12, 42
"""Margins around the lines, for ticks and labels."""
INK, QUIET, GRID = "#1b2230", "#545d6d", "#d5dae2"
BLUE, ORANGE, GREEN, PURPLE = "#14548f", "#b35900", "#1d6b3a", "#6a3d9a"
MIN_TICKS = 4
MAX_EPOCH_TICKS = 6
Place = Callable[[tuple[float, float]], tuple[float, float]]
"""Maps a point to its position in the picture."""
MANY_LINES = 40
"""With more targets, their lines are fainter, so that the mean stays visible."""


@dataclass(frozen=True)
class ChartLine:
    """The `points` (x, y) of one line of this `colour`.

    `label` is shown in the legend unless empty; `faint` is the opacity, below 1 for one of many lines; with
    `has_values`, points are marked with their values.
    """

    points: Sequence[tuple[float, float]]
    colour: str
    label: str = ""
    faint: float = 1.0
    has_values: bool = False


@dataclass(frozen=True)
class Axis:
    """An axis from `low` to `high` with a `label`; `ticks` are values with their texts; `is_log`: log scale."""

    low: float
    high: float
    ticks: Sequence[tuple[float, str]]
    label: str
    is_log: bool = False

    def share(self, value: float) -> float:
        """Return the position of `value` between the ends, in [0, 1]."""
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(value)
        return (value - low) / (high - low)


@dataclass(frozen=True)
class Level:
    """A horizontal line at the y `value`, with its `text` above it if `is_above`, else below."""

    value: float
    text: str
    is_above: bool = True


def chart(
    title: str, lines: Sequence[ChartLine], x: Axis, y: Axis, level: Level | None = None, marked: float = math.nan
) -> str:
    """Draw a line chart as SVG.

    Args:
        title: a description for screen readers.
        lines: the lines, in drawing order.
        x, y: the axes.
        level: a level to compare the lines with.
        marked: the x of highlighted points.
    """

    def at(point: tuple[float, float]) -> tuple[float, float]:
        across = LEFT + x.share(point[0]) * (WIDTH - LEFT - RIGHT)
        down = HEIGHT - BOTTOM - y.share(point[1]) * (HEIGHT - TOP - BOTTOM)
        return round(across, 1), round(down, 1)

    drawn = [*_grid(x, y, at)]
    for line in lines:
        drawn += _line(line, at, marked, level is None or level.is_above)
    if level is not None:
        _, down = at((x.low, level.value))
        drawn.append(
            f'<path d="M{LEFT} {down}H{WIDTH - RIGHT}" stroke="{INK}" stroke-width="1.3" stroke-dasharray="5 4"/>'
        )
        drawn.append(_text(level.text, WIDTH - RIGHT, down + (-5 if level.is_above else 15), "end", INK))
    legend = [line for line in lines if line.label]
    for place, line in enumerate(legend if len(legend) > 1 else ()):
        down = TOP + 12 + 15 * place
        drawn.append(f'<path d="M{WIDTH - 106} {down - 4}h16" stroke="{line.colour}" stroke-width="2.5"/>')
        drawn.append(_text(line.label, WIDTH - 86, down, "start", INK))
    name = escape(title)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="chart" role="img" aria-label="{name}" width="{WIDTH}" '
        f'height="{HEIGHT}" viewBox="0 0 {WIDTH} {HEIGHT}" font-size="12"><title>{name}</title>{"".join(drawn)}</svg>'
    )


def _grid(x: Axis, y: Axis, at: Place) -> Iterable[str]:
    bottom = HEIGHT - BOTTOM
    for value, text in y.ticks:
        _, down = at((x.low, value))
        yield f'<path d="M{LEFT} {down}H{WIDTH - RIGHT}" stroke="{GRID}"/>'
        yield _text(text, LEFT - 5, down + 4, "end", QUIET)
    for value, text in x.ticks:
        across, _ = at((value, y.low))
        yield f'<path d="M{across} {bottom}v4" stroke="{QUIET}"/>'
        yield _text(text, across, bottom + 16, "middle", QUIET)
    yield f'<path d="M{LEFT} {TOP}V{bottom}H{WIDTH - RIGHT}" fill="none" stroke="{QUIET}"/>'
    middle = (TOP + bottom) / 2
    yield _text(x.label, (LEFT + WIDTH - RIGHT) / 2, HEIGHT - 8, "middle", INK)
    yield _text(y.label, 12, middle, "middle", INK, f' transform="rotate(-90 12 {middle:g})"')


def _line(line: ChartLine, at: Place, marked: float, is_below: bool) -> Iterable[str]:
    """Draw the line, with the values below its points if `is_below`, else above."""
    places = [at(point) for point in line.points]
    look = f'fill="none" stroke="{line.colour}" stroke-width="{1 if line.faint < 1 else 2.2}"'
    faint = f' stroke-opacity="{line.faint:g}"' if line.faint < 1 else ""
    if len(places) > 1:
        yield f'<polyline points="{" ".join(f"{a:g},{b:g}" for a, b in places)}" {look}{faint}/>'
    for (value, height), (across, down) in zip(line.points, places):
        if line.has_values or len(places) == 1:
            radius = 5 if value == marked else 3
            yield f'<circle cx="{across:g}" cy="{down:g}" r="{radius}" fill="{line.colour}"/>'
        if line.has_values:
            yield _text(number(height), across, down + (18 if is_below else -9), "middle", line.colour)


def _text(text: str, across: float, down: float, anchor: str, colour: str, more: str = "") -> str:
    place = f'x="{across:g}" y="{down:g}" text-anchor="{anchor}"'
    return f'<text {place} fill="{colour}"{more}>{escape(text)}</text>'


def from_zero(highest: float, label: str) -> Axis:
    """Return an axis with this `label` from 0 to a round number of at least `highest`."""
    unit = 10.0 ** math.floor(math.log10(max(highest, 1e-9)))
    step = next(s for s in (5 * unit, 2 * unit, unit, unit / 2, unit / 5) if highest / s >= MIN_TICKS - 1)
    count = math.ceil(highest / step - 1e-9)
    ticks = [(i * step, number(i * step).rstrip("0").rstrip(".") or "0") for i in range(count + 1)]
    return Axis(0.0, count * step, ticks, label)


# quality against size ----------------------------------------------------------------------------------


def size_chart(curve: Sequence[SizeScore], pool_score: float, pool_text: str, size: int) -> str:
    """Draw the quality of theories on validation facts by size, compared with the pool of all rules.

    Args:
        curve: the score at each size.
        pool_score: the score of all rules.
        pool_text: the text for all rules, such as "all 1,200 rules".
        size: the size of the theory that is shown.
    """
    highest = max(pool_score, *(point.mrr for point in curve))
    y = from_zero(highest, "MRR")
    y = replace(y, high=max(y.high, 1.12 * highest))  # room for the text above the level
    x = Axis(SIZES[0] * 0.7, SIZES[-1] * 1.25, [(s, str(s)) for s in SIZES], "rules per predicate, at most", True)
    line = ChartLine([(point.size, point.mrr) for point in curve], BLUE, has_values=True)
    values = ", ".join(f"{point.size}: {number(point.mrr)}" for point in curve)
    title = f"MRR of validation facts by rules per predicate: {values}; {pool_text}: {number(pool_score)}"
    level = Level(pool_score, f"{pool_text}: {number(pool_score)}", pool_score >= curve[-1].mrr)
    return chart(title, [line], x, y, level, size)


# training curves -------------------------------------------------------------------------------------


PANELS: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "loss": (("loss", "training", BLUE), ("valid_loss", "validation", ORANGE)),
    "validation F1": (("valid_f1", "", GREEN),),
    "attention entropy": (("entropy", "", PURPLE),),
}
"""The charts of a training history: (key, label, colour) of the lines of each chart, by its name."""

TRAINING_PANELS = ("loss", "validation F1")
"""The charts shown for a single target."""


def history_charts(history: Sequence[Mapping[str, Any]], panels: Iterable[str] = PANELS) -> list[str]:
    """Draw the training `history`: a chart for each of `panels` that has data.

    Targets are faint lines, their mean is bold.
    """
    return [drawn for name in panels if (drawn := _panel(history, name)) is not None]


def _panel(history: Sequence[Mapping[str, Any]], name: str) -> str | None:
    faint: list[ChartLine] = []
    bold: list[ChartLine] = []
    most = 0
    for key, label, colour in PANELS[name]:
        by_target: Mapping[str, Points] = points(history, key)
        if not by_target:
            continue
        most = max(most, len(by_target))
        opacity = 0.3 if len(by_target) < MANY_LINES else 0.1
        faint += [ChartLine(line, colour, faint=opacity) for line in by_target.values() if len(by_target) > 1]
        bold.append(ChartLine(mean(by_target), colour, label))
    if not bold:
        return None
    every = [point for line in (*faint, *bold) for point in line.points]
    y = from_zero(1.0 if "F1" in name else max(1e-3, *(value for _, value in every)), name)
    title = f"{name} by epoch" + (f", mean of {most} targets" if most > 1 else "")
    return chart(title, [*faint, *bold], epochs([epoch for epoch, _ in every]), y)


def epochs(found: Sequence[float]) -> Axis:
    """Return an axis that covers the epochs `found`."""
    low, high = min(found), max(found)
    span = max(high - low, 1.0)
    step = max(1, next(s for s in (1, 2, 5, 10, 20, 50, 100, 200, 500, 10**9) if span / s <= MAX_EPOCH_TICKS))
    first = math.ceil(low / step) * step
    ticks = [(float(e), f"{e:,}") for e in range(int(first), int(high) + 1, step)]
    return Axis(low, low + span, ticks, "epoch")
