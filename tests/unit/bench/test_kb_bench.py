"""nlil bench kb with any model, over several seeds, on either split; dILP in nlil bench es; the row of dILP."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commandline import Nlil
from nlil.cli.session import Session
from nlil.datasets import load_dataset
from nlil.errors import LimitError, NlilError
from nlil.progress import silent
from nlil_bench import es, kb
from nlil_bench import job as apart
from nlil_bench.es import es_table
from nlil_bench.job import measure_apart, measure_here
from nlil_bench.kb import calibration_table, whole_job
from nlil_bench.registry import Request
from nlil_bench.seeds import combined, seed_jobs

CPU = Session(device="cpu", threads=1)
MACHINE = {"device": "cpu", "cores": 2}


def entry(model: str, mrr: float, seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "data": "wn18",
        "model": model,
        "quick": False,
        "num_rules": 0,
        "partial": False,
        "seed": seed,
        "peak_memory_mb": 500.0 + seed,
        "metrics": {"mrr": mrr, "hits@1": 0.2, "hits@10": 0.4, "num_queries": 10, "notes": ["said"]},
        "seconds": {"load": 1.0, "learn": 2.0 + seed, "evaluate": 3.0},
        "machine": MACHINE,
        **more,
    }


def test_seeds_give_mean_and_standard_deviation() -> None:
    both = combined([entry("transe", 0.2), entry("transe", 0.3, 1), entry("transe", 0.4, 2)])
    assert both["metrics"]["mrr"] == pytest.approx(0.3)
    assert both["deviation"]["mrr"] == pytest.approx(0.1)  # of a sample: n - 1
    assert both["deviation"]["hits@1"] == 0
    assert both["metrics"]["num_queries"] == 10
    assert both["seconds"]["learn"] == pytest.approx(3)
    assert both["peak_memory_mb"] == 502
    assert both["seeds"] == [0, 1, 2]
    assert [run["metrics"]["mrr"] for run in both["runs"]] == [0.2, 0.3, 0.4]
    assert "deviation" not in combined([entry("transe", 0.2)])


def test_calibration_is_recorded_and_shown_for_each_split() -> None:
    figures = {"brier_before": 0.2, "brier_after": 0.01, "ece_before": 0.3, "ece_after": 0.02}
    worse = {name: 3 * value for name, value in figures.items()}
    both = combined([entry("nlil", 0.2, calibration=figures), entry("nlil", 0.3, 1, calibration=worse)])
    assert both["calibration"] == pytest.approx({name: 2 * value for name, value in figures.items()})
    table = calibration_table(
        {
            "wn18 cpu seeds=2": both,
            "wn18 cpu split=valid": entry("nlil", 0.2, split="valid", calibration=figures),
            "wn18 cpu weigh=off": entry("nlil", 0.2, calibration=worse),  # not the default
            "wn18 cpu model=transe": entry("transe", 0.2),
        }
    )
    assert table.splitlines()[2:4] == [
        "| wn18 | test | .400 | .020 | .600 | .040 |",
        "| wn18 | valid | .200 | .010 | .300 | .020 |",
    ]


def test_every_seed_sees_the_same_data() -> None:
    job = whole_job(Request(Session(seed=5), model="popularity", seeds=3), "kin")
    parts = seed_jobs(job)
    assert [part["options"]["seed"] for part in parts] == [5, 6, 7]
    assert {part["data_seed"] for part in parts} == {5}
    (alone,) = seed_jobs(whole_job(Request(Session()), "kin"))
    assert alone["options"] == {}


def test_keys_tell_models_and_seeds_apart() -> None:
    job = whole_job(Request(CPU, model="transe", seeds=3, settings=("dim=5",)), "wn18")
    assert kb.key(entry("transe", 0.2), job) == "wn18 cpu model=transe seeds=3 dim=5"
    assert kb.key(entry("nlil", 0.2), whole_job(Request(CPU), "wn18")) == "wn18 cpu"
    valid = whole_job(Request(Session(memory="2GiB"), split="valid"), "wn18")
    assert kb.key(entry("nlil", 0.2), valid) == "wn18 cpu split=valid memory=2GiB"


def test_a_baseline_by_the_command_line(nlil_command: Nlil, tmp_path: Path) -> None:
    arguments = ("bench", "kb", "--model", "popularity", "--data", "kin", "--seeds", 2, "--out", tmp_path, "--json")
    document = nlil_command(*arguments).json
    ((key, found),) = document["entries"].items()
    assert key == "kin cpu model=popularity seeds=2"
    assert {"machine", "versions", "commit", "date", "checksum", "seconds", "peak_memory_mb", "seeds", "config"} <= set(
        found
    )
    assert found["checksum"] == load_dataset("kin").checksum
    assert found["deviation"]["mrr"] == 0  # nothing is random
    assert (tmp_path / "kb.json").is_file()


def test_validation_facts_are_asked_about_too(
    nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(apart, "measure_apart", measure_here)  # starting processes takes longer than measuring
    keys = []
    for split in ("test", "valid"):
        arguments = ("bench", "kb", "--model", "popularity", "--data", "kin", "--split", split, "--out", tmp_path)
        ((key, found),) = nlil_command(*arguments, "--json").json["entries"].items()
        keys.append(key)
        assert found["split"] == split
        assert found["metrics"]["num_queries"] == 2 * len(load_dataset("kin").splits[split])
    assert keys == ["kin cpu model=popularity", "kin cpu model=popularity split=valid"]
    assert "split=valid" in nlil_command(*arguments).out  # shown where it was asked for
    with pytest.raises(NlilError, match="expected valid facts of targets, found none"):
        measure_here(whole_job(Request(CPU, model="popularity", split="valid"), "even:10"))


@pytest.mark.parametrize(
    ("given", "settings"),
    [
        ((), []),
        (("--model", "count"), ["search=count"]),
        (("--model", "both", "--set", "weigh=off"), ["weigh=off", "search=both"]),
    ],
)
def test_a_row_without_a_model_is_learn_without_options(
    given: tuple[str, ...], settings: list[str], nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A search is named where the user named it; else the row is that of `nlil learn DATA --out RUN`."""
    told: list[Any] = []

    def measured(job: Mapping[str, Any], progress: Any = silent) -> dict[str, Any]:
        told.append((job["model"], job["settings"]))
        return {**entry("nlil", 0.5), "data": job["data"]}

    monkeypatch.setattr(apart, "measure_apart", measured)
    found = nlil_command("bench", "kb", "--data", "kin", *given, "--out", tmp_path, "--json").json["entries"]
    assert told == [("nlil", settings)]
    assert list(found) == [" ".join(["kin cpu", *settings])]


