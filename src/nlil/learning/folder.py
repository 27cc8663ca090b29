"""The files of a run folder: JSON, JSON lines, arrays, checksums."""

from __future__ import annotations

import hashlib
import json
import math
import platform
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import share

if TYPE_CHECKING:
    import numpy as np

PACKAGES = ("nlil", "torch", "numpy", "numba", "pyarrow")

MALFORMED = (KeyError, IndexError, ValueError, TypeError, AttributeError, ArithmeticError, RecursionError)
"""Exceptions that a reader raises for a malformed file of a run folder."""


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


Shape = Any
"""The expected form of a JSON value: a type or a tuple of types (None: null), [shape] for a list of such values,
{key: shape} for an object, where `...` as key stands for every key that is not named. Named keys may be missing."""
NUMBER, FIGURE, TEXT = (int, float), (int, float, None), (str, None)


def read_json(path: Path, shape: Shape = object) -> Any:
    """Read the value of a JSON file. Raises ValueError if it does not have the `shape`."""
    value = json.loads(path.read_text(encoding="utf-8"))
    check_shape(value, shape, path.name)
    return value


def check_shape(value: Any, shape: Shape, where: str) -> None:
    """Raise ValueError unless a JSON `value` has the `shape`; `where` is its name for the message.

    >>> check_shape({"p": [1, 2.5]}, {...: [FIGURE]}, "figures")
    >>> check_shape({"p": [1, "x"]}, {...: [FIGURE]}, "figures")
    Traceback (most recent call last):
    ValueError: figures.p[1]: expected int, float or null, got 'x'
    """
    if isinstance(shape, list):
        if not isinstance(value, list):
            raise ValueError(f"{where}: expected a list, got {value!r}")
        for number, item in enumerate(value):
            check_shape(item, shape[0], f"{where}[{number}]")
        return
    if isinstance(shape, dict):
        if not isinstance(value, dict):
            raise ValueError(f"{where}: expected an object, got {value!r}")
        for key, item in value.items():
            check_shape(item, shape.get(key, shape.get(..., object)), f"{where}.{key}")
        return
    kinds = shape if isinstance(shape, tuple) else (shape,)
    is_small = not isinstance(value, int) or abs(value) < 2**63  # Python reads numbers of any length
    if object in kinds or (type(value) in kinds and is_small) or (value is None and None in kinds):
        return
    names = ["null" if kind is None else kind.__name__ for kind in kinds]
    expected = " or ".join([*([", ".join(names[:-1])] if names[:-1] else []), names[-1]])
    raise ValueError(f"{where}: expected {expected}, got {value!r}")


def write_json(path: Path, value: Any) -> None:
    """Write `value` as JSON."""
    path.write_text(json.dumps(value, ensure_ascii=False, indent=1) + "\n", encoding="utf-8")


def read_json_lines(path: Path, shape: Shape = object) -> tuple[dict[str, Any], ...]:
    """Read one JSON object per line. Raises ValueError if one does not have the `shape`."""
    # Not splitlines: a name from the data may contain one of the rarer line separators of Unicode.
    records = tuple(json.loads(line) for line in path.read_text(encoding="utf-8").split("\n") if line)
    check_shape(list(records), [shape], path.name)
    return records


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
    share(path)


def read_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """Return the arrays and the metadata of a file; raise ValueError if it is damaged."""
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, "numpy") as stream:
            return {name: stream.get_tensor(name) for name in stream.keys()}, dict(stream.metadata() or {})  # noqa: SIM118
    except SafetensorError as error:
        raise ValueError(str(error)) from error
