"""An allocation that fails ends with one sentence and exit code 2, wherever it is, and leaves no half-written run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from commandline import Nlil
from ilp import examples, folder, numbers
from nlil.learning.run import load_run

LARGE = 50_000
"""Bytes of an array that counts as large on the small data of these tests."""
FUNCTIONS = ("zeros", "empty", "full", "concatenate", "repeat", "arange", "argsort", "flatnonzero", "where", "stack")
COUNT = ("--set", "search=count", "--memory", "256MiB", "--threads", "2")


class Allocations:
    """Counts large arrays, and refuses number `failing` (0: none)."""

    def __init__(self, failing: int, large: int) -> None:
        self.failing, self.large, self.count = failing, large, 0

    def watching(self, make: Callable[..., Any]) -> Callable[..., Any]:
        def made(*arguments: Any, **options: Any) -> Any:
            found = make(*arguments, **options)
            if isinstance(found, np.ndarray) and found.nbytes >= self.large:
                self.count += 1
                if self.count == self.failing:
                    raise MemoryError
            return found

        return made


@contextmanager
def allocations(failing: int = 0, large: int = LARGE) -> Iterator[Allocations]:
    found = Allocations(failing, large)
    with pytest.MonkeyPatch.context() as context:
        for name in FUNCTIONS:
            context.setattr(np, name, found.watching(getattr(np, name)))
        yield found


def check_every(
    nlil_command: Nlil, points: int, *command: object, before: Callable[[], object] = lambda: None, large: int = LARGE
) -> None:
    """Let the allocations of a command fail, one at a time, at this many points."""
    before()
    assert nlil_command(*command).code == 0  # compiles what is missing, with the functions of numpy as they are
    before()
    with allocations(large=large) as whole:
        assert nlil_command(*command).code == 0
    assert whole.count >= points
    # Not the very last ones: how many there are depends a little on which thread takes which task.
    for failing in np.linspace(1, 0.9 * whole.count, points).astype(int).tolist():
        before()
        with allocations(failing, large) as found:
            ended = nlil_command(*command)
        assert found.count >= failing
        assert ended.code == 2, (failing, ended.err)
        assert ended.err.splitlines()[-1].startswith("nlil: not enough memory"), ended.err
        assert "Traceback" not in ended.err
        assert ended.out == ""


def test_evaluate(nlil_command: Nlil, kin_run: Path) -> None:
    check_every(nlil_command, 3, "evaluate", kin_run, "--quiet")
    assert load_run(kin_run)


QUESTIONS = (
    ("predict", "uncle(jack1, ?)"),
    ("explain", "uncle(jack1, emil1)"),
    ("check",),
    ("complete",),
    ("theory",),
    ("rules", "--top", "5"),
    ("materialize", "--out", "facts.tsv"),
    ("report", "--out", "report.html"),
    ("score", "asked.tsv"),
)


@pytest.mark.slow
@pytest.mark.parametrize("command", QUESTIONS, ids=[name for name, *_ in QUESTIONS])
def test_questions(
    command: tuple[str, ...], nlil_command: Nlil, kin_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "asked.tsv").write_text("jack1\tuncle\temil1\n" * 10_000)
    name, *rest = command
    check_every(nlil_command, 2, name, kin_run, *rest, "--quiet", before=lambda: [*map(Path.unlink, made(tmp_path))])
    assert len(made(tmp_path)) == 0, "a file is there, although the last command failed"


def made(folder: Path) -> list[Path]:
    """What a command has written into a folder."""
    return [file for file in folder.iterdir() if file.name != "asked.tsv"]


def test_program(nlil_command: Nlil, tmp_path: Path) -> None:
    even = examples("even", [(i,) for i in range(0, 12, 2)], [(i,) for i in range(1, 12, 2)])
    data = folder(tmp_path / "even", numbers(200), even)
    check_every(nlil_command, 5, "program", data, "--quiet", large=1_000)


def test_training(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """torch raises a RuntimeError of its own."""
    monkeypatch.setattr("nlil.neural.training.Trainer.step", lambda trainer: torch.empty(10**15))
    run = tmp_path / "run"
    ended = nlil_command("learn", "even:10", "--out", run, "--quiet", "--set", "search=neural")
    assert ended.code == 2
    assert ended.err.startswith("nlil: not enough memory: "), ended.err
    assert "4,000,000,000 MB more were needed" in ended.err
    assert not (run / "run.json").exists()


@pytest.mark.slow
def test_learn(nlil_command: Nlil, tmp_path: Path) -> None:
    import shutil

    run = tmp_path / "run"
    command = ("learn", "kin:60", "--out", run, "--quiet", *COUNT)
    check_every(nlil_command, 12, *command, before=lambda: shutil.rmtree(run, ignore_errors=True))
    assert not run.exists()
