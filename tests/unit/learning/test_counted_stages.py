"""Counting continues where it was killed: the same rules to the byte, nothing counted twice, nothing of other work."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.datasets import load_dataset
from nlil.errors import RunError
from nlil.learning import checkpoint as module
from nlil.learning.checkpoint import Checkpoint, CountedStages, fingerprint
from nlil.learning.folder import read_arrays
from nlil.learning.learner import Learner
from nlil.progress import Stop

SETTINGS: dict[str, Any] = {"search": "count", "rules_per_target": 0}


class Killed(Exception):
    """Stands for the end of the process."""


@pytest.fixture(autouse=True)
def keep_every_stage(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 0.0)


def rules_file(
    folder: Path, store: Path | None = None, kill_at: str = "", data: str = "kin:40", **settings: Any
) -> bytes:
    """Learn, and return the file of rules; `store` is for the checkpoint, the process ends at the stage `kill_at`."""
    dataset = load_dataset(data)
    config = LearnerConfig(**SETTINGS, **settings)
    work = fingerprint(config, dataset.checksum, dataset.targets)
    kept = None if store is None else Checkpoint(store / "checkpoint", work)

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        if stage == kill_at:
            raise Killed

    learned = Learner(config).fit(dataset.kb, dataset.targets, dataset.splits, progress, checkpoint=kept)
    return (learned.save(folder) / "rules.parquet").read_bytes() + (folder / "bodies.parquet").read_bytes()


def keys(folder: Path) -> list[str]:
    """The keys of what is stored."""
    files = (folder / "checkpoint").glob("*.safetensors")
    return sorted(json.loads(read_arrays(file)[1][module.METADATA])["key"] for file in files)


def test_a_killed_run_counts_nothing_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = rules_file(tmp_path / "whole")
    with pytest.raises(Killed):
        rules_file(tmp_path / "killed", tmp_path, "calibration")
    stored = keys(tmp_path)
    assert sum("all facts" in key for key in stored) >= 4  # chains of 2 and 3, typed chains, constants
    assert sum("without part 0" in key for key in stored) >= 4

    def again(*_: Any) -> None:
        raise AssertionError("counted again")

    for name in ("two_step_chains", "longer_chains", "typed_chains"):
        monkeypatch.setattr(f"nlil.search.count.{name}", again)
    monkeypatch.setattr("nlil.search.constants.HeadCounter.rows", again)
    assert rules_file(tmp_path / "resumed", tmp_path) == whole


def test_killed_while_counting(tmp_path: Path) -> None:
    """What was complete is stored, and what was not is counted."""
    with pytest.raises(Killed):
        rules_file(tmp_path / "killed", tmp_path, "constants")
    assert [key.split(" ", 6)[-1] for key in keys(tmp_path)] == ["chains of 2"]
    assert rules_file(tmp_path / "resumed", tmp_path) == rules_file(tmp_path / "whole")


def test_rules_for_unary_targets_are_not_counted_twice(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    options: dict[str, Any] = {"data": "street:20", "joint": False}
    whole = rules_file(tmp_path / "whole", **options)
    with pytest.raises(Killed):
        rules_file(tmp_path / "killed", tmp_path, "score", **options)
    assert sum(key.endswith("rules for unary targets") for key in keys(tmp_path)) >= 1
    monkeypatch.setattr("nlil.search.unary.list_bodies", lambda *_: pytest.fail("counted again"))
    assert rules_file(tmp_path / "resumed", tmp_path, **options) == whole


def test_other_work_is_refused(tmp_path: Path) -> None:
    with pytest.raises(Killed):
        rules_file(tmp_path / "killed", tmp_path, "calibration")
    with pytest.raises(RunError, match="other settings"):
        rules_file(tmp_path / "other", tmp_path, min_support=3)


def stages(folder: Path, about: str = "a", stop: Stop | None = None) -> CountedStages:
    return CountedStages(Checkpoint(folder / "checkpoint", {}), about, stop or Stop())


def test_what_depends_on_memory_or_time_is_not_taken_over(tmp_path: Path) -> None:
    one, two = ({"x": np.array([value])} for value in (1, 2))
    assert stages(tmp_path)("chains", lambda: one) is one
    assert stages(tmp_path)("chains", lambda: two)["x"].tolist() == [1]
    assert stages(tmp_path, "b")("chains", lambda: two) is two  # another budget, other lengths
    assert stages(tmp_path, stop=Stop(60))("chains", lambda: two) is two  # a time limit decides how far it goes


def test_a_stage_that_was_stopped_is_not_stored(tmp_path: Path) -> None:
    stop = Stop()

    def cut() -> dict[str, np.ndarray]:
        stop.set()
        return {"x": np.zeros(1)}

    stages(tmp_path, stop=stop)("chains", cut)
    assert stages(tmp_path)("chains", lambda: {"x": np.ones(1)})["x"].tolist() == [1]


def test_short_stages_are_not_stored(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LEAST_SECONDS", 60.0)
    rules_file(tmp_path / "run", tmp_path)
    assert not [*(tmp_path / "checkpoint").glob("*.safetensors")]
