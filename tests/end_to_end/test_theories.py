"""Theories as a user meets them: learned by default, shown, and used in place of all rules."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from commandline import Nlil
from nlil.cli.main import run
from nlil.errors import ConfigError
from nlil.learning.run import load_run


def test_a_run_has_a_page_of_rules_that_explain_nearly_all_facts(nlil_command: Nlil, kin_run: Path) -> None:
    found = nlil_command("theory", kin_run, "--json").json
    assert found["num_rules"] <= 18 * 20 < 20_000 < len(load_run(kin_run).rules)
    per_target: dict[str, int] = {}
    for rule in found["rules"]:
        per_target[rule["target"]] = per_target.get(rule["target"], 0) + rule["explained"]
    tried = {rule["target"]: rule["tried"] for rule in found["rules"]}
    assert all(per_target[target] >= 0.8 * tried[target] for target in tried)
    assert found["curve"][2]["mrr"] >= 0.95 * found["pool_mrr"]


def test_evaluate_with_the_theory_alone(nlil_command: Nlil, kin_run: Path) -> None:
    small, all_rules = (nlil_command("evaluate", kin_run, *more, "--json").json for more in (("--theory",), ()))
    assert small["num_rules"] <= 18 * 20
    assert small["mrr"] >= 0.98 * all_rules["mrr"], "a second and a third way stand in where the first lacks a fact"


def test_a_theory_of_another_size(nlil_command: Nlil, kin_run: Path) -> None:
    sizes = [nlil_command("evaluate", kin_run, "--theory", "--size", k, "--json").json["num_rules"] for k in ("1", "3")]
    one, three = (nlil_command("theory", kin_run, "--size", k, "--json").json["num_rules"] for k in ("1", "3"))
    assert sizes == [one, three]
    assert one < three
    listed = nlil_command("rules", kin_run, "--theory", "--size", "1", "--format", "prolog").out
    assert listed.count(" :- ") == one
    refused = nlil_command("predict", kin_run, "uncle(p12, ?)", "--size", "1")
    assert refused.code == 2
    assert "--theory" in refused.err


def test_one_theory_and_the_family_of_a_rule(nlil_command: Nlil, kin_run: Path) -> None:
    shown = nlil_command("theory", kin_run, "--target", "uncle").out
    assert "uncle(X, Y) :- brother(X, Z1), mother(Z1, Y)." in shown
    assert "never with uncle" in shown
    assert "backs up: facts that one does" in " ".join(shown.split())
    family = nlil_command("theory", kin_run, "--target", "uncle", "--family", "1", "--json").json
    assert family["family"]
    assert family["rule"] not in family["family"]


def test_rules_that_only_back_up_are_folded(nlil_command: Nlil, kin_run: Path) -> None:
    rules = nlil_command("theory", kin_run, "--target", "female", "--json").json["rules"]
    adding = [place for place, one in enumerate(rules, 1) if one["explained"] > 0]
    assert len(adding) < len(rules), "kin needs few rules for female; the others back them up"
    folded = nlil_command("theory", kin_run, "--target", "female").out
    shown = [line.split()[0] for line in folded.splitlines() if ":-" in line]
    assert shown == list(map(str, adding)), "they keep their numbers, which --family takes"
    assert f"{len(rules) - len(adding)} more rules only back them up" in " ".join(folded.split())
    for unfolded in (("--all",), ("--size", str(len(rules)))):
        assert nlil_command("theory", kin_run, "--target", "female", *unfolded).out.count(":-") == len(rules)


def test_rules_lists_theories_first_and_says_so(nlil_command: Nlil, kin_run: Path) -> None:
    chosen = [rule["rule"] for rule in nlil_command("theory", kin_run, "--target", "uncle", "--json").json["rules"]]
    listed = nlil_command("rules", kin_run, "--target", "uncle", "--format", "prolog").out.splitlines()
    assert listed[: len(chosen)] == chosen
    assert "nlil theory RUN" in nlil_command("rules", kin_run, "--top", "1").out
    assert "nlil theory RUN" not in nlil_command("rules", kin_run, "--top", "1", "--theory").out


def test_size_and_share_of_the_score(nlil_command: Nlil, kin_run: Path) -> None:
    one = nlil_command("theory", kin_run, "--size", "1", "--json").json
    targets = [rule["target"] for rule in one["rules"]]
    assert len(targets) == len(set(targets))
    least, most = (nlil_command("theory", kin_run, "--keep", share, "--json").json for share in (".5", "1"))
    assert least["num_rules"] <= most["num_rules"]


def test_other_languages_and_other_commands_take_it(nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    prolog = nlil_command("theory", kin_run, "--target", "uncle", "--format", "prolog").out
    assert prolog.startswith("uncle(X, Y) :- ")
    listed = nlil_command("rules", kin_run, "--theory", "--target", "uncle", "--format", "prolog").out
    assert listed == prolog
    fact = load_run(kin_run)
    name = next(iter(fact.rules.entities))
    answers = nlil_command("predict", kin_run, f"mother({name}, ?)", "--theory", "--json").json["answers"]
    assert all(answer["score"] > 1e-4 for answer in answers), "what only frequency speaks for is no answer"
    assert all(0 < answer["probability"] < 1 for answer in answers), "a theory is calibrated like the pool"
    assert nlil_command("check", kin_run, "--theory", "--top", "1", "--json").code == 0
    out = tmp_path / "new.tsv"
    assert nlil_command("materialize", kin_run, "--theory", "--out", out, "--json").code == 0


def test_a_run_folder_gives_back_what_it_was_given(kin_run: Path, tmp_path: Path) -> None:
    before = load_run(kin_run)
    after = load_run(before.save(tmp_path / "copy"))
    assert before.theory is not None
    assert after.theory is not None
    for name in ("rows", "place", "gain", "explained", "backs_up", "tried", "family_row", "family"):
        assert np.array_equal(getattr(before.theory, name), getattr(after.theory, name)), name
    assert before.theory.scores == after.theory.scores
    assert before.theory.aggregation == after.theory.aggregation
    assert before.theory.calibration == after.theory.calibration is not None


def test_without_theories_a_sentence_says_so(nlil_command: Nlil, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    words = ["learn", "even:10", "--out", str(folder), "--quiet", "--set", "min_support=1"]
    assert run([*words, "--set", "rules_per_target=0"]) == 0
    assert not (folder / "theory.parquet").exists()
    result = nlil_command("theory", folder)
    assert result.code == 2
    assert "rules_per_target" in result.err
    with pytest.raises(ConfigError, match="no theories"):
        load_run(folder).with_theory()


def test_bad_words_get_one_sentence(nlil_command: Nlil, kin_run: Path) -> None:
    for words, said in (
        (("--size", "3", "--keep", ".9"), "exclude each other"),
        (("--family", "1"), "--target"),
        (("--target", "uncle", "--family", "99"), "the theory has"),
        (("--format", "latin"), "choose one of"),
        (("--target", "uncel"), "uncle"),
    ):
        result = nlil_command("theory", kin_run, *words)
        assert result.code == 2, words
        assert said in result.err, words
