"""The reliability plot: what scores say against what is so, before and after calibration."""

from __future__ import annotations

from pathlib import Path

from ..errors import require
from .calibration import Calibration, reliability
from .candidates import Candidates


def plot_reliability(candidates: Candidates, calibration: Calibration | None, path: str | Path,
                     title: str = "") -> Path:
    """A PNG: the true share of each bin against its mean probability, and below it how many candidates it has."""
    from ..data.files import replacing

    require("matplotlib", "report", "the reliability plot")
    # Not pyplot: it would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    path = Path(path)
    figure = Figure(figsize=(5.5, 6.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    shares, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    shares.plot((0, 1), (0, 1), color="gray", linewidth=0.8, linestyle="--")
    curves = [("score", "tab:orange", candidates.score)]
    if calibration is not None and calibration.maps:
        curves.append(("calibrated", "tab:blue", calibration.probabilities(candidates)))
    for label, colour, values in curves:
        table = reliability(values, candidates.is_true)
        shares.plot(table.said, table.true, marker="o", color=colour, label=label)
        counts.plot(table.said, table.count, marker="o", color=colour)
    shares.set_title(title)
    shares.set_ylabel("share that is true")
    shares.legend(loc="upper left", frameon=False)
    counts.set_yscale("log")
    counts.set_ylabel("candidates")
    counts.set_xlabel("probability said")
    for axes in (shares, counts):
        axes.grid(alpha=0.3)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path
