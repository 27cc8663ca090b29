"""The files of a run folder: JSON, JSON lines, arrays, checksums, a lock, and how a new folder takes its place."""

from __future__ import annotations

import errno
import hashlib
import json
import math
import os
import platform
import shutil
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

try:
    import fcntl
except ImportError:  # Windows: there two processes at one folder are not kept apart
    fcntl = None  # type: ignore[assignment]

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("nlil", "torch", "numpy", "numba", "pyarrow")
NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
"""What a file system that knows no locks answers; work goes on without one."""

MALFORMED = (KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""What a reader raises where a file of a run folder has another shape than it was written with."""

_UMASK = Lock()


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Python and the packages that results depend on."""
    from importlib.metadata import PackageNotFoundError, version

    found = {"python": platform.python_version()}
    for package in packages:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return found


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file in hexadecimal."""
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def read_json(path: Path) -> Any:
    """Read the value of a JSON file."""
    return json.loads(path.read_text(encoding="utf-8"))


def replace_json(path: Path, value: Any) -> None:
    """Write `value` as JSON beside its place, then put it there."""
    from ..data.files import replacing

    with replacing(path) as temporary:
        temporary.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_json_lines(path: Path) -> tuple[dict[str, Any], ...]:
    # Not splitlines: a name from the data may hold one of the rarer line separators of Unicode.
    """Read one JSON object a line."""
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write `records` as one JSON object a line.

    What is not a number becomes null: a loss that ran away must not cost the run.
    """
    lines = [
        json.dumps({key: _plain(value) for key, value in dict(record).items()}, ensure_ascii=False, allow_nan=False)
        + "\n"
        for record in records
    ]
    path.write_text("".join(lines), encoding="utf-8")


def _plain(value: Any) -> Any:
    import numpy as np

    plain = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(plain, float) and not math.isfinite(plain) else plain


def write_arrays(path: Path, arrays: Mapping[str, np.ndarray], metadata: Mapping[str, str] | None = None) -> None:
    """Write `arrays` by name, and `metadata`, as a safetensors file.

    They are sorted and in C order, so that the same arrays give the same bytes.
    """
    import numpy as np
    from safetensors.numpy import save_file

    plain = {name: np.array(arrays[name], order="C") for name in sorted(arrays)}
    save_file(plain, path, metadata=dict(metadata) if metadata else None)
    path.chmod(0o666 & ~_umask())  # as readable as any other file of the user


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and the metadata of a file; ValueError when it is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            return {name: stream.get_tensor(name) for name in stream.keys()}, dict(stream.metadata() or {})  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def open_permissions(folder: Path) -> None:
    """mkdtemp makes 0700; a result is as readable as any other folder of the user."""
    folder.chmod(0o777 & ~_umask())


def _umask() -> int:
    """It can only be read by setting it, for the whole process: one thread at a time."""
    with _UMASK:
        umask = os.umask(0)
        os.umask(umask)
    return umask


def swap(new: Path, place: Path) -> None:
    """`new` takes its place; what was there goes last, so that a failure brings it back."""
    if not place.exists():
        os.rename(new, place)
        return
    old = Path(tempfile.mkdtemp(prefix=f".{place.name}.", dir=place.parent))
    os.rename(place, old)
    try:
        os.rename(new, place)
    except OSError:
        os.rename(old, place)
        raise
    shutil.rmtree(old, ignore_errors=True)


def move_in(new: Path, place: Path, marker: str, stale: Iterable[str]) -> None:
    """The files of `new` move into `place`, which stays where it is, as does all else in it.

    `marker` is what makes the folder whole: it goes first and comes last. `stale` names go too.
    """
    (place / marker).unlink(missing_ok=True)
    for name in stale:
        (place / name).unlink(missing_ok=True)
    for file in sorted(new.iterdir(), key=lambda file: (file.name == marker, file.name)):
        os.replace(file, place / file.name)


class FileLocked(Exception):
    """Another process holds the lock; its text names that process."""


@contextmanager
def locked(file: Path) -> Iterator[None]:
    """Only one process at a time is inside; FileLocked in any other. The file lasts as long as the block.

    The system lets go of a lock when its process ends, however it ends: a file that a kill leaves bars nobody.
    """
    handle = None if fcntl is None else _lock(file)
    try:
        yield
    finally:
        if handle is not None:
            if _is_at(handle, file):  # its folder may be gone, and one of another process in its place
                file.unlink()
            os.close(handle)


def _lock(file: Path) -> int:
    """A handle that holds the lock until it is closed."""
    while True:
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the process before us has just removed its folder
            continue
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            holder = os.read(handle, 200).decode(errors="replace")
            os.close(handle)
            raise FileLocked(holder or "another process") from error
        except OSError as error:
            if error.errno not in NO_LOCKS:
                os.close(handle)
                raise
        if _is_at(handle, file):
            break
        os.close(handle)  # of a file that the process before us has just removed
    os.ftruncate(handle, 0)
    os.write(handle, f"process {os.getpid()} on {platform.node()}".encode())
    return handle


def _is_at(handle: int, file: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(handle), file.stat())
    except FileNotFoundError:
        return False
