"""Shared by all tests: golden files, and the command line called as a function."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import settings

from commandline import Nlil, Outcome

GOLDEN = Path(__file__).parent / "golden"


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--update-golden", action="store_true", help="rewrite tests/golden; review reads the diff")


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[str, str], None]:
    """golden(name, text): the text is what tests/golden/name holds; times and trailing blanks do not count."""

    def check(name: str, text: str) -> None:
        plain = "\n".join(line.rstrip() for line in re.sub(r"\d+\.\d+ s\b", "#.# s", text).splitlines()) + "\n"
        path = GOLDEN / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(exist_ok=True)
            path.write_text(plain, encoding="utf-8")
        assert path.is_file(), f"no golden file {name}; make it with pytest --update-golden"
        assert plain == path.read_text(encoding="utf-8")

    return check


@pytest.fixture
def nlil_command(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Nlil:
    """nlil_command("inspect", "kin"): the command line, in this process, as wide as a pipe."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def call(*arguments: object) -> Outcome:
        from nlil.cli.main import run

        capsys.readouterr()
        code = run([str(a) for a in arguments])
        captured = capsys.readouterr()
        return Outcome(code, captured.out, captured.err)

    return call


@pytest.fixture(autouse=True, scope="session")
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Tests keep no facts where the user does, and find none there."""
    with pytest.MonkeyPatch.context() as context:
        context.setenv("NLIL_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


# The same examples in every run, so that a red test stays red until it is mended; NLIL_FUZZ=1 draws new ones.
settings.register_profile("same", derandomize=True)
settings.register_profile("new")
settings.load_profile("new" if os.environ.get("NLIL_FUZZ") else "same")
