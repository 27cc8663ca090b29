"""Training that is killed or stopped by Ctrl-C: what was saved is used, and the rules end up the same to the byte."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from time import sleep

import pytest

from commandline import Nlil
from nlil.learning.run import load_run
from nlil.neural import search
from nlil.neural.training import Trainer

EPOCHS = 30
SETTINGS = (
    "search=neural",
    "steps=1",
    "heads=1",
    f"epochs={EPOCHS}",
    "generator=free",
    "batch=256",
    "score_rate=.05",  # slow enough that it is not solved before the last epoch
    "patience=1000",
    "restarts=2",
    "positives=60",
    "recursive=off",
    "extract_samples=2",
    "priors=off",
)
CONJUNCTION = ("learn", "planted:conjunction", *(word for s in SETTINGS for word in ("--set", s)), "--out")
FILES = ("rules.parquet", "history.jsonl", "attentions.safetensors")

# Saves after every epoch, so that there is a checkpoint long before the end.
SAVING = """
import sys
from nlil.cli import main
from nlil.neural import search

search.SAVE_SECONDS = -1.0
sys.argv = ["nlil", *sys.argv[1:]]
main.main()
"""


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    from nlil.cli.main import run

    folder = tmp_path_factory.mktemp("whole") / "run"
    assert run([*CONJUNCTION, str(folder), "--quiet"]) == 0
    return folder


@pytest.fixture
def steps(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The epochs that are trained in this process."""
    trained: list[int] = []
    step = Trainer.step

    def counted(trainer: Trainer) -> None:
        trained.append(trainer.epoch)
        step(trainer)

    monkeypatch.setattr(Trainer, "step", counted)
    return trained


def assert_same(run: Path, whole: Path) -> None:
    for name in FILES:
        assert (run / name).read_bytes() == (whole / name).read_bytes(), name
    assert not load_run(run).partial
    assert not (run / "checkpoint").exists()


def test_killed_in_the_middle_of_training(
    nlil_command: Nlil, whole_run: Path, steps: list[int], tmp_path: Path
) -> None:
    run = tmp_path / "run"
    child = subprocess.Popen([sys.executable, "-c", SAVING, *CONJUNCTION, str(run), "--quiet"])
    try:
        while child.poll() is None and not any((run / "checkpoint").glob("*.safetensors")):
            sleep(0.01)
    finally:
        child.kill()
    assert child.wait() == -signal.SIGKILL, "it must not have ended by itself"
    assert not (run / "run.json").exists()
    assert nlil_command(*CONJUNCTION, run, "--resume").code == 0
    assert 0 < steps[0] < EPOCHS, "it goes on from the checkpoint"
    assert steps == list(range(steps[0], EPOCHS))
    assert_same(run, whole_run)


def test_a_killed_run_that_had_trained_everything_trains_no_more(
    nlil_command: Nlil, whole_run: Path, steps: list[int], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"

    def killed(*_: object) -> None:
        raise KeyboardInterrupt

    counted = search.count_candidates
    monkeypatch.setattr(search, "count_candidates", killed)
    assert nlil_command(*CONJUNCTION, run).code == 130
    steps.clear()
    monkeypatch.setattr(search, "count_candidates", counted)
    assert nlil_command(*CONJUNCTION, run, "--resume").code == 0
    assert steps == []
    assert_same(run, whole_run)


def interrupt_at(epoch: int, monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Ctrl-C when the epoch begins; answers how to take that back."""
    step = Trainer.step

    def interrupted(trainer: Trainer) -> None:
        if trainer.epoch == epoch:
            os.kill(os.getpid(), signal.SIGINT)
        step(trainer)

    monkeypatch.setattr(Trainer, "step", interrupted)
    return lambda: monkeypatch.setattr(Trainer, "step", step)


@pytest.mark.parametrize("save_seconds", [-1.0, 1000.0], ids=["saved before", "not saved before"])
def test_ctrl_c_in_the_middle_of_training(
    save_seconds: float,
    nlil_command: Nlil,
    whole_run: Path,
    steps: list[int],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = tmp_path / "run"
    monkeypatch.setattr(search, "SAVE_SECONDS", save_seconds)
    undo = interrupt_at(10, monkeypatch)  # after it no rules are read, unless training ends there
    outcome = nlil_command(*CONJUNCTION, run)
    assert outcome.code == 130
    assert "--resume" in outcome.err
    assert load_run(run).partial
    assert 11 <= len(steps) <= 13, "it ends soon after the signal"
    undo()
    steps.clear()
    assert nlil_command(*CONJUNCTION, run, "--resume").code == 0
    assert steps == list(range(11, EPOCHS)), "nothing that was trained is trained again"
    assert_same(run, whole_run)
