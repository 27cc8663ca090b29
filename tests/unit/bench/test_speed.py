"""nlil bench speed: what is scaled by what, what the two models are told, and that both come from one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest
import torch

from commandline import Nlil
from nlil.cli.session import Session
from nlil.config import PRESETS
from nlil.datasets import load_dataset
from nlil.errors import NlilError
from nlil.learning.learner import Learner
from nlil.logic.predicate import Predicate
from nlil.progress import silent
from nlil_bench import job as apart
from nlil_bench import recovery, speed
from nlil_bench.baselines import neural_lp
from nlil_bench.baselines.neural_lp import EpochTime, NeuralLP
from nlil_bench.cells import NOT_MEASURED
from nlil_bench.job import measure_here
from nlil_bench.registry import Request
from nlil_bench.speed import speed_table

MACHINE = {"device": "cpu", "cores": 2}
MANY = tuple(Predicate(f"p{i}", 2) for i in range(237))


def entries(data: str, ours: float, chains: float, **more: Any) -> dict[str, dict[str, Any]]:
    common = {"data": data, "quick": False, "machine": MACHINE, **more}
    return {
        f"{data} nlil": {
            **common,
            "model": "nlil",
            "targets": 237,
            "measured": 8,
            "seconds": {"learn": ours},
            "config": speed.learner_config(0).to_dict(),
        },
        f"{data} neural-lp": {
            **common,
            "model": "neural-lp",
            "queries": 544_230,
            "measured": 4096,
            "seconds": {"learn": chains},
            "config": asdict(NeuralLP()),
        },
    }


def job(model: str, quick: bool = True, seed: int = 0) -> dict[str, Any]:
    return Request(Session(seed=seed), quick=quick).job("speed", "kin", model=model)


def test_table_has_the_ratio_and_says_what_was_scaled() -> None:
    lines = speed_table(
        {**entries("kin", 20.0, 1.0), **entries("wn18", 200.0, 840.0), **entries("fb15k-237", 1800.0, 49_000.0)}
    ).splitlines()
    assert lines[0] == "| data | **nlil** | Neural-LP, our code | Neural-LP / nlil | in the paper | machine |"
    assert lines[2] == "| fb15k-237 | 1,800 s | 49,000 s | 27 | 3 | 2 cores |"  # 250 and 82 minutes
    assert lines[3] == "| wn18 | 200 s | 840 s | 4.2 | 4.5 | 2 cores |"
    assert lines[4] == "| kin | 20 s | 1 s | 0.05 |  | 2 cores |"
    for said in (
        "`preset=paper top_rules=1`",
        "(fb15k-237: 8 of 237; ",
        "length 2, rank 3; one epoch",
        "(fb15k-237: 4,096 of 544,230; ",
        "times 10 epochs",
        "at most 200 facts of each target",
    ):
        assert said in lines[6]
    assert speed.BENCH.tables == {"speed": speed_table}


def test_a_ratio_needs_both_and_not_quick_ones() -> None:
    both = entries("wn18", 200.0, 840.0)
    assert speed_table({"wn18 nlil": both["wn18 nlil"]}) == NOT_MEASURED
    assert speed_table(entries("wn18", 200.0, 840.0, quick=True)) == NOT_MEASURED


def test_ours_is_the_paper_preset_as_it_is_on_one_thread_of_the_cpu() -> None:
    config = speed.learner_config(3)
    assert {name: getattr(config, name) for name in PRESETS["paper"]} == PRESETS["paper"]
    assert (config.search, config.generator, config.top_rules) == ("neural", "transformer", 1)
    assert (config.threads, config.device, config.seed) == (1, "cpu", 3)


def test_many_targets_are_sampled_by_the_seed_and_a_few_are_all_learned() -> None:
    found = speed.sampled(MANY, 0, quick=False)
    assert len(set(found)) == 8
    assert found == speed.sampled(MANY, 0, quick=False) == sorted(found, key=MANY.index)
    assert found != speed.sampled(MANY, 1, quick=False)
    assert found != list(MANY[:8])
    assert speed.sampled(MANY[:18], 0, quick=False) == list(MANY[:18])
    assert len(speed.sampled(MANY, 0, quick=True)) == len(speed.sampled(MANY[:18], 0, quick=True)) == 2
    assert speed.sampled(MANY[:1], 0, quick=True) == [MANY[0]]


def test_our_seconds_are_scaled_to_all_targets(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(speed, "SETTINGS", (*speed.SETTINGS, "epochs=2"))
    threads: list[int] = []
    fit = Learner.fit

    def watched(learner: Learner, *given: Any, **named: Any) -> Any:
        threads.append(torch.get_num_threads())
        return fit(learner, *given, **named)

    monkeypatch.setattr(Learner, "fit", watched)
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        entry = measure_here(job("nlil"))
    finally:
        torch.set_num_threads(before)
    kin = load_dataset("kin")
    assert threads == [1, 1]  # once to compile
    assert (entry["measured"], entry["targets"], len(entry["sample"])) == (2, len(kin.targets), 2)
    assert 0 < entry["num_rules"] <= 2
    assert entry["seconds"]["learn"] == pytest.approx(entry["seconds"]["measured"] * len(kin.targets) / 2)
    assert entry["checksum"] == kin.checksum
    assert {"machine", "versions", "seed", "peak_memory_mb", "config"} <= set(entry)
    assert speed.key(entry) == "kin nlil quick"


def test_neural_lp_has_its_own_settings_and_epochs(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: dict[str, Any] = {}

    def timed(kb: Any, targets: Any, length: int, queries: int, **settings: Any) -> EpochTime:
        asked.update(settings, targets=targets, length=length, queries=queries)
        return EpochTime(30.0, 1000, queries)

    monkeypatch.setattr(neural_lp, "chain_epoch_seconds", timed)
    entry = measure_here(job("neural-lp", quick=False, seed=4))
    assert asked == {"targets": load_dataset("kin").targets, "length": 2, "queries": speed.QUERIES, "seed": 4}
    assert entry["seconds"]["learn"] == 10 * entry["seconds"]["epoch"] == 300
    assert (entry["config"]["rank"], entry["config"]["epochs"], entry["config"]["threads"]) == (3, 10, 1)
    assert speed.key(entry) == "kin neural-lp"


def test_neural_lp_is_measured_on_a_sample() -> None:
    entry = measure_here(job("neural-lp"))
    facts = load_dataset("kin").kb.facts
    assert entry["measured"] == speed.QUICK_QUERIES
    assert entry["queries"] == 2 * len(facts) - int(facts.is_unary.sum())
    assert entry["seconds"]["epoch"] > entry["seconds"]["measured"] > 0


def test_both_figures_are_kept_or_none(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    broken = ["neural-lp"]

    def measured(job: Mapping[str, Any], progress: Any = silent) -> dict[str, Any]:
        if job["model"] in broken:
            raise NlilError("speed on kin: no memory left")
        return {
            **entries(job["data"], 2.0, 9.0, quick=job["quick"])[f"kin {job['model']}"],
            "seed": job["options"]["seed"],
        }

    monkeypatch.setattr(apart, "measure_apart", measured)
    arguments = ("bench", "speed", "--data", "kin", "--quick", "--seed", 5, "--out", tmp_path)
    assert nlil_command(*arguments).err.endswith("nlil: speed on kin: no memory left\n")
    assert not any(tmp_path.iterdir())  # one figure alone would stand beside an older one
    broken.clear()
    document = nlil_command(*arguments, "--json").json
    assert list(document["entries"]) == ["kin nlil quick", "kin neural-lp quick"]
    assert {entry["seed"] for entry in document["entries"].values()} == {5}
    assert (tmp_path / "speed.json").is_file()
    assert "4.5" in nlil_command(*arguments).out


def test_the_bench_is_known_to_the_measuring_process() -> None:
    with pytest.raises(NlilError, match=r"speed on nowhere: (?!unknown bench)"):
        apart.measure_apart({**job("nlil"), "data": "nowhere"})


def test_the_number_of_threads_is_no_part_of_a_recovery_row() -> None:
    entry = {"construct": "chain", "noise": "none", "model": "free", "quick": False, "machine": MACHINE}
    job = Request(Session(threads=1, memory="1GiB"), settings=("epochs=7",)).job("recovery", "planted:chain")
    assert recovery.key(entry, job) == "chain none free cpu memory=1GiB epochs=7"
