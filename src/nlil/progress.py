"""How long work reports progress and is stopped early. Nothing below the command line prints."""

from __future__ import annotations

import threading
import time
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol
from weakref import ref

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

LOOK_EVERY = 0.05
"""Seconds after which a flag is set once it is time."""


class Progress(Protocol):
    """Receives reports: `done` of `total` pieces of a `stage` are complete; `note` is shown after the numbers."""

    def __call__(self, stage: str, done: int, total: int, note: str = "") -> None:
        """Report that `done` of `total` pieces of `stage` are complete; `note` says what was found so far."""


def silent(stage: str, done: int, total: int, note: str = "") -> None:
    """Ignore the report of `stage`, `done`, `total` and `note`."""


class Stopped(Exception):
    """Work was stopped before it had a result; whoever asked for it goes on without."""


class Stop:
    """When to stop early: after some seconds (0: never), or as soon as `set` is called.

    Work calls `stop()` before each piece that it could skip; `cut` says whether it skipped anything. `seconds` count
    from now; a part of some work also stops when its `whole` does.
    """

    def __init__(self, seconds: float = 0.0, whole: Stop | None = None) -> None:
        self._began = time.monotonic()
        self._deadline = self._began + seconds if seconds else None
        self._event = threading.Event()
        self._whole = whole
        self.cut = False

    def part(self, share: float) -> Stop:
        """Return a Stop for a stage: it ends after `share` of the time left, or with the whole."""
        if self._deadline is None:
            return Stop(whole=self)
        return Stop(max(share * (self._deadline - time.monotonic()), 1e-6), whole=self)

    def reserve(self, seconds: float) -> None:
        """End so many `seconds` earlier: what was found has to be joined and written in the time too."""
        if self._deadline is not None:
            self._deadline -= seconds

    @property
    def left(self) -> float:
        """Seconds left; infinite without a limit."""
        own = float("inf") if self._deadline is None else max(self._deadline - time.monotonic(), 0.0)
        return own if self._whole is None else min(own, self._whole.left)

    @property
    def used(self) -> float:
        """Seconds since it was made."""
        return time.monotonic() - self._began

    @property
    def is_timed(self) -> bool:
        """True if a time limit is set, here or for the whole."""
        return self.left < float("inf")

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process has the same deadline by the clock on the wall; `set` does not reach it."""
        return _until, (time.time() + self.left,)

    def set(self) -> None:
        """Stop the work at its next check."""
        self._event.set()

    @property
    def is_late(self) -> bool:
        """Whether it is time to end; unlike a call, to look leaves nothing out."""
        late = self._deadline is not None and time.monotonic() > self._deadline
        return late or self._event.is_set() or (self._whole is not None and self._whole.is_late)

    def __call__(self) -> bool:
        late = self.is_late
        if late:
            self.cut = True
            if self._whole is not None:
                self._whole.cut = True
        return late

    @cached_property
    def flag(self) -> NDArray[np.uint8]:
        """The same for compiled loops: an array of one number, which another thread sets soon after it is time."""
        import numpy as np

        flag = np.zeros(1, np.uint8)
        threading.Thread(target=_watch, args=(ref(self), flag), daemon=True).start()
        return flag


def _until(deadline: float) -> Stop:
    return Stop(max(deadline - time.time(), 1e-6) if deadline < float("inf") else 0.0)


def _watch(stop: ref[Stop], flag: NDArray[np.uint8]) -> None:
    """Set the flag when the time is up; end when the `Stop` no longer exists."""
    while (watched := stop()) is not None:
        if watched.is_late:
            flag[0] = 1
            return
        del watched
        time.sleep(LOOK_EVERY)
