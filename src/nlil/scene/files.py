"""Files of scene graphs: in which format they are, and which of a folder serves as which split.

The common form (GQA's) is known by its name, the originals of Visual Genome, VRD and HICO-DET by how they begin.
Every reader goes through its file image by image and hands on GQA's structure.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from ..data.facts import Splits
from ..data.files import stem, stem_of_gzip
from ..data.kb import KnowledgeBase
from ..errors import DataError
from .collector import SceneCollector
from .hico import PARALLEL_KEYS, hico_images, parallel_hico_images
from .json_files import beginning, members
from .values import Reading
from .visual_genome import visual_genome_images
from .vrd import vrd_images

FILE_MARK = "_sceneGraphs.json"
ImageReader = Callable[[Path, Reading], Iterator[tuple[str, Any]]]

ORIGINALS: tuple[Mapping[str, str], ...] = (
    {"scene_graphs": "train"},
    {"relationships": "train"},
    {"annotations_train": "train", "annotations_val": "valid", "annotations_test": "test"},
    {r"instances_train\d*|hico-det-train.*": "train", r"instances_test\d*|hico-det-test.*": "test"},
)
"""Originals that belong together: name without ending -> split. The first group with a training file is read."""


def gqa_images(path: Path, reading: Reading) -> Iterator[tuple[str, Any]]:
    return members(path, "{image: {'objects': ...}}")


def format_of(path: Path) -> ImageReader:
    """The reader of a file; what begins like none of the originals is read, and if need be refused, as GQA's."""
    if stem_of_gzip(path).endswith(FILE_MARK):
        return gqa_images
    events = beginning(path)
    if next(events, ("", None))[0] == "start_array":
        return visual_genome_images
    event, key = next(events, ("", None))
    if event != "map_key":
        return gqa_images
    event, _ = next(events, ("", None))
    if event == "start_array":
        return parallel_hico_images if key in PARALLEL_KEYS else vrd_images
    return hico_images if event == "start_map" and "labels" in _keys(events) else gqa_images


def _keys(events: Iterator[tuple[str, Any]]) -> Iterator[str]:
    """The keys of the object whose beginning was just read, and no deeper."""
    depth = 1
    for event, value in events:
        depth += event.startswith("start_") - event.startswith("end_")
        if depth == 0:
            return
        if depth == 1 and event == "map_key":
            yield value


def original_files(files: list[Path]) -> dict[str, Path]:
    """Split -> file, of the first group of originals that has a training file; empty where there is none."""
    for group in ORIGINALS:
        found: dict[str, Path] = {}
        for pattern, split in group.items():
            for file in files:
                if re.fullmatch(rf"(?:{pattern})\.json", stem_of_gzip(file)):
                    if split in found:
                        raise DataError(
                            f"expected one original for {split}, got {found[split].name} and {file.name}", file.parent
                        )
                    found[split] = file
        if "train" in found:
            return {split: found[split] for split in ("train", "valid", "test") if split in found}
    return {}


def common_files(files: list[Path]) -> dict[str, Path]:
    """Split -> file of the common form; empty where there is none."""
    by_prefix: dict[str, Path] = {}
    for file in (f for f in files if stem_of_gzip(f).endswith(FILE_MARK)):
        prefix = stem(file).removesuffix(FILE_MARK.removesuffix(".json"))
        if prefix in by_prefix:
            raise DataError(
                f"expected one file for {prefix}, got {by_prefix[prefix].name} and {file.name}", file.parent
            )
        by_prefix[prefix] = file
    return scene_splits(by_prefix) if by_prefix else {}


def scene_splits(paths: Mapping[str, Path]) -> dict[str, Path]:
    """Which file serves as which split: val is `valid` beside train and test, else `test`.

    >>> sorted(scene_splits({"train": Path("t"), "val": Path("v")}))
    ['test', 'train']
    """
    known = {"train": "train", "test": "test", "val": "valid", "valid": "valid"}
    splits: dict[str, Path] = {}
    for prefix, path in paths.items():
        if prefix not in known or known[prefix] in splits:
            raise DataError(f"expected one each of train{FILE_MARK}, val{FILE_MARK}, test{FILE_MARK}", path)
        splits[known[prefix]] = path
    if "valid" in splits and "test" not in splits:
        splits["test"] = splits.pop("valid")
    if "train" not in splits:
        raise DataError(f"expected train{FILE_MARK}, got {', '.join(p.name for p in paths.values())}")
    return {split: splits[split] for split in ("train", "valid", "test") if split in splits}


def read_scenes(paths: Mapping[str, Path]) -> tuple[KnowledgeBase, Splits, tuple[str, ...]]:
    """Split -> file: the training graphs' facts, the splits with their context, notes."""
    collector, reading = SceneCollector(), Reading()
    for split, path in paths.items():
        try:
            for image, graph in format_of(path)(path, reading):
                collector.add(image, graph, split)
        except DataError as error:
            if error.path is not None:
                raise
            raise DataError(str(error), path) from error
    kb, splits, notes = collector.finish()
    return kb, splits, (*reading.notes(), *notes)