@pytest.mark.parametrize("model", ["neural-lp", "transe"])
def test_other_baselines_are_measured(model: str) -> None:
    if model == "transe":
        pytest.importorskip("pykeen", reason="PyKEEN is not installed: bench kb --model transe is NOT tested")
    few = {"neural-lp": ("hidden=8",), "transe": ("dim=8", "epochs=2")}[model]
    found = measure_here(whole_job(Request(CPU, quick=True, model=model, settings=few), "kin"))
    assert 0 < found["metrics"]["mrr"] < 1
    assert found["metrics"]["num_queries"] == 2 * len(load_dataset("kin").splits.test)
    assert ("pykeen" in found["versions"]) == (model == "transe")
    assert found["config"][few[0].split("=")[0]] == 8


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("kb", "--model", "tranze"), "choose one of count, neural, both, popularity, neural-lp, dilp, transe, rotate"),
        (("kb", "--model", "transe", "--set", "dims=3"), "did you mean 'dim'?"),
        (("kb", "--model", "transe", "--set", "max_length=3"), "unknown key 'max_length'"),
        (("kb", "--model", "popularity", "--device", "tpu"), "device: expected auto, cpu or cuda"),
        (("es", "--model", "transe"), "choose one of argmax, neural, both, neural-lp, dilp"),
        (("es", "--model", "dilp", "--data", "even:1000"), "expected some of even:10, even:50"),
        (("stats", "--model", "count"), "it is for bench kb, scene, fewshot, recovery, es and check"),
        (("es", "--seeds", "3"), "it is for bench kb"),
        (("es", "--split", "valid"), "it is for bench kb"),
        (("kb", "--split", "train"), "choose one of test, valid"),
        (("kb", "--check"), "they are for bench tables"),
    ],
)
def test_wrong_models(
    arguments: tuple[str, ...], expected: str, nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert expected in nlil_command("bench", *arguments).complaint
    assert not any(tmp_path.iterdir())


def test_a_set_that_is_too_large_is_an_error_when_named_and_skipped_otherwise(
    nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(LimitError, match="kb on even:1000: dilp: 1,001 entities"):
        measure_apart(whole_job(Request(CPU, quick=True, model="dilp"), "even:1000"))
    monkeypatch.setattr(kb, "BENCH", replace(kb.BENCH, quick_data=("even:1000",)))
    document = nlil_command("bench", "kb", "--quick", "--model", "dilp", "--out", tmp_path, "--json").json
    assert document["entries"] == {}
    assert "ground atoms" in document["skipped"]["even:1000"]


def test_dilp_has_its_rows_among_the_even_numbers(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es, "DILP_UPDATES", 120)
    assert es.sizes(Request(CPU))["dilp"] == [10, 50]
    (job,) = es.jobs(Request(CPU, quick=True, model="dilp"), "even:10")
    found = measure_here(job)
    assert found["solved"]
    assert found["transfer"]["solved"]
    assert any(rule.startswith("succ2(X, Y) :- ") for rule in found["rules"])
    assert found["verdict"].startswith("dilp solved even/1 in ")
    lines = es_table({"even:10 dilp cpu": {**found, "quick": False, "machine": MACHINE}}).splitlines()
    assert lines[2].startswith("| 10 | dILP, our code | yes | ")
