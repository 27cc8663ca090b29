"""Progress shows itself only for long work, and sparingly where nobody watches."""

from __future__ import annotations

import io
import re
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
    assert captured.err == (
        "chains: 15 of 1,000, 0:15 so far, about 16:25 left (7 rules)\n"
        "chains: 30 of 1,000, 0:30 so far, about 16:10 left (7 rules)\n"
    )


def test_the_estimate_counts_from_where_a_resumed_stage_began(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    bar("train", 40, 100)
    clock.now += 20
    bar("train", 50, 100, "loss 0.1\n  p(X) :- q(X, [a]).")
    assert capsys.readouterr().err == "train: 50 of 100, 0:20 so far, about 1:40 left (loss 0.1 p(X) :- q(X, [a]).)\n"


def test_work_without_a_known_end_has_no_estimate(clock: Clock, capsys: pytest.CaptureFixture[str]) -> None:
    bar = Bar()
    for second in range(21):
        clock.now = 100.0 + second
        bar("rounds", second, second, "5 new facts")
    assert capsys.readouterr().err == "rounds: 15 of 15, 0:15 so far (5 new facts)\n"


def terminal(monkeypatch: pytest.MonkeyPatch) -> io.StringIO:
    """stderr as a terminal. Not a fixture: pytest puts its own stderr in place after those."""

    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    screen = Terminal()
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "140")
    return screen


def plain(screen: io.StringIO) -> str:
    """What was drawn, without the codes of the terminal."""
    return re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", screen.getvalue())


def test_a_terminal_gets_a_bar(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    bar = Bar()
    clock.now += 3
    bar("chains", 1, 2)
    bar("anchored rules", 1, 2, "9 found")
    bar.close()
    assert "anchored rules" in screen.getvalue()
    assert "left" in plain(screen)


def test_rules_are_not_read_as_markup(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    bar = Bar()
    clock.now += 3
    bar("train [bold]p[/]/2", 4, 10, "loss 0.12  p(X, '[red]') :- q(X, [a/]).")
    bar.close()
    assert "train [bold]p[/]/2" in plain(screen)
    assert "loss 0.12 p(X, '[red]') :- q(X, [a/])." in plain(screen)


def test_targets_trained_together_have_a_row_each(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    bar = Bar()
    clock.now += 3
    for target in range(12):
        clock.now += 1
        bar(f"train p{target}/2", 1, 10)
    rows = [task.description for task in bar._live.tasks]
    assert rows == [f"train p{target}/2" for target in range(4, 12)]
    bar("train p7/2", 10, 10)
    assert "train p7/2" in [task.description for task in bar._live.tasks]
    clock.now += 20
    bar("train p11/2", 2, 10)
    clock.now += 20
    bar("check", 1, 10)  # complete and silent rows give way
    assert [task.description for task in bar._live.tasks] == ["train p11/2", "check"]
    bar.close()


def test_a_stage_that_begins_again_counts_anew(clock: Clock, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal(monkeypatch)
    bar = Bar()
    clock.now += 3
    bar("score", 10, 10)
    bar("score", 1, 10)
    bar("score", 2, 10)
    assert [(task.description, task.completed) for task in bar._live.tasks] == [("score", 2)]
    assert bar._stages["score"].first_done == 1
    bar.close()


def test_quiet_is_silent() -> None:
    from nlil.progress import silent

    with Session(quiet=True).progress() as progress:
        assert progress is silent
