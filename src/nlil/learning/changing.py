"""How a run folder changes: one process at a time, and all files at once.

    RUN/.lock      held by the process that changes the run
    RUN/.new/      files of a change that is being written; discarded after a kill
    RUN/.change/   files of a committed change, which only have to be moved to their places

One rename, from .new to .change, commits a change: before it the run is the old one, after it the new one. What a
killed process left is finished or removed when the folder is next opened (`settle`). The folder itself is not replaced,
so it may be a mount point, and other files in it (a checkpoint) stay. Readers take no lock: they read again if the run
has changed in the meantime (`read_whole`).

`run` is the run folder.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TypeVar

from ..data.files import sync
from ..data.locks import FileLocked, locked
from ..errors import NlilError, RunError

LOCK, NEW, CHANGE = ".lock", ".new", ".change"
OWN = frozenset((LOCK, NEW, CHANGE))
"""Names that do not count as content of a folder."""
MARKER = "run.json"
"""The file that makes a folder a run; it is moved last."""
GONE = ".gone"
"""In a change: the names of files to remove, one per line."""
CHECKSUMS = "checksums.json"
WAIT_S = 30.0
MAX_READS = 20
SYNCING = 16
"""Files that are synced at the same time."""

Found = TypeVar("Found")


@contextmanager
def changing(run: Path, stale: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder; at the end of the block its files replace those of the run, all at once.

    Waits for another process that is changing the run. After an error in the block the run is unchanged. Files and
    folders of the run listed in `stale` are removed, unless the block writes them again.
    """
    made = not run.exists()
    try:
        with _alone(run):
            _finish(run)
            _remove(run / NEW)
            (run / NEW).mkdir()
            try:
                yield run / NEW
                _prepare(run, stale)
            except BaseException:
                _remove(run / NEW)
                raise
            os.rename(run / NEW, run / CHANGE)
            sync(run)
            _finish(run)
    finally:
        if made:
            with suppress(OSError):  # not empty: it holds the change
                run.rmdir()


def settle(run: Path) -> None:
    """Finish a change that a killed process committed, or remove one that it did not. Leaves other folders alone.

    Waits for a process that is moving files, not for one that is still writing them.
    """
    found = {name for name in OWN if (run / name).exists()}
    if not found:
        return
    try:
        with _alone(run, WAIT_S if CHANGE in found else 0.0):
            _finish(run)
            _remove(run / NEW)
    except (RunError, OSError) as error:
        if CHANGE in found and (run / CHANGE).exists():
            raise RunError(f"a change of this run was interrupted and cannot be finished ({error})", run) from error


def stamp(run: Path, names: Iterable[str] = (MARKER, CHECKSUMS)) -> tuple[int, ...] | None:
    """Return a value that differs after every change of the run; None while files are being moved.

    `names` are the files it is made of: checksums.json changes every time, run.json only with the whole run.
    """
    found: list[int] = []
    for name in names:
        with suppress(OSError):
            about = (run / name).stat()
            found += [about.st_ino, about.st_mtime_ns, about.st_size]
    return None if (run / CHANGE).exists() else tuple(found)


def read_whole(run: Path, read: Callable[[], Found]) -> Found:
    """Return the result of `read`, whose files all come from before or all from after any change of the run."""
    for _ in range(MAX_READS):
        settle(run)
        before = stamp(run)
        try:
            found = read()
        except NlilError:
            if before is not None and stamp(run) == before:
                raise
        else:
            if before is not None and stamp(run) == before:
                return found
    raise RunError("the run keeps changing while it is read; try again", run)


@contextmanager
def _alone(run: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    try:
        with locked(run / LOCK, wait_s):
            yield
    except FileLocked as error:
        raise RunError(f"{error} is changing this run; try again", run) from error


def _prepare(run: Path, stale: Iterable[str]) -> None:
    """Sync the new files, with a list of the files to remove."""
    new = run / NEW
    gone = [name for name in stale if not (new / name).exists()]
    (new / GONE).write_text("\n".join(gone), encoding="utf-8")
    with ThreadPoolExecutor(SYNCING) as threads:  # syncing many files at once takes no longer than one
        list(threads.map(sync, new.iterdir()))
    sync(new)


def _finish(run: Path) -> None:
    """Move the files of a committed change to their places; after a kill this is simply repeated."""
    change = run / CHANGE
    if not change.is_dir():
        return
    if (change / GONE).is_file():
        for name in (change / GONE).read_text(encoding="utf-8").split():
            _remove(run / name)
    files = [file for file in change.iterdir() if file.name != GONE]
    for file in sorted(files, key=lambda file: (file.name == MARKER, file.name)):
        os.replace(file, run / file.name)
    sync(run)
    _remove(change)


def _remove(path: Path) -> None:
    """Remove a file or a folder, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
