"""The catalogue of public data sets: what they are, where they come from, where they are stored, how to download them.

A data set is looked up in `$NLIL_DATA/<name>/`, then in the cache (`NLIL_CACHE`, or the user's cache folder).
"""

from __future__ import annotations

import hashlib
import json
import logging
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.resources import files
from pathlib import Path
from typing import IO, Any

from ..errors import DataError, NlilError, UnknownName, require
from .files import user_cache

DATA_VARIABLE = "NLIL_DATA"
CACHE_VARIABLE = "NLIL_CACHE"
TIMEOUT_S = 30


@dataclass(frozen=True)
class RemoteFile:
    """One file to download from `url`; its `sha256` is verified unless it is None.

    `members` (name -> SHA-256 or None) are extracted from an archive.
    """

    url: str
    sha256: str | None
    members: Mapping[str, str | None] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The last part of the address."""
        return self.url.rsplit("/", 1)[-1]


@dataclass(frozen=True)
class CatalogEntry:
    """A data set of the catalogue: `name` and `description` are shown by `nlil datasets`.

    `kind` is "knowledge graph" or "scene graphs"; `licence` and `source` say under which terms it is
    published, and where; `files` are downloaded together; `no_download` is the reason why they cannot be, or None.
    """

    name: str
    kind: str
    description: str
    licence: str
    source: str
    files: tuple[RemoteFile, ...]
    no_download: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """Return plain values for JSON, with the folder on this machine."""
        where = find(self.name)
        texts = {key: getattr(self, key) for key in ("name", "kind", "description", "licence", "source")}
        return texts | {
            "urls": [file.url for file in self.files],
            "downloadable": self.no_download is None,
            "path": None if where is None else str(where),
        }


def list_catalog() -> tuple[CatalogEntry, ...]:
    """Return every data set of the catalogue, in the order of catalog.json."""
    text = files(__package__).joinpath("catalog.json").read_text(encoding="utf-8")
    return tuple(_entry(name, item) for name, item in json.loads(text).items())


def _entry(name: str, item: Mapping[str, Any]) -> CatalogEntry:
    remote = tuple(RemoteFile(f["url"], f["sha256"], f.get("members", {})) for f in item["files"])
    texts = {key: item[key] for key in ("kind", "description", "licence", "source")}
    return CatalogEntry(name, **texts, files=remote, no_download=item.get("no_download"))


def catalog_names() -> tuple[str, ...]:
    """Return the names of all data sets of the catalogue."""
    return tuple(entry.name for entry in list_catalog())


def catalog_entry(name: str, catalog: Sequence[CatalogEntry] | None = None) -> CatalogEntry:
    """Return the entry `name` of `catalog`, by default our own. Raises UnknownName if there is none."""
    entries = {entry.name: entry for entry in (list_catalog() if catalog is None else catalog)}
    if name not in entries:
        raise UnknownName("data set", name, entries, "`nlil datasets` lists those that can be downloaded")
    return entries[name]


def find(name: str) -> Path | None:
    """Return the folder of the data set `name` on this machine, in $NLIL_DATA or in the cache, or None.

    $NLIL_DATA may also hold data sets that are not in the catalogue.
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


def cache_folder() -> Path | None:
    """Return NLIL_CACHE, or `nlil` in the user's cache folder; None if the user has no home folder."""
    given = os.environ.get(CACHE_VARIABLE)
    try:
        return Path(given).expanduser() if given else user_cache() / "nlil"
    except RuntimeError:
        return None


# downloads: the SHA-256 of each file is checked; the folder gets its name when it is complete -----------


