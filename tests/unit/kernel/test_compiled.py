"""Compiled functions are cached as long as what they were made of, and work where nothing can be cached."""

from __future__ import annotations

import ast
import importlib.util
import os
import pkgutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from numba.core.errors import NumbaError

import nlil
from nlil.kernel.code_files import is_kept
from nlil.kernel.compiled import SMALL_STEPS, Compiled, SmallWork, _interpreted, compiled, interpreted, shared
from nlil.kernel.sorting import sort_range, sort_unique

INNER = """from nlil.kernel.compiled import compiled
LIMIT = 10
@compiled
def inner(x):
    return x + 1
"""
MIDDLE = """from nlil.kernel.compiled import compiled
from inner import inner
@compiled
def middle(x):
    '''A docstring.'''
    return 2 * inner(x)
"""
OUTER = """from nlil.kernel.compiled import compiled
from inner import LIMIT
from middle import middle
@compiled
def outer(x):
    return min(middle(x), LIMIT)
print(outer(3), sum(outer.entry.stats.cache_hits.values()))
"""
REFUSED = (
    ast.FunctionDef, ast.Lambda, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp, ast.With, ast.Raise,
)  # fmt: skip
"""What `compiled` functions may not contain."""


@pytest.fixture
def program(tmp_path: Path) -> Iterator[Path]:
    """Three files with functions that call each other; `run` prints outer(3), and how often its code was cached."""
    write(tmp_path)
    yield tmp_path
    for path in tmp_path.rglob("*"):
        path.chmod(0o755)


def write(folder: Path, inner: str = INNER, middle: str = MIDDLE) -> None:
    for name, text in (("inner", inner), ("middle", middle), ("outer", OUTER)):
        (folder / f"{name}.py").write_text(text, encoding="utf-8")


