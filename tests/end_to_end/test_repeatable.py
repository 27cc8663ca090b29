"""Same data, same seed, same rules: to the byte, whatever the memory, the threads or the folder."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.learning.run import load_run


@pytest.mark.parametrize(
    "options", [(), ("--memory", "64MiB"), ("--threads", "1"), ("--threads", "2"), ("--device", "cpu")]
)
def test_nothing_changes_the_rules(options: tuple[str, ...], nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    assert nlil_command("learn", "kin", "--out", tmp_path / "run", *options).code == 0
    for name in ("rules.parquet", "entities.parquet", "predicates.json"):
        assert (tmp_path / "run" / name).read_bytes() == (kin_run / name).read_bytes()


def test_memory_changes_no_figure(nlil_command: Nlil, kin_run: Path) -> None:
    def figures(*options: str) -> dict[str, object]:
        document = nlil_command("evaluate", kin_run, "--json", *options).json
        return {k: v for k, v in document.items() if k not in ("seconds", "peak_memory_mb")}

    assert figures("--memory", "64MiB", "--threads", "1") == figures()


def test_a_seed_makes_other_data(nlil_command: Nlil) -> None:
    one = nlil_command("inspect", "kin", "--seed", "1", "--json").json["checksum"]
    assert one == nlil_command("inspect", "kin", "--seed", "1", "--json").json["checksum"]
    assert one != nlil_command("inspect", "kin", "--json").json["checksum"]


def test_a_run_remembers_its_seed(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    assert nlil_command("learn", "kin:60", "--out", run, "--seed", "5").code == 0
    outcome = nlil_command("evaluate", run, "--json")
    assert outcome.json["num_queries"] > 0
    assert "has changed" not in outcome.err


def test_a_time_limit_truncates_and_resume_completes(nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    run = tmp_path / "run"
    cut = nlil_command("learn", "kin", "--out", run, "--time-limit", "0.001s", "--json").json
    assert cut["partial"]
    assert "cut short" in nlil_command("learn", "kin", "--out", tmp_path / "two", "--time-limit", "0.001s").out
    whole = nlil_command("learn", "kin", "--out", run, "--resume", "--json").json
    assert not whole["partial"]
    assert (run / "rules.parquet").read_bytes() == (kin_run / "rules.parquet").read_bytes()


INTERRUPTED = """
import signal, sys
from nlil.cli import bar, main

interrupted = []

def report(self, stage, done, total, note=""):
    if stage == "chains" and done and not interrupted:  # several tasks may end between two reports
        interrupted.append(done)
        signal.raise_signal(signal.SIGINT)

bar.Bar.__call__ = report
sys.argv = ["nlil", *sys.argv[1:]]
main.main()
"""


def test_ctrl_c_saves_what_was_found(tmp_path: Path, nlil_command: Nlil) -> None:
    run = tmp_path / "run"
    learn = ("learn", "kin", "--out", str(run), "--target", "uncle")
    child = subprocess.run([sys.executable, "-c", INTERRUPTED, *learn], capture_output=True, text=True, check=False)
    assert child.returncode == 130
    assert "cut short" in child.stdout
    assert f"nlil learn kin --out {run} --resume" in child.stderr
    learned = load_run(run)
    assert learned.partial
    assert len(learned.rules) > 0
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
    assert nlil_command(*learn, "--resume").code == 0
    assert not load_run(run).partial
