"""The Dockerfile copies what is there, and starts a command that nlil understands, as a user without rights."""

from __future__ import annotations

import json
import re
import shlex

import typer.main

from nlil.cli.main import application, installed_commands
from pages import ROOT

LINES = [
    line.split(maxsplit=1)
    for line in re.sub(r"\\\n", " ", (ROOT / "Dockerfile").read_text(encoding="utf-8")).splitlines()
    if line.strip() and not line.startswith("#")
]


def of(instruction: str) -> list[str]:
    return [rest for name, rest in LINES if name == instruction]


def test_what_it_copies_is_there_and_not_ignored() -> None:
    kept = [line[1:] for line in (ROOT / ".dockerignore").read_text().splitlines() if line.startswith("!")]
    copied = [source for line in of("COPY") for source in line.split()[:-1]]
    assert sorted(copied) == sorted(kept)
    assert all((ROOT / source).exists() for source in copied)


def test_it_installs_with_constraints_and_an_extra_that_exists() -> None:
    (install,) = [line for line in of("RUN") if "pip install" in line]
    assert "-c constraints.txt" in install
    extras = re.findall(r"\[(\w+)\]", install)
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert extras
    assert all(f"\n{extra} = [" in project for extra in extras)


def test_it_runs_as_somebody_without_rights() -> None:
    (user,) = of("USER")
    assert user not in ("root", "0")
    names = [name for name, _ in LINES]
    assert "RUN" not in names[names.index("USER") :], "that would run without the rights to install"


def test_its_commands_parse() -> None:
    (entry,), (command,) = of("ENTRYPOINT"), of("CMD")
    assert json.loads(entry) == ["nlil"]
    group = typer.main.get_command(application(installed_commands()))
    built = [
        shlex.split(part)[1:] for line in of("RUN") for part in line.split("&&") if part.strip().startswith("nlil ")
    ]
    for words in (json.loads(command), *built):
        group.commands[words[0]].make_context(words[0], words[1:])  # type: ignore[attr-defined]
    assert str(json.loads(command)[-1]) in of("EXPOSE")
