"""The calibration in a run folder: kept, verified, gone with the rules it belongs to."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset
from nlil.datasets import load_dataset
from nlil.errors import RunError
from nlil.evaluation.calibration import Calibration, CalibrationMap, calibration_figures
from nlil.evaluation.candidates import scored_candidates
from nlil.learning.learner import Learner
from nlil.learning.opening import Applied, load_calibration
from nlil.learning.run import CALIBRATION, Learned, add_json, load_run, save_run

SETTINGS = {"search": "count", "max_length": 2, "constants": False, "typed": False}


@pytest.fixture(scope="module")
def kin() -> tuple[Dataset, Learned]:
    dataset = load_dataset("kin:80")
    return dataset, Learner(LearnerConfig().with_values(SETTINGS)).fit(dataset.kb, splits=dataset.splits)


def test_it_is_kept_in_the_run(kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    dataset, learned = kin
    path = save_run(learned, tmp_path / "run")
    assert load_calibration(path) is None
    found = Applied(learned.rules, dataset, learned.config).fit_calibration(seed=0)
    assert found is not None
    add_json(path, CALIBRATION, found.to_dict())
    assert load_calibration(path) == found
    assert load_run(path)
    (path / "calibration.json").write_text("{}")
    with pytest.raises(RunError, match=r"calibration\.json is damaged"):
        load_run(path)


def test_measured_on_facts_that_the_map_has_not_seen(kin: tuple[Dataset, Learned]) -> None:
    dataset, learned = kin
    applied = Applied(learned.rules, dataset, learned.config)
    found = applied.fit_calibration(seed=0)
    for split in ("valid", "test"):
        got = applied.reliability(split).figures
        candidates = scored_candidates(learned.rules, dataset.kb, dataset.splits, split)
        assert got == calibration_figures(candidates, found, is_own_sample=split == "valid")
        assert set(got) == {
            "brier_before",
            "brier_after",
            "ece_before",
            "ece_after",
            "calibration_candidates",
            "calibration_answers",
        }
        assert got["brier_after"] < got["brier_before"]
    assert applied.reliability("train").figures == {}


def test_new_rules_do_not_keep_it(kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    path = save_run(kin[1], tmp_path / "run")
    add_json(path, CALIBRATION, Calibration({2: CalibrationMap()}).to_dict())
    (path / "checkpoint").mkdir()
    save_run(kin[1], path, force=True)
    assert load_calibration(path) is None


@pytest.mark.parametrize("content", [{}, {"kind": "isotonic"}, {"kind": "beta", "num_candidates": 1, "maps": []}])
def test_what_is_no_calibration_is_refused(content: object, kin: tuple[Dataset, Learned], tmp_path: Path) -> None:
    path = save_run(kin[1], tmp_path / "run")
    add_json(path, "calibration.json", content)
    with pytest.raises(RunError, match="does not describe a calibration"):
        load_calibration(path)


def test_without_validation_facts_there_is_none(kin: tuple[Dataset, Learned]) -> None:
    from dataclasses import replace

    dataset, learned = kin
    bare = replace(dataset, splits=replace(dataset.splits, valid=dataset.splits.valid[:0]))
    assert Applied(learned.rules, bare, learned.config).fit_calibration(seed=0) is None
