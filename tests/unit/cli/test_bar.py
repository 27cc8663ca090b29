"""Progress shows itself only for long work, and sparingly where nobody watches."""

from __future__ import annotations

import io
import sys

import pytest

from nlil.cli import bar as bar_module
from nlil.cli.bar import Bar
from nlil.cli.session import Session


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(bar_module, "time", clock)
    return clock


def test_short_work_is_silent(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    clock.now += 1.9
    bar("chains", 1, 10)
    bar.close()
    assert capsys.readouterr().err == ""


def test_a_plain_line_now_and_then(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    for second in range(40):
        clock.now = 100.0 + second
        bar("chains", second, 1000, "7 rules")
    bar.close()
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err == "chains: 15 of 1,000 (7 rules)\nchains: 30 of 1,000 (7 rules)\n"


def test_a_terminal_gets_a_bar(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    bar = Bar()
    clock.now += 3
    bar("chains", 1, 2)
    bar("anchored rules", 1, 2, "9 found")
    bar.close()
    assert "anchored rules" in screen.getvalue()


def test_quiet_is_silent() -> None:
    from nlil.progress import silent

    with Session(quiet=True).progress() as progress:
        assert progress is silent
