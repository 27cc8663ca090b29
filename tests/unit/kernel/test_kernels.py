"""Compiled functions are kept on disk only as long as what they were made of."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from nlil.kernel import kernels

INNER = """from nlil.kernel.kernels import compiled
LIMIT = 10
@compiled
def inner(x):
    return x + 1
"""
MIDDLE = """from nlil.kernel.kernels import compiled
from inner import inner
@compiled
def middle(x):
    return 2 * inner(x)
"""
OUTER = """from nlil.kernel.kernels import compiled
from inner import LIMIT
from middle import middle
@compiled
def outer(x):
    return min(middle(x), LIMIT)
print(outer(3), sum(outer.stats.cache_hits.values()))
"""


def run(folder: Path) -> list[int]:
    done = subprocess.run([sys.executable, "outer.py"], cwd=folder, capture_output=True, text=True, check=True)
    return [int(word) for word in done.stdout.split()]


def write(folder: Path, inner: str) -> None:
    for name, text in (("inner", inner), ("middle", MIDDLE), ("outer", OUTER)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


@pytest.mark.parametrize(("old", "new", "value"), [("x + 1", "x + 2", 10), ("x + 1", "x - 2", 2), ("= 10", "= 7", 7)])
def test_what_changed_in_another_file_is_compiled_again(old: str, new: str, value: int, tmp_path: Path) -> None:
    write(tmp_path, INNER)
    assert run(tmp_path) == [8, 0]
    assert run(tmp_path) == [8, 1]  # from the disk
    write(tmp_path, INNER.replace(old, new))
    assert run(tmp_path) == [value, 0]


def test_a_tuple_with_other_fields_is_another(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Fields are places to compiled code: where two are swapped it would read the wrong one."""
    stamps = []
    for fields in ("    one: int\n    two: int\n", "    two: int\n    one: int\n"):
        (tmp_path / "engine").mkdir(exist_ok=True)
        (tmp_path / "tuples.py").write_text(f"class Pair(NamedTuple):\n{fields}\n\nx = 1\n", encoding="utf-8")
        monkeypatch.setattr(kernels, "__file__", str(tmp_path / "engine" / "kernels.py"))
        kernels._layouts.cache_clear()
        stamps.append(kernels._stamp(run))
    kernels._layouts.cache_clear()
    assert stamps[0] != stamps[1]
