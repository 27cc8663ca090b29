"""Small runs for the tests of the viewer: a family with an odd name in it, and scenes with boxes."""

from __future__ import annotations

import json
from pathlib import Path

from nlil.cli.main import run
from nlil.learning.opening import open_run
from nlil.viewer.page_data import PageData

EVIL = "<img src=x onerror=\"document.title='broken in'\">"
"""An entity whose name would run as a script, were it not escaped."""
UNICODE = "Zoë 漢字 'q' & Co"
LONG = "wife" + "/married_to" * 20
RENAMED = {"alice1": EVIL, "vera1": UNICODE}
PLAIN = (
    "max_length=2",
    "constants=off",
    "typed=off",
    "min_support=2",
    "min_confidence=.01",
    "aggregation=noisy-or",
    "aggregation_top=5",
    "search=count",
)


def learn_family(folder: Path, settings: tuple[str, ...] = PLAIN) -> Path:
    """A run over the built-in genealogy in which two people have odd names and one predicate has a label."""
    from nlil.datasets import load_dataset

    kb = load_dataset("kin:60").kb
    rows = zip(kb.facts.predicate.tolist(), kb.facts.subject.tolist(), kb.facts.object.tolist())
    facts = [kb.fact(*row) for row in rows]
    lines = ["\t".join(_columns([RENAMED.get(n, n) for n in f.arguments], f.predicate.name)) for f in facts]
    (folder / "train.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (folder / "relation_labels.tsv").write_text(f"uncle\tuncle of\nwife\t{LONG}\n", encoding="utf-8")
    return _learn(folder, *settings)


def learn_scenes(folder: Path) -> Path:
    for split, numbers in {"train": range(12), "test": range(12, 14)}.items():
        text = json.dumps({f"image{i}": _scene(i) for i in numbers})
        (folder / f"{split}_sceneGraphs.json").write_text(text)
    return _learn(folder, "search=count")


def page_data_of(path: Path) -> PageData:
    return PageData(open_run(path))


def _learn(folder: Path, *settings: str) -> Path:
    out = folder / "run"
    words = [word for setting in settings for word in ("--set", setting)]
    assert run(["learn", str(folder), "--out", str(out), "--quiet", *words]) == 0
    return out


def _columns(names: list[str], predicate: str) -> list[str]:
    return [names[0], predicate, *names[1:]]


def _scene(number: int) -> dict[str, object]:
    """A person wears a shirt, at the top left of the image; a wheel of a car is at the bottom right."""

    def thing(name: str, x: int, y: int, *relations: tuple[str, str]) -> dict[str, object]:
        links = [{"name": relation, "object": f"{number}{other}"} for relation, other in relations]
        return {"name": name, "x": x, "y": y, "w": 120, "h": 120, "attributes": [], "relations": links}

    objects = {
        "p": thing("person", 20, 20, ("wearing", "s")),
        "s": thing("shirt", 30, 40),
        "c": thing("car", 800, 400),
        "w": thing("wheel", 850, 440, ("of", "c")),
    }
    return {"width": 1000, "height": 600, "objects": {f"{number}{key}": value for key, value in objects.items()}}
