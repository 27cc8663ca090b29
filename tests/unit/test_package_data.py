"""What is no Python but needed at work, such as pages and styles, is in the package that people install."""

from __future__ import annotations

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "src" / "nlil"
CACHE = "__pycache__"
"""What Python, numba and nlil compile is kept there; another process may be writing it."""


def test_every_file_is_packed() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    patterns = project["tool"]["setuptools"]["package-data"]
    assert list(patterns) == ["nlil"]
    packed = {path for pattern in patterns["nlil"] for path in PACKAGE.glob(pattern)}
    needed = {
        path for path in PACKAGE.rglob("*") if path.is_file() and path.suffix != ".py" and CACHE not in path.parts
    }
    assert {path.suffix for path in needed} >= {".html", ".css", ".js", ".json", ".svg", ".typed"}
    assert needed - packed == set(), "add them to package-data in pyproject.toml"
    assert all(any(PACKAGE.glob(pattern)) for pattern in patterns["nlil"]), "or a pattern finds nothing"


def test_every_folder_of_modules_is_a_package() -> None:
    """setuptools finds packages by their __init__.py; modules beside none would be left behind."""
    folders = {path.parent for path in PACKAGE.rglob("*.py")}
    assert {folder for folder in folders if not (folder / "__init__.py").is_file()} == set()
