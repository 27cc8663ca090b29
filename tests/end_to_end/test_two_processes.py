"""Two processes at one run: the second is refused in one sentence, and a killed one bars nobody."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.errors import RunError
from nlil.learning.checkpoint import FOLDER, LOCK, claimed, clear_folder
from nlil.learning.feedback import load_feedback
from nlil.learning.learner import Learner
from nlil.learning.run import load_run

pytest.importorskip("fcntl")

EVEN = ("learn", "even:10", "--set", "min_support=1", "--out")

# Says so as soon as it is learning, and then waits for ever.
WAITING = """
import sys, time
from nlil.cli import main
from nlil.learning.feedback import load_feedback
from nlil.learning.learner import Learner

def fit(*_, **__):
    print("learning", flush=True)
    time.sleep(1000)

Learner.fit = fit
sys.argv = ["nlil", *sys.argv[1:]]
main.main()
"""


@pytest.fixture
def learning(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """A process that learns to `run` and does not end by itself."""
    with subprocess.Popen(
        [sys.executable, "-c", WAITING, *EVEN, str(tmp_path / "run")], stdout=subprocess.PIPE, text=True
    ) as child:
        try:
            assert child.stdout is not None
            assert child.stdout.readline() == "learning\n"
            yield child
        finally:
            child.kill()


def files(folder: Path) -> dict[str, bytes]:
    return {str(p.relative_to(folder)): p.read_bytes() for p in folder.rglob("*") if p.is_file()}


def test_the_second_is_refused_until_the_first_is_killed(
    learning: subprocess.Popen[str], nlil_command: Nlil, tmp_path: Path
) -> None:
    run = tmp_path / "run"
    before = files(run)
    for option in ("--resume", "--force"):
        outcome = nlil_command(*EVEN, run, option)
        assert outcome.code == 2
        assert outcome.complaint.startswith(f"nlil: {run}: process {learning.pid} on ")
        assert "is learning here; wait until it ends, stop it, or choose another folder" in outcome.complaint
        assert files(run) == before, "nothing of the first is touched"
    learning.kill()
    assert learning.wait() == -signal.SIGKILL
    assert (run / FOLDER / LOCK).is_file()
    assert nlil_command(*EVEN, run, "--resume").code == 0
    assert not load_run(run).partial
    assert not (run / FOLDER).exists()


def test_force_holds_the_lock_while_it_starts_over(
    nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    assert nlil_command(*EVEN, run).code == 0
    fit = Learner.fit

    def tried(learner: Learner, *data: object, **options: object) -> object:
        with pytest.raises(RunError, match=f"process {os.getpid()} on "), claimed(run):
            pass
        return fit(learner, *data, **options)  # type: ignore[arg-type]

    monkeypatch.setattr(Learner, "fit", tried)
    (run / FOLDER).mkdir()
    assert nlil_command(*EVEN, run, "--force").code == 0


def test_what_was_made_for_the_lock_goes_with_it(tmp_path: Path) -> None:
    with claimed(tmp_path / "run"):
        assert (tmp_path / "run" / FOLDER / LOCK).is_file()
    assert not any(tmp_path.iterdir())
    with claimed(tmp_path / "run"):
        (tmp_path / "run" / FOLDER / "fingerprint.json").touch()
    assert list(files(tmp_path)) == [f"run/{FOLDER}/fingerprint.json"]


def test_a_lock_that_was_removed_is_not_taken_for_that_of_the_next(tmp_path: Path) -> None:
    run = tmp_path / "run"
    with ExitStack() as first, ExitStack() as second:
        first.enter_context(claimed(run))
        clear_folder(run / FOLDER)  # as at the end of a complete run
        second.enter_context(claimed(run))
        first.close()
        assert (run / FOLDER / LOCK).is_file()
        with pytest.raises(RunError), claimed(run):
            pass


WRITER = """
import sys
from nlil.learning.feedback import Verdict, save_verdict
from nlil.learning.run import save_metrics

run, name = sys.argv[1:]
for i in range(12):
    save_metrics(run, f"{name}-{i}", {"mrr": 0.5})
    save_verdict(run, f"p{name}x{i}(X) :- q(X).", Verdict("accepted"))
"""


def test_processes_that_write_figures_and_verdicts_lose_nothing(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert nlil_command(*EVEN, run).code == 0
    names = ("a", "b", "c", "d")
    writers = [subprocess.Popen([sys.executable, "-c", WRITER, str(run), name]) for name in names]
    assert [writer.wait() for writer in writers] == [0] * len(names)
    load_run(run)
    assert set(json.loads((run / "metrics.json").read_text())) == {f"{name}-{i}" for name in names for i in range(12)}
    assert len(load_feedback(run)) == 12 * len(names)
    assert not list(run.glob(".*"))


REPLACING = """
import sys
from dataclasses import replace
from nlil.learning.run import load_run, save_run

learned, runs = load_run(sys.argv[1]), 0
variants = [learned, replace(learned, rules=learned.rules.take(learned.rules.support >= 2), theory=None)]
print("begun", flush=True)
while True:
    save_run(variants[runs % 2], sys.argv[1], force=True)
    runs += 1
"""


def test_a_reader_sees_one_run_or_the_other(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert nlil_command(*EVEN, run).code == 0
    seen = set()
    with subprocess.Popen([sys.executable, "-c", REPLACING, str(run)], stdout=subprocess.PIPE) as writer:
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            for _ in range(60):
                learned = load_run(run)
                seen.add((len(learned.rules), learned.theory is None))
        finally:
            writer.kill()
    assert len(seen) == 2, seen
    load_run(run)
    assert not list(run.glob(".*"))
