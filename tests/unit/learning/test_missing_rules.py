"""A target without rules comes with the true reason, and what the reason says to change helps."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

import kbs
from commandline import Nlil
from nlil.config import LearnerConfig
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.learning import missing_rules
from nlil.learning.learner import Learner
from nlil.learning.missing_rules import reason
from nlil.logic.rule import RuleStats
from nlil.progress import Stop

PLAIN = {"min_confidence": 0.01, "constants": False, "typed": False, "max_length": 2}
RARE = [(f"a{i}", "near", f"b{j}") for i in range(20) for j in range(20)] + [("a0", "t", "b0"), ("a1", "t", "b1")]
"""near(X, Y) explains both facts of t, with confidence 2 / 400."""


def why(kb: KnowledgeBase, target: str, splits: Splits | None = None, **settings: object) -> str:
    learned = Learner(LearnerConfig().with_values({**PLAIN, **settings})).fit(kb, [target], splits)
    assert not len(learned.rules)
    assert not learned.partial
    (text,) = learned.missing.values()
    return text


def follow(text: str, kb: KnowledgeBase, target: str, **settings: object) -> int:
    """How many rules are found with the setting that the reason proposes."""
    proposed = re.search(r"--set (\w+)=(\S+)$", text)
    assert proposed is not None, text
    config = LearnerConfig().with_values({**PLAIN, **settings, proposed[1]: proposed[2]})
    return len(Learner(config).fit(kb, [target]).rules)


def base(*facts: tuple[str, ...] | str) -> KnowledgeBase:
    return KnowledgeBase.from_facts(facts)  # type: ignore[arg-type]


@pytest.mark.parametrize("target", ["uncle", "female"])
def test_no_facts(target: str) -> None:
    kb = kbs.family()
    kb = kb.without([kb.predicate_id(kb.predicate(target))])
    assert why(kb, target) == "no support: it has no facts to learn from; add facts, or leave it out with --target"


def test_facts_too_light_to_count() -> None:
    kb = base(("a", "t", "b", 0.3), ("b", "t", "c", 0.4), ("a", "p", "b"))  # type: ignore[arg-type]
    assert why(kb, "t").startswith("no support: all 2 of its facts have a weight below .5")


def test_too_few_facts() -> None:
    kb = base("atb", "apb", "bpc")
    text = why(kb, "t")
    assert text.startswith("too few facts: 1, while a rule must explain 2")
    assert follow(text, kb, "t") > 0


@pytest.mark.parametrize("settings", [{"not_body": "p,t"}, {"body": "q"}, {"body": "p", "not_body": "p"}])
def test_no_predicate_is_allowed(settings: dict[str, str]) -> None:
    kb = base("atb", "btc", "apb", "bpc", ("a", "q", "a", 0.1))  # type: ignore[arg-type]
    assert why(kb, "t", **settings).startswith("no vocabulary: body and not_body leave no facts")


def test_no_other_fact_touches_the_entities() -> None:
    text = why(base("atb", "ctd", "xpy", "ypz", ("z", "u")), "t")
    assert text == (
        "no vocabulary: no other fact that a body may use touches the entities of its 2 facts; add facts about them"
    )
    restricted = why(base("atb", "ctd", "xpy", "aqb", "cqd"), "t", not_body="q")
    assert "allow more predicates in body and not_body, or add facts about them" in restricted


def test_a_prior_is_no_body() -> None:
    assert why(base("atb", "ctd", "xpy"), "t", constants=True).startswith("no vocabulary: no other fact")


def test_the_target_itself_may_be_the_body() -> None:
    facts = [(f"a{i}", "t", f"b{i}") for i in range(300)] + [("b0", "t", "a0")]
    text = why(base(*facts), "t")
    assert text.startswith("the best body explains 2 facts with confidence .0066, below min_confidence .01")
    assert follow(text, base(*facts), "t") > 0


def test_nothing_connects_them() -> None:
    assert why(base("atb", "ctd", "apx", "cpy"), "t").startswith("no body of up to 2 atoms explains any of its 2 facts")


def test_a_chain_longer_than_allowed_is_found_by_raising_max_length() -> None:
    kb = base(*[(f"{x}{i}", k, f"{y}{i}") for i in range(3) for x, k, y in ("apb", "bqc", "crd", "atd")])
    text = why(kb, "t")
    changed = text.replace(", or add facts about their entities", "")
    assert follow(changed, kb, "t") > 0


def test_pruned_by_support() -> None:
    kb = base("atb", "ctd", "apb", "xpy", "yqc")
    text = why(kb, "t")
    assert text == ("the best body explains 1 of its 2 facts, below min_support 2; lower it with --set min_support=1")
    assert follow(text, kb, "t") > 0


def test_pruned_by_confidence() -> None:
    kb = base(*RARE)
    text = why(kb, "t")
    assert text == (
        "the best body explains 2 facts with confidence .005, below min_confidence .01; lower it with "
        "--set min_confidence=.004"
    )
    assert follow(text, kb, "t") > 0


def test_given_negatives_get_no_second_look() -> None:
    """Confidence against given negatives is another number than the one that a second look would count."""
    kb = base(*RARE)
    ids = kb.predicate_id(kb.predicate("t")), kb.entities.id("a2"), kb.entities.id("b2")
    negatives = Facts(*(np.array([i], np.int32) for i in ids))
    text = why(kb, "t", Splits(kb.facts, negatives={"train": negatives}), min_confidence=0.9)
    assert text.startswith("no body explains 2")


def test_a_second_look_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    general = "no body explains 2 of its 2 facts with confidence 0.01"
    kb = base(*RARE)
    monkeypatch.setattr(missing_rules, "MAX_FACTS", len(kb.facts))
    assert why(kb, "t").startswith(general)
    monkeypatch.setattr(missing_rules, "MAX_FACTS", len(kb.facts) + 1)
    assert why(kb, "t").startswith("the best body")
    monkeypatch.setattr(missing_rules, "MAX_TARGETS", 0)
    assert why(kb, "t").startswith(general)


def test_a_search_that_was_stopped_says_so() -> None:
    stop = Stop()
    stop.set()
    learned = Learner(LearnerConfig().with_values(PLAIN)).fit(base(*RARE), ["t"], stop=stop)
    assert learned.partial
    assert learned.missing == {"t/2": "the search was stopped before it was done; learn again with more time"}


def test_what_sampling_missed_is_said() -> None:
    kb = base(*RARE)
    text = reason(kb, kb.predicate_id(kb.predicate("t")), LearnerConfig(min_confidence=0.01), False, RuleStats(2, 4, 2))
    assert text.startswith("a body explains 2 facts with confidence .5, but it was not among the sampled ones")
    assert text.endswith("--set candidates=400")


def test_the_command_line_prints_the_reason(nlil_command: Nlil, tmp_path: Path) -> None:
    facts = tmp_path / "facts.tsv"
    facts.write_text("".join("\t".join(fact) + "\n" for fact in RARE))
    settings = ("--set", "constants=off", "--set", "typed=off", "--set", "max_length=2", "--set", "min_confidence=.01")
    call = ("learn", facts, "--target", "t", *settings)
    document = nlil_command(*call, "--out", tmp_path / "one", "--json").json
    assert document["missing"]["t/2"].endswith("--set min_confidence=.004")
    shown = " ".join(nlil_command(*call, "--out", tmp_path / "two").out.split())
    assert "t/2: the best body explains 2 facts with confidence .005, below min_confidence .01" in shown
    mended = nlil_command(*call, "--set", "min_confidence=.004", "--out", tmp_path / "three", "--json").json
    assert mended["missing"] == {}
