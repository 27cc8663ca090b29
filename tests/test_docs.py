"""The names in README.md and docs exist: files, links and their anchors, settings, commands and their options.

Every code block says what it is (tests/pages.py), so none is left unrun by accident.
"""

from __future__ import annotations

import importlib.util
import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
import typer.main

import nlil
from nlil.cli.main import application, installed_commands
from nlil.config import LearnerConfig
from nlil_bench.registry import BENCHES
from pages import PAGES, ROOT, blocks

FILE = re.compile(r"[\w./-]*\w\.(?:py|md|toml|ipynb|html|css)\b")
LANGUAGES = ("sh", "python", "text", "toml")
MADE_FILES = {"report.html", "why.html", "FILE.html", "FILE.toml"}
"""Files that a user writes or a command makes."""


def code(text: str) -> list[str]:
    """Return the code spans and code blocks of a page."""
    blocks = re.findall(r"^```[^\n]*\n(.*?)^```", text, re.S | re.M)
    rest = re.sub(r"^```.*?^```", "", text, flags=re.S | re.M)
    return blocks + re.findall(r"`([^`\n]+(?:\n[^`\n]+)?)`", rest)


@cache
def tracked_files() -> frozenset[str]:
    """Return the path of every file of the project, and every end of it: kernel/graph.py, graph.py."""
    found = set()
    for folder in ("src", "docs", "tests", "benchmarks"):
        for path in (ROOT / folder).rglob("*"):
            parts = path.relative_to(ROOT).parts
            found |= {"/".join(parts[i:]) for i in range(len(parts))}
    return frozenset(found | {path.name for path in ROOT.iterdir()})


@cache
def slugs(page: Path) -> set[str]:
    """Return the anchors of the headings of a page."""
    headings = re.findall(r"^#+ (.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@cache
def settings() -> set[str]:
    """Return the settings of `learn` and of the baselines."""
    found = {field.name for field in fields(LearnerConfig)}
    for path in (ROOT / "src" / "nlil_bench" / "baselines").glob("*.py"):
        module = import_module(f"nlil_bench.baselines.{path.stem}")
        classes = [value for name, value in vars(module).items() if is_dataclass(value) and isinstance(value, type)]
        found |= {field.name for kind in classes for field in fields(kind)}
    return found


@cache
def program() -> Any:
    """Return the command line."""
    return typer.main.get_command(application(installed_commands()))


@cache
def commands() -> dict[str, set[str]]:
    """Return the options of every command."""
    return {
        name: {option for parameter in command.params for option in (*parameter.opts, *parameter.secondary_opts)}
        for name, command in program().commands.items()
    }


def unknown_names(text: str) -> Iterator[str]:
    """Yield what a page names in code and what does not exist."""
    every_option = set().union(*commands().values(), {"--help", *(o for p in program().params for o in p.opts)})
    for span in code(text):
        for name in FILE.findall(span):
            if name.lstrip("./") not in tracked_files() and Path(name).name not in MADE_FILES:
                yield f"file {name}"
        for key in re.findall(r"--set ([a-z_]+)=", span):
            if key not in settings():
                yield f"setting {key}"
        for name, rest in re.findall(r"(?<![\w/])nlil ([a-z]+)(?![\w.])([^\n]*)", span):
            if name not in commands() and "=" not in span:
                yield f"command nlil {name}"
            bench = re.match(r" ([a-z]+)", rest)
            if name == "bench" and bench and bench[1] not in (*BENCHES, "tables"):
                yield f"command nlil bench {bench[1]}"
        for option in re.findall(r"(?<![\w-])--[a-z][\w-]*", span if span.lstrip().startswith(("nlil", "--")) else ""):
            if option not in every_option:
                yield f"option {option}"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_names_in_code_exist(page: Path) -> None:
    assert list(unknown_names(page.read_text(encoding="utf-8"))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)\s]+)\)", page.read_text(encoding="utf-8")):
        if "://" not in target:
            name, _, anchor = target.partition("#")
            there = (page.parent / name).resolve() if name else page
            assert there.is_file(), target
            assert not anchor or anchor in slugs(there), target


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_block_says_what_it_is(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    found = blocks(page)
    assert len(found) * 2 == len(re.findall("^```", text, re.M)), (
        "a fence that is not closed, or with an odd first line"
    )
    for block in found:
        assert block.language in LANGUAGES, block
        assert block.reason != "", "why is it not run?"
        if block.language == "sh" and block.is_run:
            assert all(line.startswith("nlil ") for line in block.commands), "say why it is not run"
        if block.language == "text":
            assert not block.text.startswith(("nlil ", "import ", "from ")), "name its language, so that it is run"
    assert len(re.findall("^<!-- not run: ", text, re.M)) == sum(block.reason is not None for block in found)
    prose = re.sub(r"^```.*?^```$", "", text, flags=re.S | re.M)
    assert re.search(r"^(?![-*\d ]).*\n\n    \S", prose, re.M) is None, "indented code; put it between fences"


@pytest.mark.parametrize(
    ("text", "unknown"),
    [
        ("`kernel/graph.py`, `graph.py`", []),
        ("`kernel/graphs.py`", ["file kernel/graphs.py"]),
        ("`--set max_length=2`, `--set share=.25`", []),
        ("`--set max_lenght=2`", ["setting max_lenght"]),
        ("`nlil learn kin --out RUN`", []),
        ("```\nnlil lern kin\nnlil learn kin --ouput RUN\n```", ["command nlil lern", "option --ouput"]),
        ("`nlil bench kp`", ["command nlil bench kp"]),
    ],
)
def test_names_that_do_not_exist_are_found(text: str, unknown: list[str]) -> None:
    assert list(unknown_names(text)) == unknown


def test_the_reference_has_every_public_name() -> None:
    text = (ROOT / "docs" / "reference" / "python.md").read_text(encoding="utf-8")
    assert sorted(re.findall(r"^::: nlil\.(?:[\w.]+\.)?(\w+)$", text, re.M)) == nlil.__all__


def test_the_site_shows_notebooks_with_their_output() -> None:
    pytest.importorskip("mkdocs")
    spec = importlib.util.spec_from_file_location("site_of_docs", ROOT / "docs" / "site.py")
    assert spec is not None
    assert spec.loader is not None
    site = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(site)
    text = "\n\n".join(site.notebook(ROOT / "docs" / "example.ipynb"))
    assert text.startswith("# Rules from a family tree")
    assert "```python\nimport nlil" in text
    assert '<div class="output"><table><caption>20 of 44 rules' in text
    assert "```text\nX is a wheel if X belongs to a bicycle." in text
    link = site.on_page_markdown("[a](docs/example.ipynb), [b](docs/images/a.png)", None, None, None)
    assert link == "[a](example.md), [b](images/a.png)"
