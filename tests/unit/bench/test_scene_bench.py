"""nlil bench scene and nlil bench fewshot: which rows, few graphs, what entries hold, tables and the picture."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commandline import Nlil
from nlil.cli.session import Session
from nlil.data.dataset import DataOptions
from nlil.datasets import load_dataset
from nlil.errors import DataError
from nlil.progress import silent
from nlil_bench import fewshot, scene
from nlil_bench import job as apart
from nlil_bench.fewshot import fewshot_table, plot_fewshot
from nlil_bench.job import measure_here
from nlil_bench.registry import Request
from nlil_bench.scene import LABELS_ONLY, ROWS, fewer_graphs, rows, scene_table
from nlil_bench.seeds import combined, seed_jobs


def entry(
    model: str = "nlil", first: float = 0.5, share: float = 1.0, settings: tuple[str, ...] = (), **more: Any
) -> dict[str, Any]:
    figures = {
        "r@1": first,
        "r@5": 0.75,
        "r@1_related": 0.6,
        "r@5_related": 0.8,
        "r@1_unrelated": 0.1,
        "r@5_unrelated": 0.2,
    }
    return {
        "data": "vrd",
        "model": model,
        "settings": list(settings),
        "share": share,
        "quick": False,
        "metrics": figures,
        "num_rules": 250,
        "num_bodies": 280,
        "num_atoms": 1200,
        "num_classes": 100,
        "num_graphs": round(4000 * share),
        "seed": 0,
        "peak_memory_mb": 700.0,
        "seconds": {"load": 1.0, "learn": 20.0, "evaluate": 3.0},
        "machine": {"device": "cpu", "cores": 2},
        **more,
    }


def cells(table: str) -> list[list[str]]:
    return [line[2:-2].split(" | ") for line in table.splitlines()[2:] if line.startswith("|")]


# what is measured -------------------------------------------------------------------------------------


def test_every_row_with_boxes_and_only_different_ones_without() -> None:
    everything = rows("vrd", None, ())
    assert everything == [(model, settings) for model in ROWS for settings in ROWS[model]]
    assert ("nlil", (LABELS_ONLY,)) in everything
    built_in = rows("scenes:500", None, ())
    assert [settings for model, settings in built_in if model == "nlil"] == [
        (),
        ("top_rules=5",),
        ("top_rules=5", "search=both"),
    ]
    assert [settings for model, settings in built_in if model == "mlp"] == [()]
    assert len(built_in) == len(set(built_in))
    assert rows("vrd", "freq", ()) == [("freq", ()), ("freq", ("prior=on",))]
    assert rows("vrd", None, ("max_length=2",)) == [("nlil", ("max_length=2",))]
    assert rows("vrd", None, ("top_rules=30", "max_length=2", "preset=scene")) == [("nlil", ("max_length=2",))]
    assert rows("vrd", "neural", ("top_rules=30",)) == [("neural", ())]
    assert rows("vrd", None, ("preset=default", "top_rules=30")) == [("nlil", ("preset=default", "top_rules=30"))]
    assert rows("vrd", "mlp", ("hidden=9",)) == [("mlp", ("hidden=9",))]


def test_few_graphs_are_part_of_more_and_test_graphs_stay() -> None:
    street = load_dataset("street:40")
    some, few, one = (fewer_graphs(street, share, 0) for share in (0.5, 0.1, 1e-6))
    graphs = [set(np.unique(d.kb.graph_of[d.kb.facts.subject]).tolist()) for d in (street, some, few, one)]
    assert [len(g) for g in graphs] == [40, 20, 4, 1]
    assert graphs[3] < graphs[2] < graphs[1] < graphs[0]
    assert len(few.splits.context["train"]) == len(few.kb.facts) == len(few.splits.train)
    assert few.targets == street.targets
    assert len(few.splits.test) == len(street.splits.test)
    assert few.splits.test.context is few.splits.context["test"] is street.splits.context["test"]
    assert fewer_graphs(street, 0.1, 1).kb.facts.subject.tolist() != few.kb.facts.subject.tolist()


@pytest.mark.parametrize("model", ["nlil", "neural", "freq", "mlp"])
def test_an_entry_holds_what_a_figure_needs(model: str) -> None:
    settings = {"nlil": ("search=count", "max_length=2"), "mlp": ("epochs=1",)}.get(model, ())
    request = Request(Session(seed=2, device="cpu", threads=1), quick=True)
    job = scene.model_job(request, "street:30", model, settings, share=0.5)
    found = measure_here(job)
    assert {"checksum", "machine", "versions", "seconds", "peak_memory_mb", "seed", "config"} <= set(found)
    roles = "auto" if model in ("nlil", "neural") else "off"
    assert found["checksum"] == load_dataset("street:30", seed=2, options=DataOptions(roles=roles)).checksum
    assert (found["num_graphs"], found["num_classes"], found["seed"]) == (15, 15, 2)
    assert 0 < found["metrics"]["r@1"] <= found["metrics"]["r@5"]
    assert {"r@1_related", "r@5_related", "r@1_unrelated", "r@5_unrelated"} <= set(found["metrics"])
    is_ours = model in ("nlil", "neural")
    assert (found["num_rules"] > 0) == is_ours
    assert ("num_bodies" in found) == is_ours
    if is_ours:
        assert found["num_bodies"] >= found["num_rules"]
        assert found["num_atoms"] > 0
        assert found["config"]["search"] == ("count" if model == "nlil" else "neural")
    said = [] if model == "nlil" else [f"model={model}"]
    assert scene.key(found, job) == " ".join(["street:30 cpu", *said, "share=0.5 seed=2", *settings, "quick"])


def test_facts_without_objects_are_refused() -> None:
    with pytest.raises(DataError, match="kin: expected scene graphs"):
        measure_here(scene.model_job(Request(Session()), "kin", "freq", ()))


# by the command line ----------------------------------------------------------------------------------


def test_quick_benches(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    told: list[tuple[str, list[str], float]] = []

    def measured(job: Mapping[str, Any], progress: Any = silent) -> dict[str, Any]:
        told.append((job["model"], job["settings"], job["share"]))
        return entry(job["model"], share=job["share"], settings=tuple(job["settings"]), data=job["data"], quick=True)

    monkeypatch.setattr(apart, "measure_apart", measured)
    found = nlil_command("bench", "scene", "--quick", "--out", tmp_path, "--json").json
    assert [(model, tuple(settings)) for model, settings, _ in told] == rows("street", None, ())
    assert len(found["entries"]) == len(told)
    told.clear()
    nlil_command("bench", "fewshot", "--quick", "--set", "max_length=2", "--out", tmp_path)
    assert told == [
        (model, ["max_length=2"] if model == "nlil" else [], share)
        for share in fewshot.QUICK_SHARES
        for model in ("nlil", "freq", "mlp")
    ]
    assert {path.name for path in tmp_path.iterdir()} == {"scene.json", "fewshot.json", "fewshot_quick.png"}


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("scene", "--model", "transe"), "choose one of nlil, neural, freq, logistic, mlp"),
        (("fewshot", "--model", "mlp", "--set", "hiden=3"), "did you mean 'hidden'?"),
        (("scene", "--set", "top_rulez=3"), "did you mean 'top_rules'?"),
        (("kb", "--model", "freq"), "choose one of count, neural, both, popularity, neural-lp, dilp, transe, rotate"),
        (("scene", "--seeds", "2"), "it is for bench kb"),
    ],
)
def test_what_is_wrong_is_told(arguments: tuple[str, ...], expected: str, nlil_command: Nlil) -> None:
    assert expected in nlil_command("bench", *arguments).complaint


# tables and the picture -------------------------------------------------------------------------------


def test_the_table_has_ours_then_baselines_then_the_paper() -> None:
    table = scene_table(
        {
            "a": entry("mlp"),
            "b": entry("freq", settings=("prior=on",)),
            "c": entry("freq"),
            "d": entry(settings=("top_rules=5",)),
            "e": entry(settings=("max_length=2",)),
            "f": entry(),
            "g": entry(settings=(LABELS_ONLY,)),
            "h": entry(quick=True, settings=("seen=never",)),
            "i": entry(data="street"),
        }
    )
    found = cells(table)
    assert [row[2] for row in found[:4]] == [LABELS_ONLY, "default", "top_rules=5", "max_length=2"]
    assert found[1] == [
        "vrd",
        "**nlil**",
        "default",
        ".500",
        ".750",
        ".600",
        ".800",
        ".100",
        ".200",
        "2.8",
        "1,200",
        "23 s",
        "0.7 GB",
        "2 cores",
    ]
    assert [(row[1], row[2], row[9]) for row in found[4:7]] == [
        ("Freq, our code", "default", ""),
        ("Freq, our code", "prior=on", ""),
        ("MLP", "default", ""),
    ]
    assert [row[0] for row in found[7:]] == ["street", *["Visual Genome"] * 3]
    assert found[8][1:5] == ["NLIL, the paper, published", "", ".510", ".520"]
    assert "never" not in table


def test_a_figure_without_queries_is_left_empty() -> None:
    bare = entry()
    bare["metrics"] = {"r@1": 0.5, "r@5": 0.75, "r@1_related": 0.5, "r@5_related": 0.75}
    assert cells(scene_table({"a": bare}))[0][7:9] == ["", ""]


def some_shares() -> dict[str, dict[str, Any]]:
    every = [
        entry(model, 0.4 + share / 10 + (model == "mlp") / 10, share)
        for share in (1.0, 0.003)
        for model in ("nlil", "freq", "mlp")
    ]
    return {str(i): e for i, e in enumerate([*every[:-1], entry(data="hico-det", first=0.8)])}


def test_the_table_of_shares() -> None:
    lines = fewshot_table(some_shares()).splitlines()
    assert lines[0] == "| data | training graphs | graphs | **nlil** | Freq, our code | MLP |"
    assert lines[2:5] == [
        "| vrd | 100 % | 4,000 | .500 | .500 | .600 |",
        "| vrd | 0.3 % | 12 | .400 | .400 |  |",
        "| hico-det | 100 % | 4,000 | .800 |  |  |",
    ]


def test_of_one_and_several_seeds_the_table_shows_several() -> None:
    several = combined(
        [{**entry(first=value), "seed": seed, "partial": False} for seed, value in enumerate((0.6, 0.7))]
    )
    lines = fewshot_table({"vrd cpu seeds=2": several, "vrd cpu": entry(first=0.9)}).splitlines()
    assert lines[2].split(" | ")[3] == ".650 ± .071 |"


def test_the_shares_of_every_seed_are_drawn_anew() -> None:
    request = Request(Session(device="cpu"), model="freq", seeds=2, quick=True)
    (whole, small) = fewshot.jobs(request, "street")
    assert [job["options"]["seed"] for job in seed_jobs(small)] == [0, 1]
    assert fewshot.key({**entry(), "machine": {"device": "cpu"}}, whole).endswith("seeds=2")


def test_the_picture_of_shares(tmp_path: Path) -> None:
    path = plot_fewshot(some_shares(), tmp_path / "fewshot.png")
    assert path.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_documents_may_have_places_for_both() -> None:
    for table in (scene_table, fewshot_table):
        assert table({}) == "Not measured yet."


def test_planted_rules_are_counted() -> None:
    from dataclasses import replace

    from nlil.datasets import load_dataset
    from nlil.kernel.ruleset import RuleSet
    from nlil.logic.rule import RuleStats, ScoredRule
    from nlil_bench.scene import planted_found

    data = load_dataset("street:20")
    data = replace(data, planted=data.planted[:4])
    first, *others = data.planted
    of_first = sum(rule.target == first.target for rule in data.planted)
    rules = RuleSet.of(data.kb, [ScoredRule(rule, RuleStats(1, 1, 1), 0.5) for rule in others])
    found = planted_found(rules, data)
    assert (found["num_planted"], found["num_planted_found"]) == (4, 3)
    assert found["num_planted_classes"] - found["num_planted_classes_found"] == 1
    assert of_first >= 1


def test_rules_of_frequent_classes_are_kept_and_shown() -> None:
    import nlil
    from nlil_bench.scene import RULES, rules_to_show, scene_rules_table

    data = nlil.load_dataset("street:20")
    config = nlil.LearnerConfig().with_values({"preset": "scene", "top_rules": 4})
    rules = nlil.Learner(config).fit(data.kb, data.targets, data.splits).rules
    kept = rules_to_show(rules)
    assert kept["frequent"][0]["class"] == data.targets[0].name
    assert all(r["support"] >= 30 and 0.05 < r["confidence"] < 0.5 for r in kept["low"])
    table = scene_rules_table({"street cpu": {"data": "street", "settings": [], "quick": False, RULES: kept}})
    assert "**street**" in table
    assert "\\=" not in table
    assert scene_rules_table({}) == scene_rules_table({"x": {"data": "x", "settings": [], "quick": False}})
