"""Loads a data set by built-in name, catalogue name, file or folder."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from ..data.catalog import catalog_names, download, find
from ..data.columns import columns_text
from ..data.database import absolute_query, is_query
from ..data.dataset import DataOptions, Dataset
from ..data.facts import Splits
from ..data.kb import KnowledgeBase
from ..data.refining import refined
from ..errors import DataError, UnknownName
from ..logic.predicate import Predicate
from .builtin import builtin_names, make_builtin

PLAIN = DataOptions()
ORIGINAL = ":original"
"""Suffix of a name or path that selects the original annotations (see folder.py)."""


def load(
    source: str | Path,
    *,
    seed: int = 0,
    options: DataOptions = PLAIN,
    columns: str | Mapping[str, Any] | None = None,
    encoding: str | None = None,
) -> tuple[KnowledgeBase, Splits]:
    """Load the training facts and the splits of a data set.

    Args:
        source: A built-in or catalogue name, a file or a folder, as in `load_dataset`.
        seed: Of built-in sets, which are generated.
        options: What to do with the facts before anything is learned from them.
        columns: Which column of a table has which role, such as {"subject": "source", "object": "target"}; others are
            found by name, else by position.
        encoding: Of text files; default: UTF-8.

    >>> kb, splits = load("even:10")
    >>> len(kb.facts)
    17
    """
    given: dict[str, Any] = {"columns": columns_text(columns)} if columns else {}
    given |= {"encoding": encoding} if encoding else {}
    dataset = load_dataset(source, seed=seed, options=replace(options, **given))
    return dataset.kb, dataset.splits


def load_dataset(
    source: str | Path,
    *,
    seed: int = 0,
    may_download: bool = True,
    options: DataOptions = PLAIN,
    like: Collection[Predicate] = (),
) -> Dataset:
    """Load a built-in set `name[:size]`, else a set of the catalogue, else a path, and apply `options`.

    A name wins over a file of the same name in the working folder; `./kin` means the file. `NAME:original` and
    `PATH:original` read the original annotations of a folder that also has the common form (see folder.py).

    Args:
        source: The name or the path.
        seed: Of built-in sets.
        may_download: Whether to download a set of the catalogue that is not on this machine.
        options: What to do with the facts before anything is learned from them.
        like: Predicates of a run whose rules will be applied; numbers and boxes are cut and named as there.
    """
    dataset = refined(_found(source, seed, may_download, options, like), options)
    if options.roles != "off":
        from ..scene.roles import with_roles

        dataset = with_roles(dataset)
    if options.geometry and dataset.kb.boxes is not None:
        from ..scene.geometry import with_geometry

        return with_geometry(dataset, options, like)
    return dataset


def _found(
    source: str | Path, seed: int, may_download: bool, options: DataOptions, like: Collection[Predicate]
) -> Dataset:
    builtin = None if isinstance(source, Path) else make_builtin(source, seed)
    if builtin is not None:
        return builtin
    from .folder import read_path, read_query_dataset  # imports all readers

    if isinstance(source, str) and is_query(source):
        return read_query_dataset(source, options)
    path, name = place_of(source, may_download)
    return read_path(path, name, options, like)


def place_of(source: str | Path, may_download: bool = True) -> tuple[Path, str]:
    """Return the path of a `source` and its name; a set of the catalogue is downloaded if it `may_download`."""
    path = source if isinstance(source, Path) else _folder_of_name(source, may_download)
    if path is not None:
        return path, path.name if isinstance(source, Path) else str(source)
    path = Path(source).expanduser()
    if str(source) and Path(str(path).removesuffix(ORIGINAL)).exists():
        return path, path.name
    known = (*builtin_names(), *catalog_names())
    raise UnknownName("data set", str(source), known, "it is neither a known set nor an existing path")


def _folder_of_name(source: str, may_download: bool) -> Path | None:
    """Return the folder of a set that is known by name, downloaded if necessary; None if there is no such set."""
    name = source.removesuffix(ORIGINAL)
    folder = find(name)
    if folder is None and name in catalog_names():
        if not may_download:
            raise DataError(f"{name} is not on this machine; fetch it with: nlil datasets get {name}")
        folder = download(name)
    return None if folder is None else folder.with_name(folder.name + source[len(name) :])


def lasting_source(source: str) -> str:
    """Return the source to store in a run folder: a known name as it is, a path made absolute.

    A name wins, as in `load_dataset`.
    """
    if is_query(source):
        return absolute_query(source)
    if source.endswith(ORIGINAL):
        return lasting_source(source.removesuffix(ORIGINAL)) + ORIGINAL
    if source.partition(":")[0] in builtin_names() or source in catalog_names() or find(source) is not None:
        return source
    return str(Path(source).expanduser().resolve())
