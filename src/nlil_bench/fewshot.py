"""nlil bench fewshot: R@1 against the share of the training graphs (the paper's figure c), ours, Freq and the MLP."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from . import scene

DATA = ("vrd", "hico-det")
QUICK_DATA = ("street",)
SHARES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.003)
QUICK_SHARES = (1.0, 0.1)
MODELS = (scene.OURS, "freq", "mlp")


def jobs(
    data: str, model: str | None, settings: Sequence[str], options: Mapping[str, Any], quick: bool
) -> list[dict[str, Any]]:
    """Largest share first. Settings that were given are for the model that was, else for ours."""
    about = model or scene.OURS
    return [
        scene.job(data, name, settings if name == about else (), options, quick, share, "fewshot")
        for share in (QUICK_SHARES if quick else SHARES)
        for name in ([model] if model else MODELS)
    ]


def lines(entries: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, dict[float, Mapping[str, Any]]]]:
    """data -> model with its settings -> share -> entry, in the order of tables."""
    found: dict[str, dict[str, dict[float, Mapping[str, Any]]]] = {}
    for entry in sorted(entries.values(), key=_place):
        name = " ".join([entry["model"], *entry["settings"]])
        found.setdefault(entry["data"], {}).setdefault(name, {})[entry["share"]] = entry
    return found


def _place(entry: Mapping[str, Any]) -> tuple[Any, ...]:
    data = DATA.index(entry["data"]) if entry["data"] in DATA else len(DATA)
    model = MODELS.index(entry["model"]) if entry["model"] in MODELS else len(MODELS)
    return data, entry["data"], model, entry["settings"], -entry["share"]
