"""SIGKILL while counting: --resume ends with the rules of a run that was never killed, and leaves nothing behind."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="needs SIGKILL")

DRIVER = """
import os, signal, sys
from nlil.cli.main import run
from nlil.learning import checkpoint

checkpoint.LEAST_SECONDS = 0.0
left, save = [int(sys.argv[1])], checkpoint.Checkpoint.save


def saved(*arguments):
    save(*arguments)
    left[0] -= 1
    if left[0] == 0:
        os.kill(os.getpid(), signal.SIGKILL)


checkpoint.Checkpoint.save = saved
sys.exit(run(sys.argv[2:]))
"""
KILLED = -9
BINARY = ("kin:40", "max_length=3")
UNARY = ("street:30", "joint=off")


def learn(run: Path, data: tuple[str, ...], kill_after: int, *options: str) -> int:
    """Learn in a process that kills itself once it has stored so many stages (0: never); return its exit code."""
    name, *settings = data
    changes = [word for setting in (*settings, "search=count", "rules_per_target=0") for word in ("--set", setting)]
    command = ["learn", name, "--out", str(run), "--quiet", "--threads", "1", *changes, *options]
    return subprocess.run([sys.executable, "-c", DRIVER, str(kill_after), *command], check=False).returncode


def rules(run: Path) -> bytes:
    return (run / "rules.parquet").read_bytes() + (run / "bodies.parquet").read_bytes()


@pytest.mark.slow
@pytest.mark.parametrize(("data", "kills"), [(BINARY, (1, 2)), (UNARY, (1,))])
def test_the_same_rules_after_kills(data: tuple[str, ...], kills: tuple[int, ...], tmp_path: Path) -> None:
    whole, run = tmp_path / "whole", tmp_path / "run"
    assert learn(whole, data, 0) == 0
    resumed: tuple[str, ...] = ()
    for after in kills:
        assert learn(run, data, after, *resumed) == KILLED
        assert [*(run / "checkpoint").glob("*.safetensors")]
        resumed = ("--resume",)
    assert learn(run, data, 0, *resumed) == 0
    assert rules(run) == rules(whole)
    assert sorted(file.name for file in run.iterdir()) == sorted(file.name for file in whole.iterdir())
    assert sorted(file.name for file in tmp_path.iterdir()) == ["run", "whole"]
