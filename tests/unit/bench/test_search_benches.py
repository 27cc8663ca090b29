"""The benches of the neural search: what counts as found, as solved, as one epoch; and their tables."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from commandline import Nlil
from nlil.cli.session import Session
from nlil.datasets import load_dataset
from nlil.datasets.planted import CONSTRUCTS, planted
from nlil.logic.parse import parse_rule
from nlil.logic.rule import Rule
from nlil_bench import es, length, recovery
from nlil_bench.es import es_table
from nlil_bench.job import measure_here
from nlil_bench.length import length_table, plot_length
from nlil_bench.recovery import recovery_table
from nlil_bench.registry import Request

CPU = Session(device="cpu", threads=1)
QUICK = Request(CPU, quick=True)
MACHINE = {"device": "cpu", "cores": 2}
BASE, STEP = "even(X) :- zero(X).", "even(X) :- succ(Z1, X), succ(Z2, Z1), even(Z2)."


def rules(*texts: str) -> list[Rule]:
    return [parse_rule(text) for text in texts]


# recovery ------------------------------------------------------------------------------------------


def counts(construct: str, rule: str) -> tuple[float, float]:
    stats = recovery.judged(planted(construct, 0), parse_rule(rule))
    assert stats is not None
    return stats.support / max(stats.body_size, 1), stats.support / stats.head_size


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_the_planted_rule_itself_passes(construct: str) -> None:
    assert counts(construct, str(planted(construct, 0).rule)) == (1.0, 1.0)


def test_a_rule_that_uses_its_own_head_is_judged_by_what_it_derives_from_nothing() -> None:
    assert counts("recursion", "wet(X) :- wet(Z1), flows_to(Z1, X).") == (0.0, 0.0)
    precision, recall = counts("recursion", "wet(X) :- spring(X).")
    assert precision == 1.0
    assert recall < 0.5


def test_a_rule_that_negates_its_own_head_has_no_sense() -> None:
    rule = parse_rule("wet(X) :- \\+ (wet(Z1), flows_to(Z1, X)).")
    assert recovery.judged(planted("recursion", 0), rule) is None


def test_noisy_labels_are_to_learn_from_not_to_judge_by() -> None:
    noisy = recovery.spoilt("inverse", 0, recovery.NOISES["labels"])
    clean = planted("inverse", 0)
    target = clean.kb.predicate_id(clean.target)
    given, true = (
        {tuple(row) for row in zip(f.subject.tolist(), f.object.tolist())}
        for f in (noisy.facts.of(target), clean.clean.of(target))
    )
    assert len(given) == len(true)
    assert len(true - given) == round(0.1 * len(true))


def test_soft_facts_keep_the_true_ones_above_one_half() -> None:
    clean = planted("chain", 0)
    soft = recovery.softened(clean, 0)
    crisp = soft.crisp.facts.unique()
    for column in ("predicate", "subject", "object"):
        assert np.array_equal(getattr(crisp, column), getattr(clean.kb.facts, column))
    assert soft.facts.weight is not None
    assert (soft.facts.weight < 0.5).sum() > 0.8 * (len(crisp) - len(clean.clean))
    assert (soft.facts.of(clean.kb.predicate_id(clean.target)).weight == 1).all()


def test_settings_give_room_for_the_construct() -> None:
    config = recovery.learner_config(planted("long", 0), 3, "free", ["epochs=7"], {"threads": 1, "seed": 9})
    assert (config.search, config.seed, config.epochs, config.threads) == ("neural", 3, 7, 1)
    assert (config.heads, config.levels, config.formulas, config.constants) == (4, 2, 4, False)
    assert recovery.learner_config(planted("constant", 0), 0, "free", [], {}).constants


def test_an_untrained_generator_differs_in_training_only() -> None:
    trained, untrained = (
        recovery.learner_config(planted("tree", 0), 0, generator, ["preset=paper"], {})
        for generator in ("transformer", "untrained")
    )
    assert (trained.generator, untrained.rate) == ("transformer", 1e-12)
    same = {name: getattr(trained, name) for name in ("rate", "score_rate", "epochs")}
    assert replace(untrained, **same) == trained


def test_every_construct_is_tried_with_and_without_noise() -> None:
    slow = ("constant", "two-levels", "long")
    assert recovery.cases(quick=True) == [(construct, "none") for construct in CONSTRUCTS if construct not in slow]
    assert recovery.cases(quick=True, names=["long"]) == [("long", "none")]
    assert recovery.cases(quick=False, names=["long", "chain"]) == [
        ("chain", "none"),
        ("long", "none"),
        ("chain", "labels"),
        ("long", "labels"),
        ("chain", "facts"),
        ("chain", "soft"),
    ]
    assert recovery.cases(quick=False, names=["long-16"]) == [("long-16", "none"), ("long-16", "labels")]
    full = recovery.cases(quick=False)
    assert len(full) == len(set(full)) == 2 * len(CONSTRUCTS) + 2


def recovery_entry(
    noise: str, model: str, passed: tuple[int, int, int], seconds: float = 2.0, construct: str = "chain"
) -> dict[str, Any]:
    trained = (seconds + 10, seconds, seconds)  # the first seed compiles
    return {
        "construct": construct,
        "noise": noise,
        "model": model,
        "quick": False,
        "least": recovery.NOISES[noise].least,
        "seeds": [{"seconds": {"train": each, "select": 0.5, "refine": 1.0}} for each in trained],
        "passed": dict(zip(recovery.STAGES, passed)),
        "machine": MACHINE,
    }


def test_recovery_table() -> None:
    lines = recovery_table(
        {
            "chain labels transformer cpu": recovery_entry("labels", "transformer", (1, 1, 2)),
            "tree none free cpu epochs=7": recovery_entry("none", "free", (2, 2, 2), construct="tree"),
            "chain none free cpu": recovery_entry("none", "free", (0, 2, 2), 1.5),
            "chain none untrained cpu": recovery_entry("none", "untrained", (0, 1, 2), 0.5),
            "chain none transformer cpu": recovery_entry("none", "transformer", (2, 2, 2)),
        }
    ).splitlines()
    passed, others = (
        ("2 / 0 / 0", "2 / 2 / 1", "2 / 2 / 2", "3"),
        ("Transformer", "2.0 / 1.5 / 0.5", "1.5 s", "2 cores"),
    )
    assert lines[2] == f"| {' | '.join(('chain', 'none', '.990', *passed, *others))} |"
    assert lines[3].startswith("| tree, epochs=7 | none | .990 | – / 2 / – |")
    assert lines[4].startswith("| chain | 10 % of the labels wrong | .900 | 1 / – / – | 1 / – / – | 2 / – / – | 3 |  |")


def test_what_is_found_without_training_was_not_learned() -> None:
    for trained, chance, says in ((2, 2, "neither"), (2, 1, "Transformer"), (1, 2, "neither")):
        entries = {
            "chain none transformer cpu": recovery_entry("none", "transformer", (trained, 2, 2)),
            "chain none untrained cpu": recovery_entry("none", "untrained", (chance, 2, 2)),
        }
        assert f"| {says} |" in recovery_table(entries)


# even and successor --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("texts", "solved", "derived"),
    [
        ((BASE, STEP), True, 6),
        ((STEP,), False, 0),
        ((BASE,), False, 1),
        ((BASE, STEP, "even(X) :- succ(Z1, X), zero(Z1)."), False, 11),
        ((*(f"even(X) :- succ(X, '{n}')." for n in (1, 3, 5, 7, 9)), "even(X) :- succ('9', X)."), False, 6),
        ((BASE, STEP, "even(X) :- succ(X, '1')."), True, 6),
    ],
)
def test_solved_means_exactly_the_even_numbers_and_not_a_list_of_them(
    texts: tuple[str, ...], solved: bool, derived: int
) -> None:
    verdict = es.judged(load_dataset("even:10"), rules(*texts))
    assert (verdict["solved"], verdict["derived"], verdict["even"]) == (solved, derived, 6)


def test_rules_that_contradict_themselves_solve_nothing() -> None:
    verdict = es.judged(load_dataset("even:10"), rules(BASE, STEP, "even(X) :- \\+ (succ(X, Z1), even(Z1))."))
    assert not verdict["solved"]
    assert "negate even/1" in verdict["why"]


def test_the_default_search_solves_ten_and_its_rules_solve_more() -> None:
    (job,) = es.jobs(Request(CPU, quick=True, model="both"), "even:10")
    entry = measure_here(job)
    assert entry["solved"]
    assert entry["transfer"]["solved"]
    assert (entry["transfer"]["size"], entry["transfer"]["even"]) == (50, 26)
    lines = es_table({"even:10 both cpu": {**entry, "quick": False, "machine": MACHINE}}).splitlines()
    assert lines[2].startswith("| 10 | **nlil**, search=both | yes | ")
    assert lines[2].endswith(" s | 50: yes | 2 cores |")
    assert lines[3] == "| 10 | dILP, published |  | 5.6 min |  |  |"


def test_neural_lp_is_judged_by_its_rules_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(es, "NEURAL_LP_UPDATES", 2)
    (job,) = es.jobs(Request(CPU, model="neural-lp"), "even:50")
    entry = measure_here(job)
    assert len(entry["chains"]) == es.NEURAL_LP_RULES
    assert 0 < entry["soft_f1"] <= 1
    assert "no: derives" in es_table({"even:50 neural-lp cpu": entry})


def test_the_paper_sizes_are_all_there() -> None:
    request = Request(CPU)
    names = es.names(request)
    assert names == ["even:10", "even:50", "even:1000", "even:100000"]
    assert [[job["method"] for job in es.jobs(request, name)] for name in names] == [
        ["argmax", "neural", "both", "neural-lp", "dilp"],
        ["argmax", "neural", "both", "neural-lp", "dilp"],
        ["argmax", "neural", "both", "neural-lp"],
        ["argmax", "neural", "both"],
    ]
    assert [es.jobs(request, name)[0]["transfer"] for name in names] == [100_000, None, None, None]


# length --------------------------------------------------------------------------------------------


def length_entries(epochs: dict[int, float]) -> dict[str, dict[str, Any]]:
    common = {"data": "wn18", "quick": False, "queries": 1000, "measured": 10}
    ours = {
        f"o{n}": {**common, "model": "nlil", "levels": n, "seconds": {"once": 50.0, "epoch": 10.0 + n}}
        for n in range(5)
    }
    chains = {
        f"c{n}": {**common, "model": "chain", "length": n, "seconds": {"epoch": seconds}}
        for n, seconds in epochs.items()
    }
    return {**ours, **chains}


def test_length_table_stops_where_chains_take_too_long() -> None:
    text = length_table(length_entries({2: 20.0, 3: 26.0, 4: 3000.0}))
    lines = text.splitlines()
    assert [line.split(" | ")[0] for line in lines[2:9]] == [f"| {n}" for n in length.LENGTHS]
    assert lines[2] == "| 2 | 0 | 50 s | 10 s | 20 s | 2.0 |"
    assert lines[4] == "| 4 | 0 | 50 s | 10 s | over 20 min (estimated 50) | 300.0 |"
    assert lines[7] == "| 32 | 3 | 50 s | 13 s | longer still, not run |  |"
    assert (
        "A rule of length 32 costs 0.5 times as much as length 3 of the chain model (2.4 times in the first epoch"
        in text
    )


def test_both_models_are_scaled_to_the_same_epoch() -> None:
    job = QUICK.job("length", "kin", model="nlil", levels=1)
    ours = measure_here(job)
    chain = measure_here(QUICK.job("length", "kin", model="chain", length=2))
    kb = load_dataset("kin").kb
    assert ours["queries"] == chain["queries"] == 2 * len(kb.binary)
    assert ours["longest"] == 10
    assert 0 < ours["measured"] < ours["queries"]
    assert min(ours["seconds"]["once"], ours["seconds"]["epoch"], chain["seconds"]["epoch"]) > 0
    assert length.key(ours, job) == "kin nlil levels=1 quick"


def test_planted_lengths_have_a_table_of_their_own() -> None:
    seeds = [{"argmax": {"precision": 1.0, "recall": recall}} for recall in (1.0, 0.8)]
    found = {
        "data": "planted:long-8",
        "model": "found",
        "length": 8,
        "levels": 2,
        "quick": False,
        "passed": 1,
        "seeds": seeds,
        "seconds": {"learn": 30.0},
        "machine": MACHINE,
    }
    entries = {**length_entries({2: 20.0}), "planted:long-8 found cpu epochs=9": found}
    lines = length.found_table(entries).splitlines()
    assert lines[2] == "| 8 | 2 | epochs=9 | 1 of 2 | 1.000, .800 | 15 s | 2 cores |"
    assert "planted" not in length_table(entries)


def test_a_planted_length_is_measured_at_argmax() -> None:
    request = Request(CPU, quick=True, settings=("epochs=1", "restarts=1"))
    job = request.job("length", "planted:long-8", model="found", length=8, seeds=[0])
    entry = measure_here(job)
    assert (entry["length"], entry["levels"], entry["data"]) == (8, 2, "planted:long-8")
    assert (entry["config"]["generator"], entry["config"]["select"]) == ("transformer", False)
    assert length.key(entry, job) == "planted:long-8 found cpu epochs=1 restarts=1 quick"


def test_the_picture_is_a_png(tmp_path: Path) -> None:
    path = plot_length(length_entries({2: 20.0, 3: 26.0}), tmp_path / "length.png")
    assert path.read_bytes().startswith(b"\x89PNG")


# the command line ----------------------------------------------------------------------------------


def test_bench_recovery_keeps_its_figures(nlil_command: Nlil, tmp_path: Path) -> None:
    quick = (
        "--quick",
        "--data",
        "inverse",
        "--model",
        "free",
        "--set",
        "epochs=2",
        "--set",
        "restarts=1",
        "--device",
        "cpu",
    )
    document = nlil_command("bench", "recovery", *quick, "--out", tmp_path, "--json").json
    (entry,) = document["entries"].values()
    assert list(document["entries"]) == ["inverse none free cpu epochs=2 restarts=1 quick"]
    assert [seed["seed"] for seed in entry["seeds"]] == [recovery.SEEDS[0]]
    assert set(entry["passed"]) == {"argmax", "select", "refine"}
    assert entry["config"]["epochs"] == 2
    assert {"checksum", "machine", "versions", "peak_memory_mb", "seed"} <= set(entry)
    assert (tmp_path / "recovery.json").is_file()