def run(folder: Path, says: str = "", **environment: str) -> list[int]:
    done = subprocess.run(
        [sys.executable, "outer.py"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONDONTWRITEBYTECODE": "1", **environment},
    )
    assert says in done.stderr if says else not done.stderr
    assert done.stderr.count("CacheWarning") == bool(says)  # once
    return [int(word) for word in done.stdout.split()]


def cached(folder: Path) -> list[Path]:
    return sorted(folder.rglob("*.machine"))


@pytest.mark.parametrize(("old", "new", "value"), [("x + 1", "x + 2", 10), ("x + 1", "x - 2", 2), ("= 10", "= 7", 7)])
def test_what_changed_in_another_file_is_compiled_again(old: str, new: str, value: int, program: Path) -> None:
    assert run(program) == [8, 0]
    assert run(program) == [8, 1]
    before = cached(program)
    assert [path.name.partition("-")[0] for path in before] == ["__main__.outer"]  # parts need no file
    write(program, INNER.replace(old, new))
    assert run(program) == [value, 0]
    assert run(program) == [value, 1]
    after = cached(program)
    assert len(after) == 1  # the old code is gone
    assert after != before


def test_what_is_shared_with_python_is_compiled_again_too(program: Path) -> None:
    inner = INNER.replace("compiled", "shared").replace("kernel.shared", "kernel.compiled")
    write(program, inner)
    assert run(program) == [8, 0]
    assert run(program) == [8, 1]
    write(program, inner.replace("x + 1", "x - 2"))
    assert run(program) == [2, 0]


def test_what_is_shared_takes_arrays() -> None:
    @shared
    def twice(x):
        return x + x

    @compiled
    def four_times(x):
        return twice(twice(x))

    assert twice(np.array([1, 2])).tolist() == [2, 4]
    assert four_times(3) == 12


def test_what_did_not_change_is_not_compiled_again(program: Path) -> None:
    assert run(program) == [8, 0]
    write(program, "# A comment.\n\n" + INNER + "OTHER = 3\n", MIDDLE.replace("A docstring", "Another"))
    assert run(program) == [8, 1]


@pytest.mark.parametrize("damage", [b"", b"not machine code", None])
def test_a_damaged_file_is_no_code(damage: bytes | None, program: Path) -> None:
    assert run(program) == [8, 0]
    (path,) = cached(program)
    whole = path.read_bytes()
    path.write_bytes(whole[:-1] if damage is None else damage)
    assert run(program) == [8, 0]
    assert len(path.read_bytes()) == len(whole)  # mended
    assert run(program) == [8, 1]


def test_a_folder_in_the_place_of_a_file_is_no_code(program: Path) -> None:
    assert run(program) == [8, 0]
    (path,) = cached(program)
    path.unlink()
    path.mkdir()
    assert run(program, XDG_CACHE_HOME=str(program / "home")) == [8, 0]
    assert run(program, XDG_CACHE_HOME=str(program / "home")) == [8, 1]  # written elsewhere


def test_folders_that_cannot_be_written_are_passed_over(program: Path) -> None:
    """A file in the way of each folder: permissions do not stop the administrator, who may run this."""
    home, temporary = program / "home", program / "temporary"
    temporary.mkdir()
    (program / "__pycache__").write_text("in the way")
    places = {"XDG_CACHE_HOME": str(home), "TMPDIR": str(temporary)}
    assert run(program, **places) == [8, 0]
    assert run(program, **places) == [8, 1]
    assert cached(home)
    assert not list(temporary.iterdir())
    places["XDG_CACHE_HOME"] = str(program / "outer.py")
    assert run(program, **places) == [8, 0]
    assert run(program, **places) == [8, 1]
    (own,) = temporary.iterdir()
    assert own.stat().st_mode & 0o777 == 0o700
    own.chmod(0o777)  # anybody may have written there
    assert run(program, **places) == [8, 0]
    for path in [*sorted(own.rglob("*"), reverse=True), own]:
        path.rmdir() if path.is_dir() else path.unlink()
    own.write_text("in the way")
    says = "compiled code cannot be cached"
    assert run(program, says, **places) == [8, 0]
    assert run(program, says, **places) == [8, 0]  # no cache at all


NO_TEMPORARY = """import tempfile
def nothing():
    raise FileNotFoundError("No usable temporary directory found")
tempfile.gettempdir = nothing
"""


def test_nothing_at_all_can_be_written(program: Path) -> None:
    """As in a container with a read-only file system and no home."""
    (program / "outer.py").write_text(NO_TEMPORARY + OUTER, encoding="utf-8")
    (program / "__pycache__").write_text("in the way")
    for _ in range(2):
        assert run(program, "NUMBA_CACHE_DIR", XDG_CACHE_HOME=str(program / "outer.py")) == [8, 0]


def test_a_folder_of_the_user_comes_first(program: Path) -> None:
    assert run(program, NUMBA_CACHE_DIR=str(program / "chosen")) == [8, 0]
    assert run(program, NUMBA_CACHE_DIR=str(program / "chosen")) == [8, 1]
    assert cached(program) == cached(program / "chosen") != []


class Pair(NamedTuple):
    first: np.ndarray
    second: np.ndarray


class Riap(NamedTuple):
    second: np.ndarray
    first: np.ndarray


@compiled
def total(values, times):  # type: ignore[no-untyped-def]
    result = 0
    for value in values:
        result += times * value
    return result


@compiled
def difference(pair, times):  # type: ignore[no-untyped-def]
    return total(pair.first, times) - total(pair.second, times)


def test_a_tuple_with_other_fields_is_another() -> None:
    """Fields are places to compiled code: where two are swapped it would read the wrong one."""
    from nlil.kernel.machine_code import DiskCache

    one, two = np.array([5, 6]), np.array([1])
    assert difference(Pair(one, two), 2) == difference(Riap(two, one), 2) == 20
    codegen = difference.entry.targetctx.codegen()
    names = {DiskCache(difference)._name(kinds, codegen) for kinds in difference.entry.signatures}
    assert len(names) == 2


def test_processes_that_come_at_once_compile_once(program: Path) -> None:
    with ThreadPoolExecutor() as threads:
        assert sorted(threads.map(run, [program] * 3)) == [[8, 0], [8, 1], [8, 1]]
    assert not list(program.rglob("*.lock"))


def test_whether_code_is_kept_is_known_without_compiling(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))

    @compiled
    def half(value):  # type: ignore[no-untyped-def]
        return value / 2

    assert not is_kept(half)
    assert half(3) == 1.5
    assert is_kept(half)


def test_one_variant_for_all_widths_of_numbers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path))  # what an earlier run compiled is not to be found

    @compiled
    def twice(value):  # type: ignore[no-untyped-def]
        return 2 * value

    @compiled
    def sums(narrow, wide):  # type: ignore[no-untyped-def]
        return twice(narrow[0]) + twice(wide[0]) + twice(3)

    assert sums(np.array([1], np.int32), np.array([2])) == 12
    assert twice(np.int32(4)) == twice(np.int8(4)) == twice(4) == 8
    assert len(twice.part.signatures) == len(twice.entry.signatures) == 1
    assert twice(1.5) == 3.0


