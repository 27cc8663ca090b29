"""What is under way when time is up is left out; what was found before is a run that can be used."""

from __future__ import annotations

import numpy as np
import pytest

import nlil
from nlil.config import LearnerConfig
from nlil.datasets import load_dataset
from nlil.evaluation.ranking import Ranker
from nlil.kernel.pool import Pool
from nlil.learning.learner import Learner
from nlil.progress import Stop, Stopped

CONFIG = LearnerConfig().with_settings(["search=count", "threads=2"])


@pytest.mark.parametrize("stage", ["constants", "weigh rules", "calibration", "choose rules", "choose rules: weights"])
def test_a_search_that_is_stopped_in_any_stage_has_rules_to_rank_with(stage: str) -> None:
    dataset, stop, seen = load_dataset("kin"), Stop(), set[str]()

    def progress(name: str, done: int, total: int, note: str = "") -> None:
        seen.add(name)
        if name == stage:
            stop.set()

    learned = Learner(CONFIG).fit(dataset.kb, splits=dataset.splits, progress=progress, stop=stop)
    assert stage in seen
    assert learned.partial
    assert len(learned.rules)
    assert nlil.evaluate(learned.rules, dataset.kb, dataset.splits.test[:50])["mrr"] > 0.1
    if stage in ("constants", "weigh rules", "calibration"):
        assert learned.theory is None


def test_ranks_that_are_not_complete_are_no_result() -> None:
    dataset, stop = load_dataset("kin"), Stop()
    rules = Learner(CONFIG, rules_per_target=0, weigh=False).fit(dataset.kb, targets=["uncle"]).rules
    ranker = Ranker(rules, dataset.kb, 1, stop=stop)
    facts = dataset.kb.facts.of(dataset.kb.predicate_id(dataset.kb.predicate("uncle")))
    assert len(ranker.rank(facts, facts).fact) == 2 * len(facts)
    stop.set()
    with pytest.raises(Stopped):
        ranker.rank(facts, facts)


def test_a_task_that_was_begun_has_a_result() -> None:
    stop = Stop()

    def work(_: None, task: int) -> int:
        if task == 5:
            stop.set()
        return task

    for threads in (1, 3):
        found = Pool(lambda: None, threads).map(work, range(100), stop=stop)
        assert found == list(np.arange(len(found)))
        assert len(found) < 100
        assert stop.cut
