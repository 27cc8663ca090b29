"""What a person sees for the tiny sets, kept as files: `pytest --update-golden` rewrites them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from commandline import Nlil

Golden = Callable[[str, str], None]


def test_inspect(nlil_command: Nlil, golden: Golden) -> None:
    golden("inspect-even.txt", nlil_command("inspect", "even:10").out)


def test_rules(nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    arguments = ("rules", plain_run, "--target", "uncle", "--top", "6")
    golden("rules-uncle.txt", nlil_command(*arguments).out)
    golden("rules-uncle.pl", nlil_command(*arguments, "--format", "prolog").out)


def test_even(nlil_command: Nlil, golden: Golden, even_run: Path) -> None:
    golden("rules-even.txt", nlil_command("rules", even_run).out)


@pytest.mark.parametrize(
    ("name", "command"),
    [
        ("predict-uncle.txt", ("predict", "uncle(?, vera1)", "--top", "5")),
        ("explain-aunt.txt", ("explain", "aunt(vera1, alice1)")),
        ("explain-aunt-all.txt", ("explain", "aunt(vera1, alice1)", "--all")),
    ],
)
def test_answers(name: str, command: tuple[str, ...], nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    verb, *rest = command
    golden(name, nlil_command(verb, plain_run, *rest).out)
