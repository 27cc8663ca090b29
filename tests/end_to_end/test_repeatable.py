"""Same data, same seed, same rules: to the byte, whatever the memory, the threads or the folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline import Nlil


@pytest.mark.parametrize("options", [(), ("--memory", "64MiB"), ("--threads", "1"), ("--threads", "2"),
                                     ("--device", "cpu")])
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
