"""LaTeX: names come out as they are, and what is written compiles."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest
from test_programs import RULES

from nlil.exports import program
from nlil.exports.latex import _IN_T1, BEGIN, END, escaped
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule

NO_LATEX = "pdflatex is not installed, so the LaTeX export is NOT compiled; Debian: apt-get install texlive-latex-base"
NAMES = (
    "/film/film/genre",
    "a_b%c#d",
    "$",
    "\\",
    "\\alpha",
    "{",
    "}",
    "~^&|<>\"'`",
    "--",
    ",,",
    "?`!`",
    "''",
    "[x]",
    " a  b ",
    "Zürich",
    "Łódź",
    "naïve œuvre",
    "東京",
    "Ελλάδα",
    "Москва",
    "🙂",
    "e\u0301",
    "ħ",
    "\x07",
    "\t",
    "\u2028",
    "\u00a0",
    "\u00ad",
    "#1",
    "%",
    "\\end{align*}",
    "\\input{secret}",
    "*",
    "**",
    "a" * 300,
)


def test_escapes() -> None:
    assert {name: escaped(name) for name in NAMES[:24]} == {
        "/film/film/genre": "/film/film/genre",
        "a_b%c#d": "a\\_b\\%c\\#d",
        "$": "\\$",
        "\\": "\\textbackslash{}",
        "\\alpha": "\\textbackslash{}alpha",
        "{": "\\{",
        "}": "\\}",
        "~^&|<>\"'`": "\\textasciitilde{}\\textasciicircum{}\\&\\textbar{}\\textless{}\\textgreater{}"
        "\\textquotedbl{}\\textquotesingle{}\\textasciigrave{}",
        "--": "{-}{-}",
        ",,": "{,}{,}",
        "?`!`": "?\\textasciigrave{}!\\textasciigrave{}",
        "''": "\\textquotesingle{}\\textquotesingle{}",
        "[x]": "[x]",
        " a  b ": "\\ a\\ \\ b\\ ",
        "Zürich": "Zürich",
        "Łódź": "Łódź",
        "naïve œuvre": "naïve\\ œuvre",
        "東京": "\\nlilchar{26481}{6771}\\nlilchar{20140}{4EAC}",
        "Ελλάδα": "".join(f"\\nlilchar{{{ord(c)}}}{{{ord(c):04X}}}" for c in "Ελλάδα"),
        "Москва": "".join(f"\\nlilchar{{{ord(c)}}}{{{ord(c):04X}}}" for c in "Москва"),
        "🙂": "\\nlilchar{128578}{1F642}",
        "e\u0301": "e\\nlilchar{769}{0301}",
        "ħ": "\\nlilchar{295}{0127}",
        "\x07": "\\textbackslash{}x7",
    }


def written(*texts: str) -> str:
    return "".join(program((ScoredRule(parse_rule(text), RuleStats(1, 1, 1), 0.5) for text in texts), "latex"))


def test_no_rules_open_no_environment() -> None:
    """LaTeX ends with an error where a paragraph ends in align*, as an empty line does."""
    assert written() == ""
    assert written("p(X) :- q(X).") == f"{BEGIN}\\text{{p}}(X) &\\leftarrow \\text{{q}}(X)\n{END}"
    assert "\n\n" not in written(*RULES)


def compiled(tmp_path: Path, body: str) -> None:
    packages = "\\usepackage[T1]{fontenc}\n\\usepackage{amsmath}\n"
    text = f"\\documentclass{{article}}\n{packages}\\begin{{document}}\n{body}\\end{{document}}\n"
    (tmp_path / "rules.tex").write_text(text, encoding="utf-8")
    done = subprocess.run(
        ["pdflatex", "-interaction=nonstopmode", "-halt-on-error", "-no-shell-escape", "rules.tex"],
        cwd=tmp_path,
        capture_output=True,
        timeout=60,
        check=False,
    )
    log = (tmp_path / "rules.log").read_text(encoding="utf-8", errors="replace")
    errors = [line for line in log.splitlines() if line.startswith("! ") or "Missing character" in line]
    assert (done.returncode, errors) == (0, [])


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason=NO_LATEX)
def test_every_construct_and_every_name_compiles(tmp_path: Path) -> None:
    quoted = ["'" + "".join(f"\\x{ord(c):x}\\" for c in name) + "'" for name in NAMES]
    named = [
        f"{name}(X, {name}) :- {name}(X, Z1), {name}(Z1), \\+ ({name}(Z2), {name}(Z2, {name}))." for name in quoted
    ]
    compiled(tmp_path, written(*RULES, *named) + written("p(X) :- q(X)."))


@pytest.mark.skipif(shutil.which("pdflatex") is None, reason=NO_LATEX)
def test_every_letter_that_stands_as_itself_compiles(tmp_path: Path) -> None:
    letters = sorted(c for c in _IN_T1 if c.isprintable())
    lines = [f"\\text{{{escaped(''.join(letters[i : i + 20]))}}} &" for i in range(0, len(letters), 20)]
    compiled(tmp_path, BEGIN + " \\\\\n".join(lines) + "\n" + END)
