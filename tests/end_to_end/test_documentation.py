"""What the README and the pages of docs show works as it stands there (tests/pages.py says which blocks are run)."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path
from typing import Any

import pytest

from commandline import Nlil
from pages import PAGES, README, ROOT, blocks

COMMANDS = ROOT / "docs" / "commands.md"
QUICK = ("scikit-learn.md",)
"""The pages that `make test` works through; `make test-all` does all."""
RUN_PAGES = [page for page in PAGES if page != README and any(block.is_run for block in blocks(page))]


def test_it_is_short() -> None:
    assert len(README.read_text(encoding="utf-8").splitlines()) < 150


def test_the_demo_prints_what_stands_there(nlil_command: Nlil) -> None:
    """Figures, rules and reasons; seconds, memory and the name of the page differ from run to run."""

    def lines(text: str) -> list[str]:
        text = re.sub(r"[\d.]+ s;", "T s;", text)
        text = re.sub(r"(seconds|peak_memory_mb) +[\d.,]+", r"\1", text)
        text = re.sub(r"^ +\S*\.html$", "PAGE", text, flags=re.MULTILINE)
        return [" ".join(line.replace("─", "").split()) for line in text.splitlines() if line.strip(" ─")]

    (block,) = [block for block in blocks(COMMANDS) if block.text.startswith("1. Facts: ")]
    printed = lines(nlil_command("demo").out)
    assert printed == lines(block.text)
    (some,) = [block for block in blocks(README) if block.text.startswith(" rule ")]
    places = [printed.index(line) for line in lines(some.text)]
    assert places == sorted(places)


def test_the_readme(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    nlil_command: Nlil,
    kin_run: Path,
) -> None:
    printed = work_through(README, tmp_path, monkeypatch, capsys, nlil_command, kin_run)
    assert "<Model: " in printed
    assert "mrr" in printed
    assert "vera1 is an aunt of kate2, because " in printed
    assert "probability" in printed
    assert "'bad' 'good' 'good'] 1.0" in printed
    assert (tmp_path / "runs" / "aunt" / "rules.parquet").is_file()
    assert (tmp_path / "new.tsv").is_file()


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(p, marks=() if p.name in QUICK else pytest.mark.slow, id=str(p.relative_to(ROOT)))
        for p in RUN_PAGES
    ],
)
def test_a_page(
    page: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    nlil_command: Nlil,
    kin_run: Path,
) -> None:
    work_through(page, tmp_path, monkeypatch, capsys, nlil_command, kin_run)


def work_through(
    page: Path,
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    nlil_command: Nlil,
    kin_run: Path,
) -> str:
    """Do in `folder` what a page says, and return what its Python blocks print."""
    monkeypatch.chdir(folder)
    prepare(page, folder, kin_run)
    names: dict[str, Any] = {}
    printed, commands = "", 0
    for block in blocks(page):
        if block.title is not None:
            Path(block.title).parent.mkdir(parents=True, exist_ok=True)
            Path(block.title).write_text(block.text, encoding="utf-8")
        elif block.is_run and block.language == "python":
            capsys.readouterr()
            exec(compile(block.text, page.name, "exec"), names)
            printed += capsys.readouterr().out
        elif block.is_run:
            for line in block.commands:
                commands += call(line, nlil_command)
    assert commands or printed or names, "nothing was run"
    return printed


def prepare(page: Path, folder: Path, kin_run: Path) -> None:
    """Make what pages take for granted: a run on kin, which is not learned again for each, and files of the user."""
    text = page.read_text(encoding="utf-8")
    if "runs/kin" in text:
        shutil.copytree(kin_run, folder / "runs" / "kin")
    if page == COMMANDS:
        (folder / "mine.pl").write_text("uncle(X, Y) :- brother(X, Z1), father(Z1, Y).\n")
        said = [f"s{i}_0\tstreet\t0.9\ns{i}_1\tperson\t0.6\ns{i}_1\tcar\t0.4\n" for i in range(100)]
        (folder / "scores.tsv").write_text("".join(said))
    learned = "nlil learn street --out runs/street"
    if "runs/street" in text and learned not in text:
        from nlil.cli.main import run

        assert run([*shlex.split(learned)[1:], "--set", "preset=scene", "--quiet"]) == 0


def call(line: str, nlil_command: Nlil) -> int:
    """Run a line of a block of commands; return how many commands that was."""
    words = shlex.split(line, comments=True)
    assert words[0] == "nlil", line
    if words[1] == "serve":
        return 0  # it runs until it is stopped; tests/browser has it
    if words[1] == "learn" and Path(words[words.index("--out") + 1]).exists():
        return 0  # that run is there
    outcome = nlil_command(*words[1:])
    assert outcome.code == 0, (line, outcome.err)
    return 1
