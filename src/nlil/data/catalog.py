"""Real sets by name: what they are, where they come from, where they lie on this machine.

`$NLIL_DATA/<name>/` is looked at first, then the cache (`NLIL_CACHE`, else the user's cache folder).
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import Any

from ..errors import UnknownName, require

DATA_VARIABLE = "NLIL_DATA"
CACHE_VARIABLE = "NLIL_CACHE"


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch. `members` (name -> SHA-256 or None) are taken out of an archive."""

    url: str
    sha256: str | None
    num_bytes: int | None = None
    members: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class CatalogEntry:
    """`kind` is "knowledge graph" or "scene graphs"; `no_download` says why it cannot be fetched, if so."""

    name: str
    kind: str
    description: str
    licence: str
    source: str
    files: tuple[RemoteFile, ...]
    no_download: str | None = None

    def to_dict(self) -> dict[str, Any]:
        where = find(self.name)
        return {
            "name": self.name,
            "kind": self.kind,
            "description": self.description,
            "licence": self.licence,
            "source": self.source,
            "urls": [file.url for file in self.files],
            "downloadable": self.no_download is None,
            "path": None if where is None else str(where),
        }


def list_catalog() -> tuple[CatalogEntry, ...]:
    """Every known real set, in the order of catalog.json."""
    text = files(__package__).joinpath("catalog.json").read_text(encoding="utf-8")
    return tuple(_entry(name, item) for name, item in json.loads(text).items())


def _entry(name: str, item: Mapping[str, Any]) -> CatalogEntry:
    remote = tuple(RemoteFile(f["url"], f["sha256"], f.get("bytes"), f.get("members", {})) for f in item["files"])
    texts = {key: item[key] for key in ("kind", "description", "licence", "source")}
    return CatalogEntry(name, **texts, files=remote, no_download=item.get("no_download"))


def catalog_names() -> tuple[str, ...]:
    return tuple(entry.name for entry in list_catalog())


def catalog_entry(name: str) -> CatalogEntry:
    for entry in list_catalog():
        if entry.name == name:
            return entry
    raise UnknownName("data set", name, catalog_names(), "`nlil datasets` lists those that can be fetched")


def find(name: str) -> Path | None:
    """The folder of a set on this machine: $NLIL_DATA/<name>, else the cache; None where it is in neither.

    $NLIL_DATA may hold folders that the catalogue does not know; they are found by name too.
    """
    if not name or Path(name).name != name or name in (".", ".."):
        return None
    given = os.environ.get(DATA_VARIABLE)
    if given and (Path(given).expanduser() / name).is_dir():
        return Path(given).expanduser() / name
    cached = cache_folder()
    if cached is not None and name in catalog_names() and (cached / name).is_dir():
        return cached / name
    return None


def cache_folder(*, needed: bool = False) -> Path | None:
    """NLIL_CACHE, else the user's cache folder as pooch knows it; None when pooch is absent and not `needed`."""
    given = os.environ.get(CACHE_VARIABLE)
    if given:
        return Path(given).expanduser()
    from ..errors import MissingExtra

    try:
        return Path(require("pooch", "download", "downloading data sets").os_cache("nlil"))
    except MissingExtra:
        if needed:
            raise
        return None
