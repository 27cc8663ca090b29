"""Find cached machine code on disk. Does not import numba."""

from __future__ import annotations

import os
import stat
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.files import user_cache

if TYPE_CHECKING:
    from .compiled import Compiled


def is_kept(function: Compiled) -> bool:
    """Return whether machine code of the current version of `function` is on disk."""
    return any(any(folder.glob(f"{file_stem(function)}-*.machine")) for folder in folders(function))


def file_stem(function: Compiled) -> str:
    """Return the prefix of the cache files of `function`: its name and a hash of its code."""
    name = f"{function.function.__module__}.{function.function.__qualname__}".replace("<", "").replace(">", "")
    return f"{name}-{function.stamp[:16]}"


def folders(function: Compiled) -> Iterator[Path]:
    """Yield the cache folders of `function`, best first: beside the source, per user, temporary."""
    source = Path(function.function.__code__.co_filename)
    if not source.is_file():
        return  # defined in an interactive session
    if chosen := os.environ.get("NUMBA_CACHE_DIR"):
        yield Path(chosen) / digest(str(source.parent))[:16]
    yield source.parent / "__pycache__"
    with suppress(RuntimeError):  # no home directory
        yield user_cache() / "nlil" / digest(str(source.parent))[:16]
    if (temporary := _temporary()) is not None:
        yield temporary / digest(str(source.parent))[:16]


def make_folder(folder: Path) -> None:
    """Create `folder` and its parents; a temporary folder is private to this user."""
    if folder.parent == _temporary():
        folder.parent.mkdir(mode=0o700, exist_ok=True)
    folder.mkdir(parents=True, exist_ok=True)


def is_safe(folder: Path) -> bool:
    """Return whether code in `folder` can be trusted, since anybody can write to the temporary directory."""
    if folder.parent != _temporary() or not hasattr(os, "getuid"):
        return True
    found = folder.parent.lstat()
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o022


def _temporary() -> Path | None:
    """Return the folder of this user in the temporary directory; None if no directory is writable."""
    try:
        return Path(tempfile.gettempdir()) / f"nlil-{getattr(os, 'getuid', int)()}"
    except FileNotFoundError:
        return None


def digest(*parts: object) -> str:
    """Return the SHA-256 of the repr of `parts`, in hexadecimal."""
    return sha256(repr(parts).encode()).hexdigest()
