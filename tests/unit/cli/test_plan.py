"""nlil plan: an estimate for data, or for a number of facts on many machines."""

from __future__ import annotations

import json

import pytest

from nlil.cli.main import run


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, object]:
    assert run(["plan", *words, "--json"]) == 0
    return dict(json.loads(capsys.readouterr().out))


def test_plan_of_data(capsys: pytest.CaptureFixture[str]) -> None:
    about = told(capsys, "kin", "--memory", "1GiB", "--threads", "2")
    assert about["facts"] > 1_000  # type: ignore[operator]
    assert about["memory_mb"] == pytest.approx(sum(about["memory_by_part_mb"].values()))  # type: ignore[attr-defined]
    assert about["cpu_seconds"] == pytest.approx(sum(about["cpu_seconds_by_part"].values()))  # type: ignore[attr-defined]
    assert about["cores"] == 2


def test_plan_of_many_machines(capsys: pytest.CaptureFixture[str]) -> None:
    about = told(capsys, "--facts", "1e9", "--nodes", "100", "--cores", "16")
    simulation = about["simulation"]
    assert isinstance(simulation, dict)
    assert (simulation["nodes"], simulation["cores"]) == (100, 16)
    assert simulation["seconds"] == pytest.approx(sum(simulation["seconds_by_part"].values()))
    assert run(["plan", "--facts", "1e8", "--nodes", "10"]) == 0
    assert "memory of the first node" in capsys.readouterr().out


@pytest.mark.parametrize("words", [[], ["kin", "--facts", "10"], ["--facts", "0"]])
def test_plan_needs_data_or_a_number(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", *words]) == 2
    assert "facts" in capsys.readouterr().err


def test_too_little_memory_is_said_at_the_start(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["plan", "--facts", "1e8", "--memory", "1GiB"]) == 2
    assert "is too little for 100,000,000 facts" in capsys.readouterr().err
