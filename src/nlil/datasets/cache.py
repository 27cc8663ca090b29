"""The cache of large sources: they are read once, stored in the cache folder, and mapped into memory from then on.

    CACHE/facts/NAME-KEY.arrays    the data set (data/dataset_file.py)
    CACHE/facts/NAME-KEY.json      its source: size, times and SHA-256 of each file

A cached data set is valid if the files of its source have the same names and sizes, and the same times of modification
and of change: the system sets the latter whenever a file is written, renamed or copied, and no program can reset it. If
the times differ, the SHA-256 of the content decides, which takes a twentieth of the time of reading, so a file that was
only touched or checked out again is not read again. It also decides if a file was written just before it was read, when
times are not reliable. If the code of the readers has changed, everything is read again.

No process waits for another. Two processes at the same time both read and both write, each to a temporary name. Cached
data of sources that no longer exist is removed when something else is written.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.resources import files as package_files
from pathlib import Path
from typing import Any

from ..data.catalog import CACHE_VARIABLE, cache_folder
from ..data.dataset import Dataset
from ..data.files import ending, replacing
from ..errors import DataError, UnknownName

MIB = 1 << 20
READ_IN_A_SECOND = {".pl": 3 * MIB, ".json": 10 * MIB, ".parquet": 10 * MIB, ".nt": 12 * MIB, ".ttl": 12 * MIB}
"""Bytes that take about a second to read, by file ending; smaller files are not cached."""
READ_IN_A_SECOND_ELSE = 32 * MIB
GZIP = 5
"""Assumed compression ratio."""
LEAST_SECONDS = 1.0
DOUBT_NS = 2 * 10**9
"""For this long after its times were set, a file may change again without changing them."""
ABANDONED_S = 24 * 3600
"""An unchanged temporary file of this age was left by a killed process."""
READING_CODE = (("data", ""), ("datasets", ""), ("scene", "readers.py"), ("scene", "collector.py"))
"""Folders of this package, and their files, that contain readers; "": all files."""


@dataclass(frozen=True)
class SourceFile:
    """The state of a file when it was read: its `name`, its `size` in bytes, and the `sha256` of its content.

    `modified` is the time of the last change of its content, `changed` of any change, in nanoseconds; 0: unreliable.
    """

    name: str
    size: int
    modified: int
    changed: int
    sha256: str = ""

    @classmethod
    def at(cls, path: Path) -> SourceFile:
        """Return the state of the file at `path` without its SHA-256."""
        found = path.stat()
        return cls(path.name, found.st_size, found.st_mtime_ns, found.st_ctime_ns)

    def is_like(self, other: SourceFile) -> bool:
        """Return whether it has the name and the size of `other`."""
        return (self.name, self.size) == (other.name, other.size)

    def is_untouched(self, other: SourceFile) -> bool:
        """Return whether the times show that the file has not changed since `other`."""
        return self.modified == other.modified != 0 and self.changed == other.changed != 0

    def hashed(self, path: Path, now: int) -> SourceFile:
        """Add the SHA-256 of the file at `path`; times set just before `now` are dropped as unreliable."""
        with path.open("rb") as file:
            digest = hashlib.file_digest(file, "sha256").hexdigest()
        is_settled = max(self.modified, self.changed) < now - DOUBT_NS
        return replace(self, sha256=digest) if is_settled else replace(self, sha256=digest, modified=0, changed=0)


@dataclass(frozen=True)
class CacheEntry:
    """The cached data of one `source` in a `folder`; `how` are the user's options for reading it."""

    folder: Path
    source: str
    how: str = ""

    @property
    def stem(self) -> Path:
        """The path of both files, without their endings."""
        name = "".join(c if c.isalnum() or c in "._-" else "_" for c in Path(self.source).name)[:60]
        return self.folder / f"{name}-{hashlib.sha256((self.source + self.how).encode()).hexdigest()[:16]}"

    @property
    def arrays(self) -> Path:
        """The file of the data set."""
        return self.stem.with_name(self.stem.name + ".arrays")

    @property
    def record(self) -> Path:
        """The file that describes its source."""
        return self.stem.with_name(self.stem.name + ".json")

    def open(self, name: str, files: Sequence[Path]) -> Dataset | None:
        """Return the data set under the name `name`, if `files` have not changed since; else None."""
        from ..data.dataset_file import open_dataset

        try:
            then = tuple(SourceFile(**file) for file in json.loads(self.record.read_bytes())["files"])
            now = self._unchanged(then, files)
            if now is None:
                return None
            dataset, about = open_dataset(self.arrays, name)
            if about != _about(now):
                return None
        except (OSError, DataError, KeyError, TypeError, ValueError):
            return None  # missing or damaged: the source will be read
        with suppress(OSError):
            if now != then:
                self._note(now, len(dataset.kb.facts))
            os.utime(self.arrays)  # the time of its last use
        return dataset

    def write(self, dataset: Dataset, files: tuple[SourceFile, ...]) -> None:
        """Store a `dataset` that was read from `files`."""
        from ..data.dataset_file import write_dataset

        self.folder.mkdir(parents=True, exist_ok=True)
        _tidy(self.folder)
        write_dataset(self.arrays, dataset, _about(files))
        self._note(files, len(dataset.kb.facts))

    def remove(self) -> None:
        """Remove both files."""
        self.record.unlink(missing_ok=True)
        self.arrays.unlink(missing_ok=True)

    def _note(self, files: Sequence[SourceFile], num_facts: int) -> None:
        record = {"source": self.source, "how": self.how, "facts": num_facts, "files": [asdict(file) for file in files]}
        with replacing(self.record) as part:
            part.write_text(json.dumps(record, indent=1), encoding="utf-8")

    @staticmethod
    def _unchanged(then: Sequence[SourceFile], files: Sequence[Path]) -> tuple[SourceFile, ...] | None:
        """Return the current state of the files if their content is unchanged, else None."""
        clock = time.time_ns()
        now = [SourceFile.at(file) for file in files]
        if len(now) != len(then) or not all(map(SourceFile.is_like, now, then)):
            return None
        found = tuple(b if a.is_untouched(b) else a.hashed(f, clock) for a, b, f in zip(now, then, files))
        return found if [a.sha256 for a in found] == [b.sha256 for b in then] else None


