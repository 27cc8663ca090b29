"""The scripts of benchmarks/: counting code, comparing two revisions, soft beside crisp facts."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path, PurePosixPath
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[3]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


FILE = '''"""Two lines
of docstring."""

import os  # not counted twice

LIMIT = 3
"""A text below a constant."""


class A:
    # a comment
    def f(self) -> str:
        """Why."""

        return """one
        text"""


async def g(
    a: int,
) -> None:
    os.nice(a)
'''


def test_code_is_counted_without_blanks_comments_and_docstrings() -> None:
    count = script("count_code").count_text(FILE)
    assert (count.files, count.lines) == (1, 10)
    assert sorted(count.functions) == [3, 4]
    assert count.row == ("1", "10", "2", "3.5", "3.5")


def test_the_house_is_nlil_without_benchmarks_and_baselines() -> None:
    module = script("count_code")
    texts = {PurePosixPath(p): "x = 1\n" for p in ("nlil/bench/kb.py", "nlil/data/kb.py", "nlil/errors.py")}
    rooms = module.count_rooms({**texts, PurePosixPath("nlil_bench/kb.py"): "x = 1\ny = 2\n"})
    assert {room: count.lines for room, count in rooms.items()} == {
        "nlil/bench": 1,
        "nlil/data": 1,
        "nlil/errors.py": 1,
        "nlil_bench/kb.py": 2,
    }
    assert [room for room in rooms if module.is_house(room)] == ["nlil/data", "nlil/errors.py"]


def test_a_revision_is_counted_like_the_working_tree() -> None:
    module = script("count_code")
    inside = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True)
    if inside.returncode:
        pytest.skip("no git checkout: counting a revision is NOT tested")
    found = module.revision("HEAD")
    assert {PurePosixPath("nlil") / name for name in ("__init__.py", "errors.py")} <= set(found)
    assert module.total(module.count_rooms(found).values()).lines > 1000
    with pytest.raises(SystemExit, match="git archive nowhere"):
        module.revision("nowhere")
