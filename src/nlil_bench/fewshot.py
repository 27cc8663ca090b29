"""nlil bench fewshot: R@1 against the share of the training graphs (the paper's figure c), ours, Freq and the MLP."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from . import scene
from .methods import OURS
from .registry import Bench, Request
from .results import Entries, Entry, markdown, measured, picture, share_text, shared_legend, source_text

DATA = ("vrd", "hico-det")
QUICK_DATA = ("street",)
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
QUICK_SHARES = (1.0, 0.1)
MODELS = (OURS, "freq", "mlp")
PROTOCOL = "R@1 on all test objects. Smaller shares are parts of larger ones, drawn by the seed."


def jobs(
    data: str, model: str | None, settings: Sequence[str], options: Mapping[str, Any], quick: bool
) -> list[dict[str, Any]]:
    """Largest share first. Settings that were given are for the model that was, else for ours."""
    about = model or OURS
    return [
        scene.job(data, name, settings if name == about else (), options, quick, share, "fewshot")
        for share in (QUICK_SHARES if quick else SHARES)
        for name in ([model] if model else MODELS)
    ]


def entries(request: Request, data: str) -> Iterator[dict[str, Entry]]:
    """Every share, every model."""
    chosen = jobs(data, request.model, request.settings, request.options, request.quick)
    yield from request.measure_each(chosen, scene.key)


def by_share(entries: Entries) -> dict[str, dict[str, dict[float, Entry]]]:
    """data -> model with its settings -> share -> entry, in the order of tables."""

    def place(entry: Entry) -> tuple[Any, ...]:
        data = DATA.index(entry["data"]) if entry["data"] in DATA else len(DATA)
        model = MODELS.index(entry["model"]) if entry["model"] in MODELS else len(MODELS)
        return data, entry["data"], model, entry["settings"], -entry["share"]

    found: dict[str, dict[str, dict[float, Entry]]] = {}
    for entry in sorted(entries.values(), key=place):
        name = " ".join([entry["model"], *entry["settings"]])
        found.setdefault(entry["data"], {}).setdefault(name, {})[entry["share"]] = entry
    return found


def line_name(model: str) -> str:
    """A model with its settings, as a column is called.

    >>> line_name("freq prior=on")
    'Freq, our code, prior=on'
    """
    name, _, settings = model.partition(" ")
    return f"{scene.NAMES[name]}, {settings}" if settings else scene.NAMES[name]


def fewshot_table(entries: Entries) -> str:
    """A row for each data set and share, a column for each model."""
    shown = measured(entries)
    found = by_share(shown)
    models = list(dict.fromkeys(model for of_data in found.values() for model in of_data))
    rows = []
    for data, of_data in found.items():
        for share in sorted({share for of_model in of_data.values() for share in of_model}, reverse=True):
            some = {model: of_model[share] for model, of_model in of_data.items() if share in of_model}
            graphs = next(iter(some.values()))["num_graphs"]
            figures = (share_text(some[model]["metrics"]["r@1"]) if model in some else "" for model in models)
            rows.append((data, f"{100 * share:g} %", f"{graphs:,}", *figures))
    head = ("data", "training graphs", "graphs", *map(line_name, models))
    table = markdown(head, rows, right=range(1, len(head)))
    return f"{table}\n\n{PROTOCOL} {source_text('nlil bench fewshot', shown)}" if rows else table


def plot_fewshot(entries: Entries, path: Path) -> Path:
    """R@1 against the share of the training graphs, one panel for each data set, a line for each model."""
    sets = by_share(entries)
    models = list(dict.fromkeys(model for of_data in sets.values() for model in of_data))
    with picture(path, 4.8 * max(len(sets), 1), 3.9) as figure:
        for position, (data, of_data) in enumerate(sets.items(), start=1):
            axes = figure.add_subplot(1, len(sets), position)
            for model, of_model in of_data.items():
                points = [(100 * share, entry["metrics"]["r@1"]) for share, entry in sorted(of_model.items())]
                colour, label = f"C{models.index(model)}", line_name(model).replace("*", "")
                axes.plot(*zip(*points), color=colour, marker="o", markersize=4, label=label)
            shares = sorted({100 * share for of_model in of_data.values() for share in of_model})
            axes.set_xscale("log")
            axes.set_xticks(shares, [f"{share:g}" for share in shares])
            axes.minorticks_off()
            axes.set_ylim(bottom=0)
            axes.set_xlabel("training graphs, %")
            axes.set_title(data)
            axes.grid(alpha=0.3)
            if position == 1:
                axes.set_ylabel("R@1, test objects")
        shared_legend(figure, columns=3)
    return path


BENCH = Bench(
    scene.measure,
    entries,
    {"fewshot": fewshot_table},
    DATA,
    QUICK_DATA,
    frozenset({"data", "model", "set"}),
    models=tuple(scene.ROWS),
    check=scene.check,
    draw=plot_fewshot,
)
