"""How a run folder changes: one process at a time, and all files at once.

    RUN/.lock      held by the process that changes the run
    RUN/.new/      files of a change that is being written; after a kill it is worth nothing
    RUN/.change/   files of a change that is decided and only have to move to their places

A change is decided by one rename, from .new to .change; before it the run is the old one, after it the new one. What a
killed process left is finished or removed when the folder is next opened (`settle`). The folder itself stays where it
is, so it may be a mount point, and what else is in it (a checkpoint) stays too. Readers take no lock: they read again
if the run changes meanwhile (`read_whole`).

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
"""Names that say nothing of what is in a folder."""
MARKER = "run.json"
"""Makes a folder a run; it moves last."""
GONE = ".gone"
"""In a change: the names of what has to go, one a line."""
CHECKSUMS = "checksums.json"
WAIT_S = 30.0
TRIES = 20
SYNCING = 16
"""Files that are brought to the disk at a time."""

Found = TypeVar("Found")


@contextmanager
def changing(run: Path, stale: Iterable[str] = ()) -> Iterator[Path]:
    """Yield an empty folder; the files that the block writes there replace those of the run when it ends, at once.

    Waits for another process that is changing the run. After an error in the block the run is as it was. Files and
    folders of the run called `stale` are removed, unless the block writes them again.
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
            with suppress(OSError):  # not empty: the change is in it
                run.rmdir()


def settle(run: Path) -> None:
    """Finish the change that a killed process had decided, and remove what it had not. Does nothing to other folders.

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
            raise RunError(f"a change of this run was cut off and cannot be finished ({error})", run) from error


def stamp(run: Path, names: Iterable[str] = (MARKER, CHECKSUMS)) -> tuple[int, ...] | None:
    """Return what differs after every change of the run; None while files are moving.

    `names` are the files that are looked at: checksums.json changes every time, run.json with the whole run only.
    """
    found: list[int] = []
    for name in names:
        with suppress(OSError):
            about = (run / name).stat()
            found += [about.st_ino, about.st_mtime_ns, about.st_size]
    return None if (run / CHANGE).exists() else tuple(found)


def read_whole(run: Path, read: Callable[[], Found]) -> Found:
    """Return what `read` finds in the run, all of it before or all of it after each change."""
    for _ in range(TRIES):
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
    raise RunError("the run is changed again and again while it is read; try again", run)


@contextmanager
def _alone(run: Path, wait_s: float = WAIT_S) -> Iterator[None]:
    try:
        with locked(run / LOCK, wait_s):
            yield
    except FileLocked as error:
        raise RunError(f"{error} is changing this run; try again", run) from error


def _prepare(run: Path, stale: Iterable[str]) -> None:
    """Bring the new files to the disk, with a list of those that have to go."""
    new = run / NEW
    gone = [name for name in stale if not (new / name).exists()]
    (new / GONE).write_text("\n".join(gone), encoding="utf-8")
    with ThreadPoolExecutor(SYNCING) as threads:  # a disk takes no longer for many files than for one
        list(threads.map(sync, new.iterdir()))
    sync(new)


def _finish(run: Path) -> None:
    """Move the files of a decided change to their places; where a kill cuts this off, it is begun again."""
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
    """Remove a file or a folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)
