"""What stands out in a run: the most probable new facts and the most disputed facts, found in the background."""

from __future__ import annotations

import threading
from dataclasses import dataclass

from ..errors import NlilError
from ..evaluation.completion import NewFact, complete
from ..explanation.disputes import Dispute, check
from ..kernel.ruleset import RuleSet
from ..learning.opening import OpenedRun
from ..progress import Stopped

MAX_FACTS = 50_000
"""Of a larger graph nothing is looked for, since that takes minutes; the commands `complete` and `check` do it."""
NUM_SHOWN = 6
"""The new facts, and the disputed ones."""
MIN_WRONG = 0.05
"""Facts that are wrong with less than this probability are not called disputed."""


@dataclass(frozen=True)
class Findings:
    """The most probable `new` facts, and the most `disputed` ones."""

    new: tuple[NewFact, ...] = ()
    disputed: tuple[Dispute, ...] = ()


class Highlights:
    """The facts that stand out in an opened `run`. Any thread may read them."""

    def __init__(self, run: OpenedRun) -> None:
        self.run = run
        self.found: Findings | None = None
        """By the rules that were given last, or before, while `is_busy`; None at first."""
        self._wanted: RuleSet | None = None
        self._worker: threading.Thread | None = None
        self._is_over = False
        self._lock = threading.Lock()

    @property
    def fits(self) -> bool:
        """Whether the graph is small enough."""
        return len(self.run.base.facts) <= MAX_FACTS

    @property
    def is_busy(self) -> bool:
        """Whether facts are being looked for."""
        return self._worker is not None

    def find(self, rules: RuleSet) -> None:
        """Look for the facts in the background by these `rules`, which are those of the run without rejected ones."""
        with self._lock:
            self._wanted = rules
            if self.fits and self._worker is None:  # daemon: it must not keep a stopped viewer alive
                self._worker = threading.Thread(target=self._work, daemon=True)
                self._worker.start()

    def end(self) -> None:
        """Stop looking: the run has been replaced."""
        self._is_over = True

    def wait(self) -> None:
        """Return when all facts are found."""
        worker = self._worker
        if worker is not None:
            worker.join()

    def _work(self) -> None:
        while True:
            with self._lock:
                rules, self._wanted = self._wanted, None
                if rules is None or self._is_over:
                    self._worker = None
                    return
            try:
                self.found = self._found(rules)
            except BaseException:  # a fault of ours: the terminal shows it, and the page does not wait for ever
                with self._lock:
                    self.found, self._worker = Findings(), None
                raise

    def _found(self, rules: RuleSet) -> Findings:
        run, config = self.run, self.run.config
        try:  # one thread: the others are for the pages
            new = complete(
                rules,
                run.base,
                top=NUM_SHOWN,
                known=run.known,
                calibration=run.calibration,
                threads=1,
                memory=config.memory,
                progress=self._go_on,
            )
            disputed = check(
                rules,
                run.base,
                top=NUM_SHOWN,
                calibration=run.calibration,
                threads=1,
                memory=config.memory,
                seed=config.seed,
                progress=self._go_on,
            )
        except (NlilError, MemoryError, Stopped):  # a page without highlights is still a page
            return Findings()
        doubted = [one for one in disputed if one.wrong is None or one.wrong >= MIN_WRONG]
        return Findings(tuple(new), tuple(doubted))

    def _go_on(self, stage: str, done: int, total: int, note: str = "") -> None:
        if self._is_over:
            raise Stopped
