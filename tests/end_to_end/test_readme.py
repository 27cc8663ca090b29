"""What the README shows works as it stands there."""

from __future__ import annotations

import re
import shlex
from pathlib import Path

import pytest

from commandline import Nlil

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
COMMANDS = (ROOT / "docs" / "commands.md").read_text(encoding="utf-8")


def test_it_is_short() -> None:
    assert len(README.splitlines()) < 150


def test_the_demo_prints_what_stands_there(nlil_command: Nlil) -> None:
    """Figures, rules and reasons; seconds, memory and the name of the page differ from run to run."""

    def lines(text: str) -> list[str]:
        text = re.sub(r"[\d.]+ s;", "T s;", text)
        text = re.sub(r"(seconds|peak_memory_mb) +[\d.,]+", r"\1", text)
        text = re.sub(r"^ +\S*\.html$", "PAGE", text, flags=re.MULTILINE)
        return [" ".join(line.replace("─", "").split()) for line in text.splitlines() if line.strip(" ─")]

    (block,) = re.findall(r"```\n(1\. Facts: .*?)```", COMMANDS, re.DOTALL)
    printed = lines(nlil_command("demo").out)
    assert printed == lines(block)
    (some,) = re.findall(r"```\n( rule .*?)```", README, re.DOTALL)
    places = [printed.index(line) for line in lines(some)]
    assert places == sorted(places)


def test_python_blocks(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, "README.md", "exec"), {})
    printed = capsys.readouterr().out
    assert "<Model: " in printed
    assert "mrr" in printed
    assert "vera1 is an aunt of kate2, because " in printed
    assert "probability" in printed
    assert "'bad' 'good' 'good'] 1.0" in printed
    assert (tmp_path / "runs" / "aunt" / "rules.parquet").is_file()


def test_commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, nlil_command: Nlil) -> None:
    """Every `nlil ...` line of the command blocks, in order."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.pl").write_text("uncle(X, Y) :- brother(X, Z1), father(Z1, Y).\n")
    said = [f"s{i}_0\tstreet\t0.9\ns{i}_1\tperson\t0.6\ns{i}_1\tcar\t0.4\n" for i in range(100)]
    (tmp_path / "scores.tsv").write_text("".join(said))
    blocks = [b for b in re.findall(r"```\n(.*?)```", COMMANDS + README, re.DOTALL) if b.startswith("nlil ")]
    lines = [re.split(r"\s{2,}", line)[0] for block in blocks for line in block.splitlines()]
    assert len(lines) > 30
    for line in dict.fromkeys(lines):
        if line.startswith("nlil learn ") and Path(shlex.split(line)[4]).exists():
            continue  # that run is there, by another line
        if line.startswith("nlil serve"):
            continue  # it runs until it is stopped; tests/browser has it
        outcome = nlil_command(*shlex.split(line)[1:])
        assert outcome.code == 0, (line, outcome.err)
    assert (tmp_path / "new.tsv").is_file()
