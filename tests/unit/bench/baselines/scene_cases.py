"""Scene graphs in one line each: `a:man b:hat c:dog+small ; a wearing b, c near a`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from nlil.data.dataset import Dataset, make_dataset
from nlil.scene.collector import SceneCollector
from nlil_bench.baselines.class_baselines import ClassTask, class_task


def scenes(*train: str, test: tuple[str, ...] = (), boxes: dict[str, tuple[float, ...]] | None = None) -> Dataset:
    """Object a of the first image is named 0/a. `boxes`: letter -> x, y, w, h in every image, which is 100 x 200."""
    collector = SceneCollector()
    for number, line in enumerate((*train, *test)):
        collector.add(str(number), _graph(number, line, boxes or {}), "train" if number < len(train) else "test")
    kb, splits, notes = collector.finish()
    return make_dataset("made by hand", kb, splits, notes=notes)


def _graph(number: int, line: str, boxes: dict[str, tuple[float, ...]]) -> dict[str, object]:
    things, _, said = line.partition(" ; ")
    clauses = [clause.split() for clause in said.split(", ") if clause]
    objects: dict[str, dict[str, object]] = {}
    for thing in things.split():
        letter, _, words = thing.partition(":")
        name, *attributes = words.split("+")
        relations = [{"name": r, "object": f"{number}/{o}"} for s, r, o in clauses if s == letter]
        objects[f"{number}/{letter}"] = {"name": name, "attributes": attributes, "relations": relations}
        if letter in boxes:
            objects[f"{number}/{letter}"] |= dict(zip("xywh", boxes[letter]))
    return {"width": 100, "height": 200, "objects": objects} if boxes else {"objects": objects}


def asked(dataset: Dataset, split: str = "train") -> ClassTask:
    return class_task("test", dataset, split)


def with_geometry_of(dataset: Dataset, *names: str) -> Dataset:
    """The set with these predicates said to come from boxes."""
    kb = dataset.kb
    ids = frozenset(kb.predicate_id(kb.predicate(name)) for name in names)
    return replace(dataset, kb=replace(kb, geometry=ids))


def positions(task: ClassTask) -> dict[str, int]:
    """Object name -> its position in the task."""
    return {task.kb.entities.name(int(e)): i for i, e in enumerate(np.asarray(task.objects))}