def test_a_part_may_make_arrays_in_any_way() -> None:
    @compiled
    def copy_half(values, result):  # type: ignore[no-untyped-def]
        result[: len(values) // 2] = values[: len(values) // 2]

    @compiled
    def half(values):  # type: ignore[no-untyped-def]
        result = np.zeros(len(values), np.int64)
        copy_half(values, result)
        return result

    assert half(np.array([5, 6, 7, 8])).tolist() == [5, 6, 0, 0]


def test_what_needs_another_pass_of_numba_is_refused() -> None:
    @compiled
    def with_closure(x):  # type: ignore[no-untyped-def]
        return [i + x for i in range(3)][2]

    with pytest.raises(NumbaError, match="make_function"):
        with_closure(1)


def test_compiled_functions_of_nlil_have_no_closures() -> None:
    """Compiling them would fail at their first call, which a test may leave out."""
    for module in pkgutil.walk_packages(nlil.__path__, "nlil."):
        text = importlib.util.find_spec(module.name).loader.get_source(module.name)  # type: ignore[union-attr]
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, ast.FunctionDef) and any(ast.unparse(d) == "compiled" for d in node.decorator_list):
                used = [type(one).__name__ for one in ast.walk(node) if isinstance(one, REFUSED)]
                assert used == ["FunctionDef"], f"{module.name}.{node.name}"


def test_a_call_of_numba_is_typed_once_with_and_once_without_arrays() -> None:
    @compiled
    def least(x, y):  # type: ignore[no-untyped-def]
        return min(x, y) + 1

    @compiled
    def filled(x, y):  # type: ignore[no-untyped-def]
        return np.full(min(x, y), least(x, y))

    assert filled(2, 3).tolist() == [3, 3]
    assert least(4, 3) == 4


def test_interpreted_code_gives_the_same() -> None:
    calls = []

    def seen(value: int) -> int:
        calls.append(value)
        return value

    function = Compiled(seen)  # type: ignore[arg-type]
    pair = Pair(np.array([5, 6]), np.array([1]))
    with interpreted():
        assert function(3) == 3
        assert difference(pair, 2) == 20
        other = threading.Thread(target=lambda: calls.append(difference(pair, 2)))
        other.start()
        other.join()
    assert calls == [3, 20]
    with interpreted(False), interpreted(), interpreted(False):
        assert function(4) == 4


def test_small_work_is_interpreted_up_to_a_limit() -> None:
    small = SmallWork()
    seen = []
    for steps in (SMALL_STEPS // 2, SMALL_STEPS // 2, 1, 0):
        with small.of(steps):
            seen.append(_interpreted.depth)
        assert _interpreted.depth == 0
    assert seen == [1, 1, 0, 0]


def test_work_that_is_announced_as_large_is_compiled_from_the_first_step_on() -> None:
    small = SmallWork()
    small.expect(SMALL_STEPS)
    assert small.is_left
    small.expect(SMALL_STEPS + 1)
    assert not small.is_left


def test_numba_is_imported_by_the_first_call() -> None:
    code = """
import sys
import nlil.search.chains
from nlil.kernel.compiled import interpreted
from nlil.kernel.sorting import sort_range
import numpy as np
for small in (True, False):
    values = np.array([1, 0])
    with interpreted(small):
        sort_range(values, 0, 2)
    print(values, "numba" in sys.modules)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[0 1] False\n[0 1] True\n"


def test_threads_that_come_at_once_compile_once() -> None:
    @compiled
    def slow(values):  # type: ignore[no-untyped-def]
        return values.sum()

    entries: list[object] = []
    threads = [threading.Thread(target=lambda: entries.append(slow.entry)) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(map(id, entries))) == 1


@pytest.mark.parametrize("kind", [np.int32, np.int64])
@pytest.mark.parametrize("size", [0, 1, 2, 16, 17, 18, 1000, 5000])
def test_sort_range_sorts_the_range_and_nothing_else(size: int, kind: type) -> None:
    random = np.random.default_rng(size)
    for most in (3, 10**6):
        values = random.integers(0, most, size + 20).astype(kind)
        expected = values.copy()
        expected[10 : 10 + size].sort()
        sort_range(values, 10, 10 + size)
        assert np.array_equal(values, expected)
    for values in (np.arange(size), np.arange(size)[::-1].copy(), np.zeros(size, np.int64)):
        expected = np.sort(values)
        sort_range(values, 0, size)
        assert np.array_equal(values, expected)


@pytest.mark.parametrize("size", [0, 1, 2, 50])
def test_sort_unique_leaves_each_number_once(size: int) -> None:
    values = np.random.default_rng(size).integers(0, 10, size + 5)
    before = values.copy()
    end = sort_unique(values, 3, 3 + size)
    assert values[3:end].tolist() == np.unique(before[3 : 3 + size]).tolist()
    assert values[:3].tolist() == before[:3].tolist()
    assert values[3 + size :].tolist() == before[3 + size :].tolist()
