"""What is compiled ahead is what is called later: the same loops, with the same types."""

from __future__ import annotations

import subprocess
from collections import defaultdict
from collections.abc import Callable
from typing import Any

import pytest
from numba import typeof

from nlil.cli import ahead
from nlil.config import LearnerConfig
from nlil.datasets import load_dataset
from nlil.evaluation.blocks import score_queries
from nlil.evaluation.ranking import Ranker
from nlil.explanation.firing import Firing
from nlil.kernel import code_files
from nlil.kernel.compiled import Compiled, SmallWork
from nlil.kernel.references import widened
from nlil.learning.learner import Learner

Types = dict[str, set[str]]
LOOPS = {
    "score_queries", "_survey_block", "_walk_lines", "_mark",
    "_aggregate", "_loss",
}  # fmt: skip
"""Those that take long to compile."""


@pytest.fixture
def types_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], Any]], Types]:
    """types_of(work): the types that each function was called with; all of them run in plain Python."""

    def recorded(work: Callable[[], Any]) -> Types:
        seen: Types = defaultdict(set)

        def call(self: Compiled, *arguments: Any) -> Any:
            if self.__name__ in LOOPS:  # type: ignore[attr-defined]
                kinds = [widened(typeof(value)) for value in arguments]
                seen[self.__name__].add(" ".join(map(str, kinds)))  # type: ignore[attr-defined]
            return self.function(*arguments)

        monkeypatch.setattr(Compiled, "__call__", call)
        monkeypatch.setattr(SmallWork, "limit", SmallWork.limit)
        work()
        return seen

    return recorded


@pytest.mark.filterwarnings("ignore:overflow encountered")  # hashes, which machine code lets overflow
def test_what_is_compiled_ahead_is_what_is_called(types_of: Callable[[Callable[[], Any]], Types]) -> None:
    def use() -> None:
        data = load_dataset("kin:30")
        config = LearnerConfig().with_values({"max_length": 2, "threads": 1})
        rules = Learner(config).fit(data.kb, list(data.targets), data.splits).rules
        Ranker(rules, data.kb, 1).rank(data.splits.test, data.splits.all())
        firing = Firing(rules, data.kb)
        for target, predicate in enumerate(data.kb.predicates):
            firing.pair(target, 0, 1) if predicate.arity == 2 else firing.member(target, 0)

    later, before = types_of(use), types_of(ahead.compile_now)
    assert set(before) == LOOPS
    assert before == later


@pytest.mark.parametrize("kept", [True, False])
def test_the_process_is_started_once(kept: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Any] = []
    started: list[list[str]] = []
    monkeypatch.setattr(code_files, "is_kept", lambda function: asked.append(function) or kept)
    monkeypatch.setattr(subprocess, "Popen", lambda words, **_: started.append(words))
    monkeypatch.setattr("os.cpu_count", lambda: 2)
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    ahead.compile_ahead()
    assert asked == [score_queries]
    assert [words[1:] for words in started] == ([] if kept else [["-m", "nlil.cli.ahead"]])
