"""The tables of README.md and docs are those of benchmarks/results, and a figure that was typed there is found."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from commandline import Nlil

ROOT = Path(__file__).parents[2]
PLACE = re.compile(r"<!-- bench:([\w-]+) -->.*?<!-- /bench:\1 -->", re.DOTALL)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the documents and result files, as the working folder."""
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    shutil.copytree(ROOT / "benchmarks" / "results", tmp_path / "benchmarks" / "results")
    shutil.copy(ROOT / "README.md", tmp_path)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_documents_are_up_to_date(project: Path, nlil_command: Nlil) -> None:
    outcome = nlil_command("bench", "tables", "--check")
    assert outcome.code == 0, f"{outcome.out}{outcome.err}; run: nlil bench tables"
    assert "README.md: up to date" in outcome.out
    assert "docs/results.md: up to date" in outcome.out


@pytest.mark.parametrize("name", ["README.md", "docs/results.md"])
def test_an_altered_figure_is_found_and_mended(name: str, project: Path, nlil_command: Nlil) -> None:
    path = project / name
    right = path.read_text(encoding="utf-8")
    place = PLACE.search(right)
    assert place is not None
    figure = re.search(r"\| \.\d\d\d", right[place.start() :])
    assert figure is not None
    start = place.start() + figure.start()
    altered = right[:start] + "| .000" + right[start + len(figure.group()) :]
    path.write_text(altered, encoding="utf-8")
    outcome = nlil_command("bench", "tables", "--check")
    assert outcome.code == 1
    assert f"{name}: not up to date: {place.group(1)}; run nlil bench tables" in outcome.out
    assert path.read_text(encoding="utf-8") == altered
    document = nlil_command("bench", "tables", "--json").json
    assert document["files"][name] == [place.group(1)]
    assert path.read_text(encoding="utf-8") == right


@pytest.mark.parametrize("name", ["results.md", "results-neural.md", "results-scenes.md"])
def test_results_have_no_table_that_is_not_generated(name: str) -> None:
    """So that no figure typed by hand looks like one that a command gives."""
    text = (ROOT / "docs" / name).read_text(encoding="utf-8")
    by_hand = [line for line in PLACE.sub("", text).splitlines() if line.lstrip().startswith("|")]
    assert by_hand == []


def test_quick_says_so_and_replaces_nothing(project: Path, nlil_command: Nlil) -> None:
    outcome = nlil_command("bench", "stats", "--quick", "--data", "even:10")
    assert outcome.code == 0
    assert "ES-10" in outcome.out
    assert "quick: a small version" in outcome.out
    assert nlil_command("bench", "tables", "--check").code == 0
