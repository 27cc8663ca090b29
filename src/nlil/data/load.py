"""The one way in: a built-in name, a catalogue name, a file or a folder."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError, UnknownName
from .builtin import builtin_names, make_builtin
from .catalog import catalog_names, find
from .dataset import Dataset
from .download import download
from .facts import Splits
from .folder import read_path
from .kb import KnowledgeBase


def load(source: str | Path, *, seed: int = 0) -> tuple[KnowledgeBase, Splits]:
    """The training facts and the splits of a data set.

    >>> kb, splits = load("even:10")
    >>> len(kb.facts)
    17
    """
    dataset = load_dataset(source, seed=seed)
    return dataset.kb, dataset.splits


def load_dataset(source: str | Path, *, seed: int = 0, may_download: bool = True) -> Dataset:
    """Built-in `name[:size]` (generated with `seed`), else a catalogue name, else a path.

    A name wins over a file of the same name in the working folder; `./kin` means the file.
    """
    if isinstance(source, Path):
        return read_path(source)
    builtin = make_builtin(source, seed)
    if builtin is not None:
        return builtin
    folder = find(source)
    if folder is not None:
        return read_path(folder, source)
    if source in catalog_names():
        if not may_download:
            raise DataError(f"{source} is not on this machine; fetch it with: nlil datasets get {source}")
        return read_path(download(source), source)
    if source and Path(source).expanduser().exists():
        return read_path(Path(source).expanduser())
    known = (*builtin_names(), *catalog_names())
    raise UnknownName("data set", source, known, "it is neither a known set nor an existing path")
