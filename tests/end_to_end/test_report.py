"""nlil report: one page of a run, the same every time, small, and refused in one sentence where it cannot be."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.cli.main import run


def test_a_page_of_a_run(nlil_command: Nlil, tmp_path: Path) -> None:
    own = tmp_path / "kin"  # not a shared run: others may have measured it already
    assert nlil_command("learn", "kin", "--out", own, "--quiet", "--set", "search=count").code == 0
    first = nlil_command("report", own, "--out", tmp_path / "a.html", "--json").json
    assert first["num_targets_shown"] == first["num_targets"] == 18
    assert first["num_rules_shown"] < first["num_rules"]
    content = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert first["bytes"] == len(content.encode()) < 5_000_000
    assert "nlil evaluate RUN" in content
    assert nlil_command("evaluate", own, "--quiet").code == 0
    out = nlil_command("report", own, "--out", tmp_path / "b.html").out
    assert "written to" in out
    measured = (tmp_path / "b.html").read_text(encoding="utf-8")
    assert "nlil evaluate RUN" not in measured
    assert "mrr_optimistic" in measured
    assert str(tmp_path) not in measured
    assert nlil_command("report", own, "--out", tmp_path / "c.html", "--threads", "1").code == 0
    assert (tmp_path / "c.html").read_text(encoding="utf-8") == measured


def test_a_page_of_scenes_has_pictures(nlil_command: Nlil, street_run: Path, tmp_path: Path) -> None:
    made = nlil_command("report", street_run, "--out", tmp_path / "street.html", "--json").json
    assert made["num_pictures"] == 2
    assert 'id="pictures"' in (tmp_path / "street.html").read_text(encoding="utf-8")


def test_a_page_of_a_trained_run_has_curves(nlil_command: Nlil, tmp_path: Path) -> None:
    folder = tmp_path / "even"
    settings = ("search=neural", "epochs=2", "min_support=1")
    words = [word for setting in settings for word in ("--set", setting)]
    assert run(["learn", "even:10", "--out", str(folder), "--quiet", *words]) == 0
    assert nlil_command("report", folder, "--out", tmp_path / "even.html").code == 0
    assert 'id="curves"' in (tmp_path / "even.html").read_text(encoding="utf-8")


def test_the_demo_ends_with_a_page(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "demo.html"
    assert nlil_command("demo", "--out", page, "--json").json["report"] == str(page)
    assert page.stat().st_size < 5_000_000
    assert "ending in .html" in nlil_command("demo", "--out", tmp_path / "demo.txt").complaint
    monkeypatch.setitem(sys.modules, "jinja2", None)
    without = nlil_command("demo")
    assert without.code == 0
    assert "nlil[report]" in without.out


def test_an_injected_name_stays_text(nlil_command: Nlil, tmp_path: Path) -> None:
    evil = "<script>alert(1)</script>"
    people = [f"p{i}" for i in range(6)] + [evil]
    lines = [f"{one}\tknows\t{two}" for one in people for two in people if one < two]
    lines += [f"{two}\tknown_by\t{one}" for one, _, two in (line.split("\t") for line in lines)][1:]
    (tmp_path / "facts.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    assert run(["learn", str(tmp_path / "facts.tsv"), "--out", str(tmp_path / "run"), "--quiet"]) == 0
    assert nlil_command("report", tmp_path / "run", "--out", tmp_path / "a.html").code == 0
    content = (tmp_path / "a.html").read_text(encoding="utf-8")
    assert evil not in content
    assert "&lt;script&gt;alert(1)&lt;/script&gt;" in content
    assert content.count("<script") == 1


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("RUN", "--out", "report.pdf"), "report.pdf: expected a name ending in .html or .htm"),
        (("nowhere",), "nowhere: no such run folder"),
    ],
)
def test_refusals(
    words: tuple[str, ...],
    expected: str,
    nlil_command: Nlil,
    kin_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in nlil_command("report", *(str(kin_run) if w == "RUN" else w for w in words)).complaint
    assert list(tmp_path.iterdir()) == []
