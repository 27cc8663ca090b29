"""Exclusions from the first fact to the last figure, on a base where they are nearly all there is to know.

Each pair of people stands in exactly one of four relations, drawn at random: what rules say is noise, but who stands
in one relation to somebody stands in no other.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commandline import Nlil
from nlil.learning.run import load_run

PEOPLE = 14
FIGURES = ("mrr", "hits@1", "hits@10", "mrr_optimistic", "mrr_pessimistic", "num_queries")


@pytest.fixture(scope="module")
def facts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("data") / "pairs"
    folder.mkdir()
    random = np.random.default_rng(0)
    rows = [f"e{x}\tr{random.integers(4)}\te{y}\n" for x in range(PEOPLE) for y in range(PEOPLE) if x != y]
    for name, part in (("train", rows), ("valid", rows[3::11]), ("test", rows[7::11])):
        held = set(rows[3::11]) | set(rows[7::11])
        (folder / f"{name}.txt").write_text("".join(r for r in part if name != "train" or r not in held))
    return folder


@pytest.fixture(scope="module")
def runs(facts: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """With and without exclusions."""
    from nlil.cli.main import run

    folder = tmp_path_factory.mktemp("exclusion-runs")
    for word in ("on", "off"):
        settings = ("search=count", "max_length=1", "constants=off", f"exclusions={word}")
        arguments = [part for setting in settings for part in ("--set", setting)]
        assert run(["learn", str(facts), "--out", str(folder / word), "--quiet", *arguments]) == 0
    return {word: folder / word for word in ("on", "off")}


def test_they_matter(nlil_command: Nlil, runs: dict[str, Path]) -> None:
    on, off = (nlil_command("evaluate", runs[word], "--json").json for word in ("on", "off"))
    assert on["num_rules"] == off["num_rules"]
    assert on["mrr"] > off["mrr"] + 0.3
    assert len(load_run(runs["on"]).rules.exclusions) >= 12
    assert load_run(runs["off"]).rules.exclusions == ()


@pytest.mark.parametrize("ending", ["pl", "json"])
def test_a_file_of_rules_scores_as_the_run(
    nlil_command: Nlil, runs: dict[str, Path], facts: Path, tmp_path: Path, ending: str
) -> None:
    file = tmp_path / f"rules.{ending}"
    file.write_text(nlil_command("rules", runs["on"], "--format", {"pl": "prolog"}.get(ending, ending)).out)
    run = nlil_command("evaluate", runs["on"], "--json").json
    again = nlil_command("evaluate", "--rules", file, "--data", facts, "--json").json
    assert {key: again[key] for key in FIGURES} == {key: run[key] for key in FIGURES}
    file.write_text(file.read_text().replace(":- r0(X, Y)", ":- r0(X, Y), nobody(X, Y)."))
    assert nlil_command("evaluate", "--rules", file, "--data", facts).code == 2


def test_rules_show_them(nlil_command: Nlil, runs: dict[str, Path]) -> None:
    document = nlil_command("rules", runs["on"], "--target", "r1", "--json").json
    texts = [item["exclusion"] for item in document["exclusions"]]
    assert ":- r1(X, Y), r0(X, Y)." in texts
    assert all(text.startswith(":- r1(X, Y), ") for text in texts)
    assert all(item["expected"] >= 1 and item["together"] == 0 for item in document["exclusions"])
    lines = nlil_command("rules", runs["on"], "--target", "r1", "--top", "3").out.splitlines()
    shown = [line for line in lines if line.startswith("never with")]
    assert len(shown) == 1
    assert shown[0].startswith(f"never with r1(X, Y), {len(texts)} in all: ")
    assert "r0(X, Y)" in shown[0]
    assert "never with" not in nlil_command("rules", runs["off"], "--target", "r1").out
    assert nlil_command("rules", runs["off"], "--json").json["exclusions"] == []


def test_answers_and_reasons(nlil_command: Nlil, runs: dict[str, Path], facts: Path) -> None:
    rows = [line.split() for line in (facts / "train.txt").read_text().splitlines()]
    one, _, two = next(row for row in rows if row[1] == "r0")
    answers = nlil_command("predict", runs["on"], f"r1({one}, ?)", "--top", "99", "--json").json["answers"]
    others = {y for x, r, y in rows if x == one and r != "r1"}
    assert {a["entity"] for a in answers} & others == set()
    assert {a["entity"] for a in answers} & {y for x, r, y in rows if (x, r) == (one, "r1")}
    backwards = nlil_command("predict", runs["on"], f"r1(?, {two})", "--top", "99", "--json").json["answers"]
    assert one not in {a["entity"] for a in backwards}
    fact = f"r1({one}, {two})"
    assert nlil_command("predict", runs["on"], fact, "--json").json["answers"][0]["score"] == 0
    explained = nlil_command("explain", runs["on"], fact, "--json").json
    assert (explained["score"], explained["excluded"]["by"]) == (0, f"r0({one}, {two})")
    assert sum(s["share"] for s in explained["supports"]) + explained["other_share"] == 0
    size = sum(row[1] == "r1" for row in rows)
    assert "It is ruled out that " in nlil_command("explain", runs["on"], fact).out
    text = " ".join(nlil_command("explain", runs["on"], fact, "--all").out.split())
    assert f"excluded: {fact} and r0({one}, {two}) never hold together (0 of {size} facts; " in text
    assert nlil_command("explain", runs["off"], fact, "--json").json["excluded"] is None


def test_materialize_leaves_out_what_is_excluded(nlil_command: Nlil, runs: dict[str, Path], tmp_path: Path) -> None:
    """Rules of any confidence derive nearly every pair of every relation; the exclusions are what holds them back."""
    derived, excluded = {}, {}
    for word, run in runs.items():
        out = tmp_path / f"{word}.tsv"
        arguments = ("materialize", run, "--out", out, "--min-confidence", "0")
        document = nlil_command(*arguments, "--json").json
        derived[word] = {tuple(line.split("\t")[:3]) for line in out.read_text().splitlines()}
        excluded[word] = document["num_excluded"]
        assert document["num_facts"] == len(derived[word])
        said = f"; {excluded[word]} more are ruled out by exclusions"
        told = " ".join(nlil_command(*arguments).out.split())  # lines break where the terminal ends
        assert (said in told) == (word == "on")
    assert derived["on"] < derived["off"]
    assert excluded["off"] == 0 < len(derived["off"] - derived["on"]) <= excluded["on"]
    for x, r, y in sorted(derived["off"] - derived["on"])[:5]:
        assert nlil_command("explain", runs["on"], f"{r}({x}, {y})", "--json").json["excluded"]


def test_another_base(nlil_command: Nlil, facts: Path, tmp_path: Path) -> None:
    """Exclusions by a relation that it does not have are left out; a fact of its own that breaks one is doubted."""
    run, other = tmp_path / "run", tmp_path / "other.tsv"
    assert (
        nlil_command(
            "learn", facts, "--out", run, "--target", "r0", "--set", "search=count", "--set", "max_length=1"
        ).code
        == 0
    )
    exclusions = load_run(run).rules.exclusions
    gone = [e for e in exclusions if e.step.predicate.name == "r3"]
    assert 0 < len(gone) < len(exclusions)
    rows = [line for line in (facts / "train.txt").read_text().splitlines() if "\tr3\t" not in line]
    one, _, two = next(row.split() for row in rows if "\tr1\t" in row)
    other.write_text("\n".join([*rows, f"{one}\tr0\t{two}"]) + "\n")
    outcome = nlil_command("explain", run, f"r0({one}, {two})", "--data", other, "--json")
    assert f"{len(gone)} of {len(exclusions)} exclusions are left out" in outcome.err
    assert (outcome.json["known"], outcome.json["score"]) == (True, 0)
    assert outcome.json["excluded"]["by"] == f"r1({one}, {two})"
    evaluated = nlil_command("evaluate", run, "--data", other, "--split", "train", "--json").json
    assert evaluated["left_out_exclusions"] == len(gone)
    assert "left_out_exclusions" in nlil_command("evaluate", run, "--data", other, "--split", "train").out
