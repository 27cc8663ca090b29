"""nlil explain --rather-than, --why-not, --necessary, --without, --add; rules --examples; the evidence of check."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

import nlil
from commandline import Nlil

FACT = "aunt(vera1, alice1)"
Golden = Callable[[str, str], None]


def test_why_not(nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    golden("why-not-aunt.txt", nlil_command("explain", plain_run, FACT, "--why-not", "--top", "2").out)
    document = nlil_command("explain", plain_run, FACT, "--why-not", "--json").json
    assert document["fact"] == FACT
    assert len(document["rules"]) == 5
    assert document["score"] == nlil_command("explain", plain_run, FACT, "--json").json["score"]


def test_rather_than(nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    shown = nlil_command("explain", plain_run, FACT, "--rather-than", "emil1").out
    golden("rather-than-aunt.txt", shown)
    assert len(shown.splitlines()) <= 12
    document = nlil_command("explain", plain_run, FACT, "--rather-than", "emil1", "--json").json
    learned = nlil.load_run(plain_run)
    kb, _ = nlil.load("kin")
    assert document == nlil.contrast(learned.rules, kb, FACT, "emil1").to_dict()
    assert document["second"]["fact"] == "aunt(vera1, emil1)"


def test_one_class_rather_than_another(nlil_command: Nlil, street_run: Path) -> None:
    classes = nlil_command("explain", street_run, "s1_3", "--json").json["object"]["candidates"]
    document = nlil_command("explain", street_run, "s1_3", "--rather-than", classes[1]["class"], "--json").json
    for place, side in enumerate(("first", "second")):
        assert document[side]["fact"] == f"{classes[place]['class']}(s1_3)"
        shares = sum(reason["share"] for reason in document[side]["reasons"])
        assert shares + document[side]["same_share"] == pytest.approx(document[side]["score"])


def test_necessary_and_without_agree(nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    golden("necessary-aunt.txt", nlil_command("explain", plain_run, FACT, "--necessary", "--top", "3").out)
    document = nlil_command("explain", plain_run, FACT, "--necessary", "--json").json
    for item in document["facts"][:2]:
        supposed = nlil_command("explain", plain_run, FACT, "--without", item["fact"], "--json").json
        assert supposed["score_after"] == item["score"] < supposed["score_before"] == document["score"]
        assert supposed["without"] == [item["fact"]]


def test_several_facts_go_and_come(nlil_command: Nlil, plain_run: Path) -> None:
    document = nlil_command(
        "explain",
        plain_run,
        FACT,
        "--without",
        "brother(emil1, vera1)",
        "--without",
        "niece(alice1, vera1)",
        "--add",
        "sister(vera1, emil1)",
        "--json",
    ).json
    assert document["without"] == ["brother(emil1, vera1)", "niece(alice1, vera1)"]
    assert document["add"] == ["sister(vera1, emil1)"]
    learned = nlil.load_run(plain_run)
    kb, _ = nlil.load("kin")
    expected = nlil.what_if(learned.rules, kb, FACT, without=document["without"], add=document["add"])
    assert document["score_after"] == expected.after.score


def test_an_object_of_a_scene(nlil_command: Nlil, street_run: Path) -> None:
    document = nlil_command("explain", street_run, "s1_3", "--why-not", "--json").json
    assert document["fact"].endswith("(s1_3)")


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--why-not", "--necessary"), "--why-not and --necessary exclude each other; use one at a time"),
        (("--necessary", "--out", "a.svg"), "--out draws why a fact holds; leave out --necessary"),
        (("--rather-than", "alice1"), "aunt(vera1, alice1) rather than itself"),
        (("--without", "brother(emil1, emil1)"), "without brother(emil1, emil1): this fact is not in the data"),
        (("--add", "brother(emil1, nobody)"), "unknown entity 'nobody'"),
    ],
)
def test_refusals(options: tuple[str, ...], sentence: str, nlil_command: Nlil, plain_run: Path) -> None:
    assert sentence in nlil_command("explain", plain_run, FACT, *options).complaint


def test_rules_with_examples(nlil_command: Nlil, golden: Golden, plain_run: Path) -> None:
    arguments = ("rules", plain_run, "--target", "uncle", "--top", "10", "--examples", "2")
    shown = nlil_command(*arguments).out
    golden("rules-uncle-examples.txt", shown)
    document = nlil_command(*arguments, "--json").json
    assert document["num_rules"] == 42
    assert len(document["cards"]) == 10
    for card in document["cards"]:
        assert len(card["examples"]) == min(2, card["support"])
        assert len(card["counterexamples"]) == min(2, card["body_size"] - card["support"])
        assert card["rule"].split(" :-")[0] == "uncle(X, Y)"
    assert "prolog has no examples" in nlil_command(*arguments, "--format", "prolog").complaint


def test_check_shows_the_evidence(nlil_command: Nlil, tmp_path: Path) -> None:
    lines = []
    for i in range(10):
        lines += [f"c{i}\tcapital\tt{1 if i == 0 else i}", f"t{i}\tlies_in\tc{i}", f"c{i}\tseat\tt{i}"]
    (tmp_path / "facts.tsv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    run = tmp_path / "run"
    assert (
        nlil_command(
            "learn", tmp_path / "facts.tsv", "--out", run, "--target", "capital", "--quiet", "--set", "search=count"
        ).code
        == 0
    )
    worst = nlil_command("check", run, "--json").json["disputes"][0]
    assert (worst["fact"], worst["competitor"]) == ("capital(c0, t1)", "capital(c0, t0)")
    facts = {fact for reason in worst["reasons"] for way in reason["groundings"] for fact in way["facts"]}
    assert facts
    assert facts <= {"seat(c0, t0)", "lies_in(t0, c0)"}
    shown = nlil_command("check", run).out
    assert "seat(c0, t0)" in shown or "lies_in(t0, c0)" in shown