def cached(source: str, name: str, files: Sequence[Path], read: Callable[[], Dataset], how: str = "") -> Dataset:
    """Return the data set of `files`, from the cache if possible; large ones are added to the cache.

    Args:
        source: The location of the files, as listed by the cache.
        name: The name of the data set.
        files: All files that determine the data set.
        read: Reads them if the cache does not have them.
        how: The user's options for reading.
    """
    if sum(map(seconds_to_read, files)) < LEAST_SECONDS:
        return read()
    folder = facts_folder()
    if folder is None:
        return read()
    entry = CacheEntry(folder, source, how)
    dataset = entry.open(name, files)
    if dataset is not None:
        return dataset
    clock = time.time_ns()
    before = tuple(SourceFile.at(file).hashed(file, clock) for file in files)
    dataset = read()
    try:
        entry.write(dataset, before)
    except OSError as error:
        reason = f"{error.strerror or error}"
        note = f"{folder} cannot be written ({reason}): these facts are read again each time; set {CACHE_VARIABLE}"
        return replace(dataset, notes=(*dataset.notes, note))
    return entry.open(name, files) or dataset  # mapped from the file, which frees the arrays just read


def seconds_to_read(file: Path) -> float:
    """Estimate how long a `file` takes to read, by its size and ending."""
    unpacked = file.stat().st_size * (GZIP if file.name.lower().endswith(".gz") else 1)
    return unpacked / READ_IN_A_SECOND.get(ending(file), READ_IN_A_SECOND_ELSE)


def facts_folder() -> Path | None:
    """Return the folder of cached facts, or None if there is no cache folder."""
    root = cache_folder()
    return None if root is None else root / "facts"


def _about(files: Sequence[SourceFile]) -> dict[str, Any]:
    """Return what a cached data set depends on, which is stored with it."""
    return {"files": [[file.name, file.sha256] for file in files], "code": _reading_code()}


@cache
def _reading_code() -> str:
    """Return the SHA-256 of the code of the readers."""
    digest = hashlib.sha256()
    for package, name in READING_CODE:
        folder = package_files("nlil").joinpath(package)
        for file in sorted(folder.iterdir(), key=lambda file: file.name):
            if file.name.endswith(".py") and name in ("", file.name):
                digest.update(file.read_bytes())
    return digest.hexdigest()


# what is there ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Cached:
    """A data set in the cache: its `name`, its `source`, and its `size` on the disk in bytes.

    `facts` is the number of its training facts; `used` is when it was last opened, in seconds since 1970. `state` is
    "current", "changed" if the source has changed since, or "gone".
    """

    name: str
    source: str
    facts: int
    size: int
    used: float
    state: str


def list_cached() -> tuple[Cached, ...]:
    """Return the cached data sets, last used first."""
    return tuple(sorted((found for _, found in _entries()), key=lambda found: -found.used))


def clear_cached(name: str | None = None) -> tuple[Cached, ...]:
    """Remove the data sets with this `name` or path from the cache (None: all); return those removed.

    Raises UnknownName if there is no such data set.
    """
    entries = list(_entries())
    if name is not None:
        place = str(Path(name).expanduser().resolve())
        chosen = [(entry, found) for entry, found in entries if name == found.name or found.source in (name, place)]
        if not chosen:
            raise UnknownName("cached data set", name, [found.name for _, found in entries])
        entries = chosen
    for entry, _ in entries:
        entry.remove()
    folder = facts_folder()
    if name is None and folder is not None and folder.is_dir():
        for file in folder.iterdir():  # from other versions, or left over
            file.unlink(missing_ok=True)
    return tuple(found for _, found in entries)


def _entries() -> Iterator[tuple[CacheEntry, Cached]]:
    folder = facts_folder()
    for record in sorted(folder.glob("*.json")) if folder is not None else ():
        try:
            content = json.loads(record.read_bytes())
            entry = CacheEntry(record.parent, content["source"], content.get("how", ""))
            arrays = entry.arrays.stat()
            files = [SourceFile(**file) for file in content["files"]]
            name, size = Path(entry.source).name, arrays.st_size + record.stat().st_size
            yield entry, Cached(name, entry.source, content["facts"], size, arrays.st_mtime, _state(entry, files))
        except (OSError, KeyError, TypeError, ValueError):
            continue  # an incomplete entry, or a foreign file


def _tidy(folder: Path) -> None:
    """Remove from `folder` the data of sources that no longer exist, and files left by killed processes."""
    with suppress(OSError):  # other processes may be doing the same
        for entry, found in _entries():
            if found.state == "gone":
                entry.remove()
        for path in folder.glob(".*"):
            if path.stat().st_mtime < time.time() - ABANDONED_S:
                path.unlink()


def _state(entry: CacheEntry, files: Sequence[SourceFile]) -> str:
    place = Path(entry.source.removesuffix(":original"))
    if not place.exists():
        return "gone"
    folder = place if place.is_dir() else place.parent
    try:
        return "current" if all(file.is_like(SourceFile.at(folder / file.name)) for file in files) else "changed"
    except OSError:
        return "changed"
