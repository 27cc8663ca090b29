"""Fetch a set into the cache: each file checked by its SHA-256, the folder put in place whole or not at all."""

from __future__ import annotations

import hashlib
import logging
import os
import shutil
import tarfile
import tempfile
import zipfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from ..errors import DataError, NlilError, UnknownName, require
from .catalog import DATA_VARIABLE, CatalogEntry, RemoteFile, cache_folder, catalog_entry

TIMEOUT_S = 30


def download(
    name: str,
    base_url: str | None = None,
    *,
    catalog: Sequence[CatalogEntry] | None = None,
    cache: Path | None = None,
    progress: bool = False,
) -> Path:
    """The folder of the set in the cache, fetched if it is not there.

    `base_url` replaces the address of every file by <base_url>/<name>/<file>: a mirror, or a test's server.
    """
    entry = catalog_entry(name) if catalog is None else _entry_of(name, catalog)
    if entry.no_download is not None:
        raise NlilError(f"{name}: downloading is not supported yet; {entry.no_download}")
    root = cache if cache is not None else cache_folder(needed=True)
    if root is None:
        raise NlilError(f"{name}: no cache folder; set NLIL_CACHE")
    if (root / name).is_dir():
        return root / name
    with _whole_folder(root, name) as folder:
        for file in entry.files:
            url = file.url if base_url is None else f"{base_url.rstrip('/')}/{name}/{file.name}"
            _fetch(entry, file, url, folder, progress)
    return root / name


def _entry_of(name: str, catalog: Sequence[CatalogEntry]) -> CatalogEntry:
    for entry in catalog:
        if entry.name == name:
            return entry
    raise UnknownName("data set", name, [entry.name for entry in catalog])


@contextmanager
def _whole_folder(root: Path, name: str) -> Iterator[Path]:
    """A temporary folder that becomes root/name at the end; nothing of it is left when something fails."""
    try:
        root.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root))
    except OSError as error:
        raise NlilError(f"{root}: cannot write to the cache ({error}); set NLIL_CACHE to another folder") from error
    try:
        yield folder
        folder.chmod(0o755)
        if not (root / name).is_dir():  # another process may have been faster
            os.replace(folder, root / name)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _fetch(entry: CatalogEntry, file: RemoteFile, url: str, folder: Path, progress: bool) -> None:
    pooch = require("pooch", "download", "downloading data sets")
    requests = require("requests", "download", "downloading data sets")
    pooch.get_logger().setLevel(logging.WARNING)
    known = None if file.sha256 is None else f"sha256:{file.sha256}"
    fetcher = pooch.HTTPDownloader(timeout=TIMEOUT_S, progressbar=progress)
    try:
        got = Path(pooch.retrieve(url, known, fname=file.name, path=folder, downloader=fetcher))
    except ValueError as error:
        expected = f"expected SHA-256 {file.sha256}"
        raise DataError(f"{expected}, got another file; nothing was kept; try again later", url) from error
    except (requests.RequestException, OSError) as error:
        reason = _reason(error)
        way_out = f"check the connection, or put the files in a folder {entry.name} and name its parent {DATA_VARIABLE}"
        raise DataError(f"{entry.name} could not be downloaded ({reason}); {way_out}", url) from error
    if file.members:
        _extract(file, got, url)
        got.unlink()


def _reason(error: Exception) -> str:
    """One short phrase, without the layers of the network library."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server answered {response.status_code} {response.reason}".rstrip()
    name = type(error).__name__
    if "Timeout" in name:
        return f"no answer within {TIMEOUT_S} s"
    return "no connection to the server" if "Connection" in name else " ".join(str(error).split())[:120]


def _extract(file: RemoteFile, archive: Path, url: str) -> None:
    """Write the listed members beside the archive, by their bare names; nothing else in it is touched."""
    wanted = dict(file.members)
    try:
        for name, stream in _members(archive):
            if name in wanted:
                expected = wanted.pop(name)
                digest = _copy(stream, archive.parent / name)
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


def _copy(stream: IO[bytes], path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("wb") as out:
        while block := stream.read(1 << 20):
            digest.update(block)
            out.write(block)
    return digest.hexdigest()
