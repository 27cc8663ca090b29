"""Learning curves: the history of a run as a picture.

`history` has one record for each target and epoch, as in history.jsonl.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ..errors import require

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Points = list[tuple[float, float]]


class Curve(NamedTuple):
    """One line of a panel: the `key` of the records that it shows, its `label` and `colour`."""

    key: str
    label: str
    colour: str


Panel = tuple[str, tuple[Curve, ...]]
PANELS: tuple[Panel, ...] = (
    ("loss", (Curve("loss", "training", "tab:blue"), Curve("valid_loss", "validation", "tab:orange"))),
    ("validation F1", (Curve("valid_f1", "validation F1", "tab:green"),)),
    ("attention entropy", (Curve("entropy", "entropy", "tab:purple"),)),
)
FAINT, BOLD = 0.25, 2.2
MANY_TARGETS = 40
"""With more targets, the line of each is fainter, so that the mean stays visible."""


def plot_history(history: Sequence[Mapping[str, Any]], path: str | Path) -> Path:
    """Draw a PNG of loss, validation F1 and attention entropy against the epoch: each target faint, their mean bold."""
    from ..data.files import replacing

    path = Path(path)
    figure = _figure(history, PANELS, 13, 4)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png", dpi=110)
    return path


def _figure(history: Sequence[Mapping[str, Any]], panels: Sequence[Panel], width: float, height: float) -> Figure:
    require("matplotlib", "report", "the picture of the learning curves")
    # Not pyplot, which would look for a display and keep the figure in a global list.
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    for position, (title, curves) in enumerate(panels, start=1):
        _draw(figure.add_subplot(1, len(panels), position), history, title, curves)
    return figure


def _draw(axes: Axes, history: Sequence[Mapping[str, Any]], title: str, curves: Iterable[Curve]) -> None:
    num_targets = 0
    for curve in curves:
        by_target = points(history, curve.key)
        num_targets = max(num_targets, len(by_target))
        alpha = FAINT if len(by_target) < MANY_TARGETS else FAINT / 3
        for line in by_target.values():
            # A dot makes a target with a single epoch visible.
            axes.plot(*zip(*line), color=curve.colour, alpha=alpha, linewidth=0.8, marker="." if len(line) == 1 else "")
        if by_target:
            axes.plot(*zip(*mean(by_target)), color=curve.colour, linewidth=BOLD, label=curve.label)
    axes.set_title(title)
    axes.set_xlabel("epoch")
    axes.grid(alpha=0.3)
    if "F1" in title:
        axes.set_ylim(-0.02, 1.02)
    if num_targets:
        # A fixed corner: finding the best one takes seconds with many lines.
        axes.legend(
            loc="lower right" if "F1" in title else "upper right",
            frameon=False,
            title=f"mean of {num_targets} targets" if num_targets > 1 else None,
        )
    else:
        axes.text(0.5, 0.5, "not measured", ha="center", va="center", transform=axes.transAxes, color="gray")


def points(history: Iterable[Mapping[str, Any]], key: str) -> dict[str, Points]:
    """Return (epoch, value) of each target by epoch; records without a value under `key` are skipped."""
    found: dict[str, Points] = defaultdict(list)
    for record in history:
        epoch, value = record.get("epoch"), record.get(key)
        if epoch is not None and value is not None and isfinite(value):
            found[str(record.get("target", ""))].append((float(epoch), float(value)))
    return {target: sorted(line) for target, line in found.items()}


def mean(by_target: Mapping[str, Points]) -> Points:
    """Return the mean of `by_target` at every epoch.

    A target that stopped early counts with its last value, so that the mean does not jump.

    >>> mean({"p": [(0, 1.0), (1, 0.5)], "q": [(0, 2.0)]})
    [(0, 1.5), (1, 1.25)]
    """
    epochs = sorted({epoch for line in by_target.values() for epoch, _ in line})
    latest: dict[str, float] = {}
    values = {target: dict(line) for target, line in by_target.items()}
    averaged = []
    for epoch in epochs:
        latest |= {target: known[epoch] for target, known in values.items() if epoch in known}
        averaged.append((epoch, sum(latest.values()) / len(latest)))
    return averaged
