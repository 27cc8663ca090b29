"""All compiled loops once with bounds checks: compiled code does not check an index, and would read other memory."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).with_name("with_bounds.py")


@pytest.mark.slow
def test_no_loop_leaves_its_arrays(tmp_path: Path) -> None:
    folders = {name: tmp_path / name for name in ("NUMBA_CACHE_DIR", "NLIL_CACHE", "runs")}
    for folder in folders.values():
        folder.mkdir()
    checks = {"NUMBA_BOUNDSCHECK": "1", "NUMBA_DISABLE_JIT": "0"}
    ended = subprocess.run(
        [sys.executable, str(SCRIPT), str(folders.pop("runs"))],
        env={**os.environ, **{name: str(folder) for name, folder in folders.items()}, **checks},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr[-3_000:]
    compiled = {file.name.partition("-")[0] for file in folders["NUMBA_CACHE_DIR"].rglob("*.machine")}
    assert len(compiled) >= 25, sorted(compiled)  # of counting, ranking, weighing, theories, scenes, fixpoints
