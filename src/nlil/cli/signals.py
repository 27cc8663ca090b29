"""Signals that end a command are noticed at once, whatever the main thread is doing.

Python runs a signal handler only between two bytecode instructions of the main thread, and sorting a large array or a
compiled loop is a single one. So a thread is notified too.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread
from types import FrameType

INTERRUPTED = 130
"""The exit code after Ctrl-C."""
PATIENCE = 1.0
"""Seconds that the main thread has to notice Ctrl-C; then the process ends without it."""


@contextmanager
def hearing(hear: Callable[[int], None]) -> Iterator[int]:
    """Call `hear` in another thread with the number of each signal; yields the file that was told of signals before.

    Only signals with a handler in Python are heard.
    """
    receiver, sender = os.pipe()
    if sys.platform != "win32":  # there, any file will do
        os.set_blocking(sender, False)

    def listen() -> None:
        while numbers := os.read(receiver, 1):
            hear(numbers[0])

    listener = Thread(target=listen, daemon=True)
    listener.start()
    told_before = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    try:
        yield told_before
    finally:
        signal.set_wakeup_fd(told_before)
        os.close(sender)
        listener.join()
        os.close(receiver)


@contextmanager
def unheard() -> Iterator[None]:
    """Inside the block, no thread is told of signals: for code that handles them itself, and may take its time."""
    told_before = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(told_before, warn_on_full_buffer=False)


@contextmanager
def ending_soon(say: Callable[[], None]) -> Iterator[None]:
    """Inside the block, end the process if the main thread does not notice Ctrl-C within PATIENCE; `say` so before.

    Nothing is lost by that: files change by one rename, and a command that saves what it has answers Ctrl-C itself.
    """
    noticed, usual = Event(), signal.getsignal(signal.SIGINT)

    def notice(number: int, frame: FrameType | None) -> None:
        noticed.set()
        signal.default_int_handler(number, frame)

    def hear(number: int) -> None:
        if number == signal.SIGINT:
            if not noticed.wait(PATIENCE):
                say()
                os._exit(INTERRUPTED)
            noticed.clear()

    if usual is not signal.default_int_handler:  # ignored, as for background jobs of a shell
        yield
        return
    signal.signal(signal.SIGINT, notice)
    with hearing(hear):
        try:
            yield
        finally:
            signal.signal(signal.SIGINT, usual)
