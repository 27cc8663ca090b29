"""The files of a run folder: JSON, JSON lines, arrays, checksums."""

from __future__ import annotations

import hashlib
import json
import math
import os
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("nlil", "torch", "numpy", "numba", "pyarrow")

MALFORMED = (KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions that a reader raises for a malformed file of a run folder."""

_UMASK = Lock()


def versions(packages: Iterable[str] = PACKAGES) -> dict[str, str]:
    """Return the versions of Python and of the `packages` that results depend on."""
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


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_json_lines(path: Path) -> tuple[dict[str, Any], ...]:
    """Read one JSON object per line."""
    # Not splitlines: a name from the data may contain one of the rarer line separators of Unicode.
    return tuple(json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write `records` as one JSON object per line.

    NaN and infinity become null: a loss that diverged must not make the run unreadable.
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

    They are sorted and in C order, so that equal arrays give equal bytes.
    """
    import numpy as np
    from safetensors.numpy import save_file

    plain = {name: np.array(arrays[name], order="C") for name in sorted(arrays)}
    save_file(plain, path, metadata=dict(metadata) if metadata else None)
    path.chmod(0o666 & ~_umask())  # as readable as any other file of the user


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and the metadata of a file; raise ValueError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            return {name: stream.get_tensor(name) for name in stream.keys()}, dict(stream.metadata() or {})  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from error


def _umask() -> int:
    """Return the umask. It can be read only by setting it, for the whole process: one thread at a time."""
    with _UMASK:
        umask = os.umask(0)
        os.umask(umask)
    return umask
