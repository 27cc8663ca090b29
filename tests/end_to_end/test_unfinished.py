"""A run that was cut short: refused where it cannot serve, continued with --resume, never mixed with other work."""

from __future__ import annotations

import signal
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commandline import Nlil
from nlil.errors import LimitError
from nlil.learning.checkpoint import Checkpoint
from nlil.learning.learner import Learner
from nlil.learning.run import Learned, load_run

KILLED = """
import os, signal, sys
from nlil.cli import bar, main

def report(self, stage, done, total, note=""):
    os.kill(os.getpid(), signal.SIGKILL)

bar.Bar.__call__ = report
sys.argv = ["nlil", *sys.argv[1:]]
main.main()
"""

EVEN = ("learn", "even:10", "--set", "min_support=1", "--out")


def killed(*arguments: object) -> None:
    child = subprocess.run(
        [sys.executable, "-c", KILLED, *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert child.returncode == -signal.SIGKILL, child.stderr


def test_killed_and_resumed_it_ends_with_the_same_rules(nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    killed("learn", "kin", "--out", run)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]
    assert [p.name for p in run.iterdir()] == ["checkpoint"]
    for command in (("rules",), ("evaluate",), ("explain", "uncle(jack1, emil1)")):
        name, *rest = command
        complaint = nlil_command(name, run, *rest).complaint
        assert f"this run is unfinished; continue it with: nlil learn DATA --out {run} --resume" in complaint
    complaint = nlil_command("learn", "kin", "--out", run).complaint
    assert "the run is unfinished; continue it with --resume, replace it with --force" in complaint
    complaint = nlil_command("learn", "kin", "--out", run, "--resume", "--seed", "1").complaint
    assert "started with other settings (seed: 0, now 1); use --force to start over" in complaint
    complaint = nlil_command("learn", "kin:60", "--out", run, "--resume").complaint
    assert "started with other data" in complaint
    complaint = nlil_command("learn", "kin", "--out", run, "--resume", "--target", "uncle").complaint
    assert "started with other targets (targets: no longer " in complaint
    assert nlil_command("learn", "kin", "--out", run, "--resume", "--threads", "1").code == 0
    assert (run / "rules.parquet").read_bytes() == (kin_run / "rules.parquet").read_bytes()
    assert not (run / "checkpoint").exists()


def test_force_starts_over(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    killed(*EVEN, run)
    assert nlil_command(*EVEN, run, "--force", "--set", "max_length=2").code == 0
    assert load_run(run).config.max_length == 2
    assert not (run / "checkpoint").exists()


def test_a_replacement_that_was_killed_is_what_resume_continues(nlil_command: Nlil, tmp_path: Path) -> None:
    run, other = tmp_path / "run", ("--set", "max_length=2")
    assert nlil_command(*EVEN, run).code == 0
    killed(*EVEN, run, "--force", *other)
    assert load_run(run).config.max_length == 3  # until the new one is whole the old one serves
    assert nlil_command(*EVEN, run, "--resume", *other).code == 0
    assert load_run(run).config.max_length == 2


class Trainer:
    """Learner.fit with a slow stage: ten steps, each saved; `at_step` may do what it likes."""

    def __init__(self, at_step: Callable[[int], None]) -> None:
        self.at_step = at_step
        self.first_steps: list[int] = []
        self.fit = Learner.fit

    def __call__(self, learner: Learner, *data: Any, checkpoint: Checkpoint, stop: Any, **options: Any) -> Learned:
        found = checkpoint.load("train")
        step, total = (found[1]["step"], found[0]["total"]) if found else (0, np.zeros(1))
        self.first_steps.append(step)
        while step < 10 and not stop():
            step, total = step + 1, total + step
            checkpoint.save("train", {"total": total}, {"step": step})
            self.at_step(step)
        history = tuple({"target": "even/1", "epoch": e, "loss": 1 / (e + 1)} for e in range(step))
        learned = self.fit(learner, *data, stop=stop, **options)
        return replace(learned, history=history, attentions={"even/1|output": total})


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[int], None]], Trainer]:
    original = Learner.fit

    def use(at_step: Callable[[int], None]) -> Trainer:
        made = Trainer(at_step)
        made.fit = original
        monkeypatch.setattr(Learner, "fit", lambda learner, *data, **options: made(learner, *data, **options))
        return made

    return use


Use = Callable[[Callable[[int], None]], Trainer]


def test_the_whole_work(trainer: Use, nlil_command: Nlil, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    run = tmp_path / "run"
    trainer(lambda step: None)
    outcome = nlil_command(*EVEN, run, "--json")
    assert outcome.json["num_history"] == 10
    assert f"learning curves: {run / 'curves.png'}" in outcome.err
    assert (run / "curves.png").read_bytes().startswith(b"\x89PNG")
    assert load_run(run).attentions["even/1|output"].tolist() == [45]
    assert len((run / "history.jsonl").read_text().splitlines()) == 10


def test_ctrl_c_keeps_the_result_and_the_checkpoint(trainer: Use, nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    trainer(lambda step: signal.raise_signal(signal.SIGINT) if step == 4 else None)
    outcome = nlil_command(*EVEN, run)
    assert outcome.code == 130
    assert f"nlil learn even:10 --out {run} --resume --set min_support=1" in outcome.err
    assert load_run(run).partial
    assert len(load_run(run).history) == 4
    going_on = trainer(lambda step: None)
    assert nlil_command(*EVEN, run, "--resume").code == 0
    assert going_on.first_steps == [4]
    assert load_run(run).attentions["even/1|output"].tolist() == [45]
    assert not (run / "checkpoint").exists()


def broken_at(step: int, error: BaseException) -> Callable[[int], None]:
    def at_step(now: int) -> None:
        if now == step:
            raise error

    return at_step


@pytest.mark.parametrize(("error", "code"), [(LimitError("too little memory"), 2), (KeyboardInterrupt(), 130)])
def test_what_was_saved_survives_a_failure(
    error: BaseException, code: int, trainer: Use, nlil_command: Nlil, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    trainer(broken_at(6, error))
    outcome = nlil_command(*EVEN, run)
    assert outcome.code == code
    assert ("--resume" in outcome.err) == (code == 130)  # a refusal stays one sentence
    assert [p.name for p in run.iterdir()] == ["checkpoint"]
    going_on = trainer(lambda step: None)
    assert nlil_command(*EVEN, run, "--resume").code == 0
    assert going_on.first_steps == [6]
    assert load_run(run).attentions["even/1|output"].tolist() == [45]


def test_a_damaged_checkpoint_is_told(trainer: Use, nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    trainer(broken_at(6, LimitError("x")))
    assert nlil_command(*EVEN, run).code == 2
    (file,) = (run / "checkpoint").glob("*.safetensors")
    file.write_bytes(file.read_bytes()[:-3])
    complaint = nlil_command(*EVEN, run, "--resume").complaint
    assert file.name in complaint
    assert "--force" in complaint
    assert file.exists()
    trainer(lambda step: None)
    assert nlil_command(*EVEN, run, "--force").code == 0


def test_a_failure_before_anything_was_saved_leaves_no_trace(
    nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "deep" / "run"

    def refuse(*_: object, **__: object) -> None:
        assert (run / "checkpoint").is_dir()  # it is there early
        raise LimitError("too little memory")

    monkeypatch.setattr(Learner, "fit", refuse)
    assert "too little memory" in nlil_command(*EVEN, run).complaint
    assert not run.exists()
    run.mkdir()
    assert nlil_command(*EVEN, run).code == 2
    assert not any(run.iterdir())
