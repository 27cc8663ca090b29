"""The figures of nlil bench curve as a picture: MRR against seconds of learning, one panel for each data set."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from nlil.errors import require

from .cells import Entries
from .curve import OURS, PEER, pairs

if TYPE_CHECKING:
    from matplotlib.axes import Axes

LINES = ((OURS, "nlil", "tab:blue", "o"), (PEER, "AnyBURL + PyClause, its best ranking", "tab:orange", "s"))
ACROSS = 3


def plot_curve(entries: Entries, path: Path) -> Path:
    from nlil.data.files import replacing

    require("matplotlib", "report", "the picture of the curves")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sets = pairs(entries)
    down = math.ceil(len(sets) / ACROSS)
    across = min(len(sets), ACROSS)
    figure = Figure(figsize=(4.2 * across, 3.2 * down + 0.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for position, (data, limits) in enumerate(sets.items(), start=1):
        axes = figure.add_subplot(down, across, position)
        _panel(axes, data, limits)
        if position % across == 1 or across == 1:
            axes.set_ylabel("MRR, test facts")
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=2, frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path


def _panel(axes: Axes, data: str, limits: Mapping[int, Mapping[str, Mapping[str, Any]]]) -> None:
    for model, label, colour, marker in LINES:
        points = line(limits, model)
        if points:
            axes.plot(*zip(*points), color=colour, marker=marker, markersize=4, label=label)
    axes.set_xscale("log")
    axes.set_xticks(list(limits), [str(limit) for limit in limits])
    axes.minorticks_off()
    axes.set_xlabel("seconds of learning")
    axes.set_title(data)
    axes.grid(alpha=0.3)


def line(limits: Mapping[int, Mapping[str, Mapping[str, Any]]], model: str) -> list[tuple[float, float]]:
    """(seconds, MRR). A run that took longer than its limit stands where it really ended, never to the left of that."""
    found = [(limit, models[model]) for limit, models in limits.items() if model in models]
    return [(max(float(limit), entry["seconds"]["learn"]), entry["metrics"]["mrr"]) for limit, entry in found]
