"""With little time: what brings most comes first, and no stage takes it all."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from nlil.datasets import load_dataset
from nlil.evaluation.gate import Gate
from nlil.learning import weighing
from nlil.learning.gates import WEIGHING
from nlil.learning.validation import Fold, Validation
from nlil.learning.weighing import fit_weighing
from nlil.progress import Stop
from nlil.search.cost import RULE_SECONDS, WRITE_SHARE, most_rules
from nlil.search.count import Counted, count_rules, prior_rules
from nlil.search.exclusions import find_exclusions
from nlil.search.options import CountOptions


def stages(stop: Stop | None = None, ends_at: str = "") -> tuple[list[str], Counted]:
    kb = load_dataset("kin").kb
    seen: list[str] = []

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        if stage not in seen:
            seen.append(stage)
        if stop is not None and stage == ends_at:
            stop.set()

    targets = np.flatnonzero(kb.predicate_counts).astype(np.int32)
    counted = count_rules(kb, targets, CountOptions(stop=stop), progress=progress)
    return seen, counted


def test_constants_are_counted_before_longer_chains() -> None:
    seen, _ = stages()
    assert seen.index("constants") < seen.index("length 3: propose")


def test_a_search_that_ends_before_longer_chains_has_its_constants() -> None:
    _, whole = stages()
    _, cut = stages(Stop(), "length 3: propose")
    assert cut.partial
    for rules in (whole.rules, cut.rules):
        assert np.count_nonzero(rules.head_entity >= 0)
    anchored = [np.count_nonzero(found.rules.head_entity >= 0) for found in (whole, cut)]
    assert anchored[0] == anchored[1]


@pytest.mark.parametrize("stage", ["gather", "ascend"])
def test_no_half_of_a_weighing_is_used(stage: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Gate, "passes", lambda *_: True)  # whatever is found is taken
    kb = load_dataset("kin").kb
    _, counted = stages()
    valid = kb.facts[~kb.facts.is_unary][: WEIGHING.least_facts]
    judged = Validation(kb, counted.rules, (Fold(kb, counted.rules, valid, kb.facts),))
    assert fit_weighing(judged, 0).weighing  # with enough time there is one
    stop, whole_stage = Stop(), getattr(weighing, stage)

    def ended(*arguments: Any, **more: Any) -> Any:
        stop.set()
        return whole_stage(*arguments, **more)

    monkeypatch.setattr(weighing, stage, ended)
    assert fit_weighing(judged, 0, stop=stop) == counted.rules.aggregation
    assert stop.cut


def test_a_search_that_has_no_time_at_all_has_its_priors() -> None:
    stop = Stop()
    stop.set()
    kb = load_dataset("kin").kb
    targets = np.flatnonzero(kb.predicate_counts).astype(np.int32)
    counted = count_rules(kb, targets, CountOptions(stop=stop))
    assert counted.partial
    priors = prior_rules(kb, targets, CountOptions().min_support)
    assert len(priors) > 100
    assert sorted(str(one.rule) for one in counted.rules) == sorted(str(one.rule) for one in priors)


class Limited(Stop):
    """A time limit that never passes by itself: only what is reserved of it counts."""

    left = 100.0  # type: ignore[assignment]
    is_late = False  # type: ignore[assignment]

    def __init__(self) -> None:
        super().__init__()
        self.reserved = 0.0

    def reserve(self, seconds: float) -> None:
        self.reserved += seconds


def test_time_to_write_the_rules_is_reserved_before_longer_chains_are_looked_for() -> None:
    stop = Limited()
    _, counted = stages(stop)
    with_constants = int(np.count_nonzero(counted.rules.head_entity >= 0))
    assert with_constants
    assert stop.reserved == pytest.approx(RULE_SECONDS * with_constants)


def test_a_time_limit_leaves_room_for_as_many_rules_as_can_be_written_in_a_part_of_it() -> None:
    assert most_rules(2**34, 0, 0) > most_rules(2**34, 0, 0, 40.0) == int(WRITE_SHARE * 40.0 / RULE_SECONDS)


def test_a_reserve_ends_the_work_earlier() -> None:
    stop = Stop(1000.0)
    stop.reserve(400.0)
    assert 500 < stop.left < 600
    assert not stop.is_late
    stop.reserve(700.0)
    assert stop.is_late
    without = Stop()
    without.reserve(1000.0)
    assert not without.is_late


def test_a_search_that_was_stopped_looks_for_no_exclusions() -> None:
    kb = load_dataset("kin").kb
    targets = np.flatnonzero(kb.predicate_counts).tolist()
    stop = Stop()
    assert find_exclusions(kb, targets, stop=stop)
    stop.set()
    assert find_exclusions(kb, targets, stop=stop) == ()
    assert stop.cut