def download(
    name: str,
    base_url: str | None = None,
    *,
    catalog: Sequence[CatalogEntry] | None = None,
    cache: Path | None = None,
) -> Path:
    """Return the folder of a data set in the cache; download it if it is not there.

    Args:
        name: The data set.
        base_url: Download from <base_url>/<name>/<file> instead: a mirror, or the server of a test.
        catalog: The known data sets; default: our own catalogue.
        cache: The folder of the data sets; default: `cache_folder`.
    """
    entry = catalog_entry(name, catalog)
    if entry.no_download is not None:
        raise NlilError(f"{name}: downloading is not supported yet; {entry.no_download}")
    root = cache if cache is not None else cache_folder()
    if root is None:
        raise NlilError(f"{name}: no cache folder; set NLIL_CACHE")
    if (root / name).is_dir():
        return root / name
    with _whole_folder(root, name) as folder:
        for file in entry.files:
            url = file.url if base_url is None else f"{base_url.rstrip('/')}/{name}/{file.name}"
            _fetch(entry, file, url, folder)
    return root / name


@contextmanager
def _whole_folder(root: Path, name: str) -> Iterator[Path]:
    """Yield a temporary folder that becomes root/name at the end, or is removed after an error."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
    except OSError as error:
        raise NlilError(f"{root}: cannot write to the cache ({error}); set NLIL_CACHE to another folder") from error
    try:
        yield folder
        folder.chmod(0o755)
        if not (root / name).is_dir():  # another process may have been first
            os.replace(folder, root / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(entry: CatalogEntry, file: RemoteFile, url: str, folder: Path) -> None:
    pooch = require("pooch", "download", "downloading data sets")
    requests = require("requests", "download", "downloading data sets")
    pooch.get_logger().setLevel(logging.WARNING)
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    fetcher = pooch.HTTPDownloader(timeout=TIMEOUT_S)
    try:
        got = Path(pooch.retrieve(url, known, fname=file.name, path=folder, downloader=fetcher))
    except ValueError as error:
        expected = f"expected SHA-256 {file.sha256}"
        raise DataError(f"{expected}, got another file; nothing was stored; try again later", url) from error
    except (requests.RequestException, OSError) as error:
        reason = _reason(error)
        way_out = (
            f"check the connection, or put the files in a folder {entry.name} and set {DATA_VARIABLE} to its parent"
        )
        raise DataError(f"{entry.name} could not be downloaded ({reason}); {way_out}", url) from error
    if file.members:
        _extract(file, got, url)
        got.unlink()


def _reason(error: Exception) -> str:
    """Return a short phrase without the details of the network library."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}".rstrip()
    name = type(error).__name__
    if "Timeout" in name:
        return f"no answer within {TIMEOUT_S} s"
    return "no connection to the server" if "Connection" in name else " ".join(str(error).split())[:120]


def _extract(file: RemoteFile, archive: Path, url: str) -> None:
    """Extract the listed members, without their folders, next to the archive."""
    wanted = dict(file.members)
    try:
        for name, stream in _members(archive):
            if name in wanted:
                expected = wanted.pop(name)
                with (archive.parent / name).open("w+b") as out:
                    shutil.copyfileobj(stream, out)
                    out.seek(0)
                    digest = hashlib.file_digest(out, "sha256").hexdigest()
                if expected is not None and digest != expected:
                    raise DataError(f"member {name}: expected SHA-256 {expected}, got {digest}", url)
    except (tarfile.TarError, zipfile.BadZipFile, EOFError, OSError) as error:
        raise DataError(f"expected an archive, got a damaged file ({error})", url) from error
    if wanted:
        raise DataError(f"expected the members {', '.join(file.members)}, missing {', '.join(wanted)}", url)


def _members(archive: Path) -> Iterator[tuple[str, IO[bytes]]]:
    if archive.name.endswith(".zip"):
        with zipfile.ZipFile(archive) as zipped:
            for info in zipped.infolist():
                if not info.is_dir():
                    with zipped.open(info) as stream:
                        yield info.filename.rsplit("/", 1)[-1], stream
        return
    with tarfile.open(archive) as tar:
        for member in tar:
            inner = tar.extractfile(member) if member.isfile() else None
            if inner is not None:
                yield member.name.rsplit("/", 1)[-1], inner
