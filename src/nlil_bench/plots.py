"""Figures of benches as pictures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from nlil.errors import require

from .length import LENGTHS, LONGEST_EPOCH, levels_for

Entries = Mapping[str, Mapping[str, Any]]


def plot_length(entries: Entries, path: Path) -> Path:
    """Seconds of an epoch against the longest rule, both axes logarithmic: a power is a straight line."""
    from nlil.data.files import replacing

    require("matplotlib", "report", "the picture of the epoch times")
    # Not pyplot: it would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(7, 4.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    axes = figure.add_subplot()
    data = ", ".join(sorted({entry["data"] for entry in entries.values()}))
    for label, colour, points in (
        ("nlil, T = 2, levels grow", "tab:blue", our_points(entries)),
        ("chain model", "tab:orange", chain_points(entries)),
    ):
        if points:
            axes.plot(*zip(*points), color=colour, marker="o", label=label)
    axes.axhline(LONGEST_EPOCH, color="gray", linestyle="--", linewidth=1)
    axes.text(LENGTHS[-1], LONGEST_EPOCH * 1.1, "20 min", color="gray", ha="right", va="bottom")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log")
    axes.set_xticks(LENGTHS, [str(length) for length in LENGTHS])
    axes.minorticks_off()
    axes.set_xlabel("longest rule, body atoms")
    axes.set_ylabel("seconds of an epoch, one thread")
    axes.set_title(f"One epoch on {data}")
    axes.grid(alpha=0.3)
    axes.legend(frameon=False, loc="center right")
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path


def our_points(entries: Entries) -> list[tuple[int, float]]:
    """(length, seconds): every length by the smallest model that has it."""
    by_levels = {e["levels"]: e["seconds"]["epoch"] for e in entries.values() if e["model"] == "nlil"}
    return [(length, by_levels[levels_for(length)]) for length in LENGTHS if levels_for(length) in by_levels]


def chain_points(entries: Entries) -> list[tuple[int, float]]:
    return sorted((e["length"], e["seconds"]["epoch"]) for e in entries.values() if e["model"] == "chain")


def plot_fewshot(entries: Entries, path: Path) -> Path:
    """R@1 against the share of the training graphs, one panel for each data set, a line for each model."""
    from nlil.data.files import replacing

    from .fewshot import lines
    from .scene_tables import line_name

    require("matplotlib", "report", "the picture of the shares")
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    sets = lines(entries)
    figure = Figure(figsize=(4.8 * max(len(sets), 1), 3.9), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    models = list(dict.fromkeys(model for by_model in sets.values() for model in by_model))
    for position, (data, by_model) in enumerate(sets.items(), start=1):
        axes = figure.add_subplot(1, len(sets), position)
        for model, by_share in by_model.items():
            points = [(100 * share, entry["metrics"]["r@1"]) for share, entry in sorted(by_share.items())]
            axes.plot(
                *zip(*points),
                color=f"C{models.index(model)}",
                marker="o",
                markersize=4,
                label=line_name(model).replace("*", ""),
            )
        shares = sorted({100 * share for by_share in by_model.values() for share in by_share})
        axes.set_xscale("log")
        axes.set_xticks(shares, [f"{share:g}" for share in shares])
        axes.minorticks_off()
        axes.set_ylim(bottom=0)
        axes.set_xlabel("training graphs, %")
        axes.set_title(data)
        axes.grid(alpha=0.3)
        if position == 1:
            axes.set_ylabel("R@1, test objects")
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path
