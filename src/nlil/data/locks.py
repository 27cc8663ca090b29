"""Locks between processes: a file that one process at a time holds."""

from __future__ import annotations

import errno
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: there two processes at one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system that knows no locks answers; work goes on without one."""
POLL_S = 0.01


class FileLocked(Exception):
    """Another process holds the lock; its text names that process."""


@contextmanager
def locked(file: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Only one process at a time is inside; FileLocked in any other after `wait_s`. The `file` lasts as the block does.

    The system lets go of a lock when its process ends, however it ends: a file that a kill leaves bars nobody.
    """
    handle = None if fcntl is None else _lock(file, time.monotonic() + wait_s)
    try:
        yield
    finally:
        if handle is not None:
            if is_at(handle, file):  # its folder may be gone, and one of another process in its place
                file.unlink()
            os.close(handle)


def _lock(file: Path, deadline: float) -> int:
    """A handle that holds the lock until it is closed."""
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the process before us has just removed its folder
            continue
        try:
            taken = take(handle)
            if taken and is_at(handle, file):
                break
        except OSError:
            os.close(handle)
            raise
        holder = os.read(handle, 200).decode(errors="replace")
        os.close(handle)  # if taken, of a file that the process before us has just removed
        if not taken:
            if time.monotonic() >= deadline:
                raise FileLocked(holder or "another process")
            time.sleep(POLL_S)
    os.ftruncate(handle, 0)
    os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
    return handle


def take(handle: int) -> bool:
    """Return whether the lock of an open file, `handle`, is now ours; without locks everybody has it."""
    if fcntl is None:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NO_LOCKS:
            raise
    return True


def is_at(handle: int, file: Path) -> bool:
    """Return whether the open file `handle` is still the one at the path `file`."""
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False
