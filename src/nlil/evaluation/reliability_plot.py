"""The reliability plot: predicted probability against the true share, before and after calibration."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..data.arrays import Doubles
from ..errors import require
from ..kernel.calibration import Calibration
from .calibration import BINS, Reliability, before_and_after, expected_calibration_error, reliability
from .candidates import Candidates
from .metrics import wilson_interval

LOOKS = {"before": ("score", "tab:orange"), "after": ("calibrated", "tab:blue")}


def plot_reliability(
    candidates: Candidates,
    calibration: Calibration | None,
    path: str | Path,
    title: str = "",
    is_own_sample: bool = False,
) -> Path:
    """Draw a PNG at `path`: the true share of each bin against its mean probability, and its number of candidates.

    Bars are 95 % intervals, so a bin of three candidates is visibly uncertain. `calibration` and `is_own_sample` as in
    `before_and_after`; `title` is the title of the plot.
    """
    from ..data.files import replacing

    require("matplotlib", "report", "the reliability plot")
    # Not pyplot, which would look for a display and keep the figure in a global list.
    from matplotlib.figure import Figure

    path = Path(path)
    figure = Figure(figsize=(5.5, 6.5), dpi=110, layout="constrained")
    shares, counts = figure.subplots(2, 1, sharex=True, height_ratios=(3, 1))
    shares.plot((0, 1), (0, 1), color="gray", linewidth=0.8, linestyle="--", label="perfectly calibrated")
    edges = np.linspace(0, 1, BINS + 1)
    for stage, values in before_and_after(candidates, calibration, is_own_sample).items():
        name, colour = LOOKS[stage]
        table = reliability(values, candidates.is_true)
        error = expected_calibration_error(values, candidates.is_true)
        shares.errorbar(
            table.predicted,
            table.true,
            yerr=interval(table),
            color=colour,
            linewidth=0,
            elinewidth=1.2,
            capsize=2,
            marker="o",
            markersize=5,
            label=f"{name}, ECE {error:.3f}".replace(" 0.", " ."),
        )
        number = np.histogram(values, edges)[0]
        counts.stairs(number, edges, color=colour, fill=True, alpha=0.25)
        counts.stairs(number, edges, color=colour)
    shares.set_title(title)
    shares.set_ylabel("share that is true")
    shares.set_ylim(-0.03, 1.03)
    shares.legend(loc="upper left", frameon=False)
    counts.set_yscale("log")
    counts.set_ylim(bottom=0.7)
    counts.set_ylabel("candidates")
    counts.set_xlabel("predicted probability")
    for axes in (shares, counts):
        axes.set_xlim(-0.02, 1.02)
        axes.grid(alpha=0.3)
        axes.set_axisbelow(True)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path


def interval(table: Reliability) -> Doubles:
    """Return (2, bins): how far Wilson's interval extends below and above each share of `table`.

    It is not empty even if all or none are true.
    """
    ends = np.array([wilson_interval(true * count, count) for true, count in zip(table.true, table.count)])
    return np.abs(ends.reshape(-1, 2).T - table.true)
