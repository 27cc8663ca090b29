"""nlil bench fewshot: R@1 by the share of the training graphs (the paper's Figure 5c), for nlil, Freq and the MLP."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from . import scene
from .cells import Panel, PictureLine, draw_panels, markdown, measured, share_text, source_text
from .methods import OURS
from .registry import Bench, Request
from .results import Entries, Entry, Job
from .seeds import over_seeds, seeds_word

DATA = ("vrd", "hico-det")
QUICK_DATA = ("street",)
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
QUICK_SHARES = (1.0, 0.1)
MODELS = (OURS, "freq", "mlp")
PROTOCOL = (
    "R@1 on all test objects. Smaller shares are parts of larger ones, drawn by the seed. With several seeds: mean ± "
    "sample standard deviation."
)


def jobs(request: Request, data: str) -> list[Job]:
    """Every share and model, the largest share first. --set is for the model of --model, by default nlil."""
    set_for = request.model or OURS
    return [
        {
            **scene.model_job(request, data, model, request.settings if model == set_for else (), share, "fewshot"),
            "seeds": request.seeds,
        }
        for share in (QUICK_SHARES if request.quick else SHARES)
        for model in ([request.model] if request.model else MODELS)
    ]


def key(entry: Entry, job: Job) -> str:
    """Return the key of a row of bench scene, with the number of seeds."""
    return " ".join(filter(None, (scene.key(entry, job), seeds_word(job))))


def by_share(entries: Entries) -> dict[str, dict[str, dict[float, Entry]]]:
    """data -> model with its settings -> share -> entry, in the order of tables."""

    def place(entry: Entry) -> tuple[Any, ...]:
        data = DATA.index(entry["data"]) if entry["data"] in DATA else len(DATA)
        model = MODELS.index(entry["model"]) if entry["model"] in MODELS else len(MODELS)
        return data, entry["data"], model, entry["settings"], -entry["share"]

    found: dict[str, dict[str, dict[float, Entry]]] = {}
    for entry in sorted(entries.values(), key=lambda entry: (*place(entry), len(entry.get("seeds", ())))):
        name = " ".join([entry["model"], *entry["settings"]])
        found.setdefault(entry["data"], {}).setdefault(name, {})[entry["share"]] = entry  # that of most seeds is last
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
    found = by_share(measured(entries))
    shown = {
        f"{data} {model} {share}": entry
        for data, of_data in found.items()
        for model, of_model in of_data.items()
        for share, entry in of_model.items()
    }
    models = list(dict.fromkeys(model for of_data in found.values() for model in of_data))
    rows = []
    for data, of_data in found.items():
        for share in sorted({share for of_model in of_data.values() for share in of_model}, reverse=True):
            some = {model: of_model[share] for model, of_model in of_data.items() if share in of_model}
            graphs = next(iter(some.values()))["num_graphs"]
            figures = (_figure(some[model]) if model in some else "" for model in models)
            rows.append((data, f"{100 * share:g} %", f"{graphs:,}", *figures))
    head = ("data", "training graphs", "graphs", *map(line_name, models))
    return markdown(head, rows, range(1, len(head)), f"{PROTOCOL} {source_text('nlil bench fewshot --seeds N', shown)}")


def _figure(entry: Entry) -> str:
    return share_text(entry["metrics"]["r@1"], entry.get("deviation", {}).get("r@1"))


def plot_fewshot(entries: Entries, path: Path) -> Path:
    """R@1 against the share of the training graphs, one panel for each data set, a line for each model."""
    sets = by_share(entries)
    models = list(dict.fromkeys(model for of_data in sets.values() for model in of_data))
    panels = {}
    for data, of_data in sets.items():
        lines = []
        for model, of_model in of_data.items():
            points = [(100 * share, entry["metrics"]["r@1"]) for share, entry in sorted(of_model.items())]
            lines.append(PictureLine(line_name(model).replace("*", ""), points, f"C{models.index(model)}"))
        shares = sorted({100 * share for of_model in of_data.values() for share in of_model})
        panels[data] = Panel(lines, shares, "R@1, test objects")
    return draw_panels(path, panels, "training graphs, %")


BENCH = Bench(
    scene.measure,
    {"fewshot": fewshot_table},
    DATA,
    QUICK_DATA,
    frozenset({"data", "model", "seeds", "set"}),
    models=tuple(scene.ROWS),
    entries=over_seeds(jobs, key),
    check=scene.check,
    draw=plot_fewshot,
)
