"""Ctrl-C is answered at once, whatever the main thread is doing."""

from __future__ import annotations

import signal
from threading import Event

import pytest

from nlil.cli.learn import interruptible
from nlil.progress import Stop

LONG = 30.0
"""Seconds that no answer takes."""


def test_a_main_thread_that_runs_no_python_does_not_delay_the_answer() -> None:
    """The handler of Python never comes to its turn here: what answers is the thread."""
    stop, answered = Stop(), Event()
    with interruptible(stop, answered.set) as interrupted:
        signal.signal(signal.SIGINT, lambda *_: None)
        signal.raise_signal(signal.SIGINT)
        assert answered.wait(LONG)
        assert stop.is_late
        assert interrupted.is_set()


def test_the_first_is_answered_once_and_the_second_ends_the_program() -> None:
    stop, answers = Stop(), list[str]()
    with interruptible(stop, lambda: answers.append("stopping")):
        signal.raise_signal(signal.SIGINT)
        assert stop.is_late
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
    assert answers == ["stopping"]


def test_afterwards_signals_go_where_they_went_before() -> None:
    before = signal.getsignal(signal.SIGINT)
    with interruptible(Stop(), lambda: None):
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    assert signal.set_wakeup_fd(-1) == -1


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_the_end_of_a_service_or_a_terminal_saves_too(number: signal.Signals) -> None:
    before, stop = signal.getsignal(number), Stop()
    with interruptible(stop, lambda: None) as interrupted:
        signal.raise_signal(number)
        assert interrupted.wait(5)
        assert interrupted.signal == number
    assert stop.is_late
    assert signal.getsignal(number) == before
