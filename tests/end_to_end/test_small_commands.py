"""Small commands on a small run import nothing that takes longer to load than they may run (see `nlil bench start`)."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = ("torch", "scipy", "pandas", "numba")


@pytest.mark.parametrize(
    "words",
    [
        ("rules", "RUN", "--target", "uncle", "--top", "5"),
        ("rules", "RUN", "--target", "uncle", "--top", "5", "--examples", "3"),
        ("predict", "RUN", "uncle(?, vera1)"),
        ("explain", "RUN", "aunt(vera1, kate2)"),
        ("explain", "RUN", "female(vera1)"),
        ("inspect", "kin"),
    ],
    ids=" ".join,
)
def test_small_commands_import_little(words: tuple[str, ...], kin_run: Path) -> None:
    given = [str(kin_run) if word == "RUN" else word for word in words]
    code = f"import sys, nlil.cli.main as m; print(m.run({given}), [m for m in {HEAVY} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == "0 []", done.stderr
