"""Locks between processes: a file that only one process at a time can hold."""

from __future__ import annotations

import errno
import os
import platform
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows, where folders are not protected against two processes
    fcntl = None  # type: ignore[assignment]

NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""Errors of file systems without locks; work continues without one."""
POLL_S = 0.01


class FileLocked(Exception):
    """Another process holds the lock; its text names that process."""


@contextmanager
def locked(file: Path, wait_s: float = 0.0) -> Iterator[None]:
    """Hold the lock `file` inside this block; raise FileLocked if another process holds it for `wait_s` seconds.

    The file is removed at the end. The system releases the lock when its process ends, even by a kill, so a file left
    behind blocks nobody.
    """
    handle = None if fcntl is None else _lock(file, time.monotonic() + wait_s)
    try:
        yield
    finally:
        if handle is not None:
            try:
                if is_at(handle, file):  # the folder may have been replaced by that of another process
                    file.unlink(missing_ok=True)
            finally:
                os.close(handle)


def _lock(file: Path, deadline: float) -> int:
    """Return a handle that holds the lock until it is closed."""
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the previous process has just removed its folder
            continue
        try:
            taken = take(handle)
            if taken and is_at(handle, file):
                break
            holder = os.read(handle, 200).decode(errors="replace")
        except OSError:
            os.close(handle)
            raise
        os.close(handle)  # locked elsewhere, or just removed by the previous process
        if not taken:
            if time.monotonic() >= deadline:
                raise FileLocked(holder or "another process")
            time.sleep(POLL_S)
    with suppress(OSError):  # a full disk; the name of the holder only serves messages
        os.ftruncate(handle, 0)
        os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
    return handle


def take(handle: int) -> bool:
    """Try to lock the open file `handle`; return whether it worked. Without lock support it always does."""
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
