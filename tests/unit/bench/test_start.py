"""nlil bench start: what is run, what counts, what the table says."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from commandline import Nlil
from nlil.cli.session import Session
from nlil.errors import NlilError
from nlil_bench import job as apart
from nlil_bench import start
from nlil_bench.job import measure_here
from nlil_bench.registry import Request
from nlil_bench.start import start_table
from nlil_bench.watched import Watched, run_nlil


def test_every_command_runs_once_before_it_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    ran: list[str] = []

    def run(words: Sequence[str], environment: Mapping[str, str] | None = None) -> Watched:
        ran.append(words[0])
        if words[0] == "demo":
            assert environment is not None
            copy = Path(environment["PYTHONPATH"])
            assert (copy / "nlil" / "__init__.py").is_file()
            assert not list(copy.rglob("__pycache__"))
            assert not any(Path(environment[name]).exists() for name in start.CACHE_VARIABLES)
        return Watched(0, float(len(ran)), 0.25 if ran.count(words[0]) > 1 else 99.0, 0, 0, "", "")

    monkeypatch.setattr(start, "run_nlil", run)
    entry = measure_here(Request(Session()).job("start", "kin"))
    assert ran == ["learn", *(name for name in start.COMMANDS for _ in range(start.REPEATS + 1)), "demo"]
    assert {used["cpu"] for name, used in entry["seconds"].items() if name != "first demo"} == {0.25}
    assert entry["seconds"]["first demo"] == {"wall": float(len(ran)), "cpu": 99.0}
    assert list(measure_here(Request(Session(), quick=True).job("start", "kin"))["seconds"]) == list(start.COMMANDS)


def test_a_command_is_measured_with_all_its_processors() -> None:
    used = run_nlil(["--version"])
    assert 0 < used.cpu_seconds < 60
    assert 0 < used.seconds < 60
    with pytest.raises(NlilError, match="No such command 'lern'"):
        run_nlil(["lern"])


def test_the_table(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def measured(job: Mapping[str, Any], progress: Any = None) -> dict[str, Any]:
        seconds = {"rules": {"cpu": 0.5, "wall": 0.6}}
        return {"data": "kin", "quick": job["quick"], "seconds": seconds, "machine": {"device": "cpu", "cores": 2}}

    monkeypatch.setattr(apart, "measure_apart", measured)
    document = nlil_command("bench", "start", "--out", tmp_path, "--json").json
    assert start_table(document["entries"]).splitlines()[2] == "| `nlil rules` | 0.50 s | 0.60 s | 2 cores |"
    assert start_table({"kin quick": {**document["entries"]["kin"], "quick": True}}) == "Not measured yet."
    assert "bench start has no use for it" in nlil_command("bench", "start", "--data", "kin").complaint
