"""Tables of entries as Markdown: their cells, the sentences below them, and pictures."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from nlil.errors import require

from .results import Entries, Entry


def measured(entries: Entries) -> dict[str, Entry]:
    """The entries without those of --quick."""
    return {key: entry for key, entry in entries.items() if not entry.get("quick")}


NOT_MEASURED = "Not measured yet."


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], right: Sequence[int] | range = (), *below: str) -> str:
    """Return a Markdown table, or NOT_MEASURED if there are no rows.

    Args:
        head: The names of the columns.
        rows: The cells.
        right: The columns that are aligned to the right.
        below: Paragraphs below the table.
    """
    if not rows:
        return NOT_MEASURED
    rule = ["--:" if i in right else "---" for i in range(len(head))]
    table = "\n".join("| " + " | ".join(cells) + " |" for cells in (head, rule, *rows))
    return "\n\n".join((table, *below))


def source_text(command: str, entries: Entries) -> str:
    """The sentence below a table: the command that measures it, and at which commits and on which days it was run.

    If they differ, it says how many of the `entries` are of each, so that nobody compares versions unknowingly.
    """
    unknown = "an unrecorded commit"
    stamps = (f"commit {e['commit']} on {e['date']}" if e.get("commit") else unknown for e in entries.values())
    counts = sorted(Counter(stamps).items(), key=lambda found: (found[0] == unknown, found[0].split()[::-1]))
    if len(counts) < 2:
        return f"Measured by `{command}`{''.join(f' ({stamp})' for stamp, _ in counts)}."
    parts = "; ".join(f"{count} at {stamp}" for stamp, count in counts)
    return f"Measured by `{command}`, with different versions of the code ({parts})."


def machine_text(machine: Mapping[str, Any]) -> str:
    """The accelerator, or the number of cores."""
    if machine["device"] != "cpu":
        return str(machine["device"])
    return "1 core" if machine["cores"] == 1 else f"{machine['cores']} cores"


def share_text(value: float | None, deviation: float | None = None) -> str:
    """A number from 0 to 1 with three digits.

    >>> share_text(0.95), share_text(None), share_text(0.95, 0.004)
    ('.950', '', '.950 ± .004')
    """
    spread = "" if deviation is None else f" ± {share_text(deviation)}"
    return "" if value is None else f"{value:.3f}".removeprefix("0") + spread


# pictures -------------------------------------------------------------------------------------------------

PANELS_ACROSS = 3


@dataclass(frozen=True)
class PictureLine:
    """A line of a picture: its `label` in the legend, its `points` (x, y), its `colour` and `style`."""

    label: str
    points: Sequence[tuple[float, float]]
    colour: str
    style: str = "-"


@dataclass(frozen=True)
class Panel:
    """One diagram: its `lines`, the `ticks` of its x axis, the label of its `y` axis."""

    lines: Sequence[PictureLine]
    ticks: Sequence[float]
    y: str


def draw_panels(path: Path, panels: Mapping[str, Panel], x: str, log_y: bool = False) -> Path:
    """Draw the panels, by title, as PNG to `path`; `x` labels their x axes, which are logarithmic."""
    from nlil.data.files import replacing

    require("matplotlib", "report", "the picture of the figures")
    # Not pyplot: it would look for a display and keep the figure in a global list.
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    across = min(len(panels), PANELS_ACROSS)
    down = -(-len(panels) // across)
    figure = Figure(figsize=(4.2 * across, 3.2 * down + 0.5), dpi=110, layout="constrained")
    FigureCanvasAgg(figure)
    for place, (title, panel) in enumerate(panels.items(), start=1):
        axes = figure.add_subplot(down, across, place, title=title, xlabel=x, ylabel=panel.y, xscale="log")
        for line in filter(lambda line: line.points, panel.lines):
            axes.plot(*zip(*line.points), line.style, color=line.colour, marker=".", label=line.label)
        axes.set_yscale("log" if log_y else "linear")
        axes.set_xticks(panel.ticks, [f"{tick:g}" for tick in panel.ticks])
        axes.minorticks_off()
        axes.grid(alpha=0.3)
    handles = {label: handle for axes in figure.axes for handle, label in zip(*axes.get_legend_handles_labels())}
    figure.legend(list(handles.values()), list(handles), loc="outside lower center", ncols=3, frameon=False)
    with replacing(path) as temporary:
        figure.savefig(temporary, format="png")
    return path
