"""The neural search finds planted rules again: one seed of every construct, and some with wrong labels or facts."""

from __future__ import annotations

from pathlib import Path

import pytest

from commandline import Nlil
from nlil.datasets.planted import CONSTRUCTS
from nlil.learning.run import load_run
from nlil.logic.formula import Not, Statement
from nlil_bench.recovery import recover

OPTIONS = {"device": "cpu", "threads": 1}
SPOILT = [("chain", "labels"), ("conjunction", "labels"), ("negation", "labels"), ("chain", "facts"), ("chain", "soft")]
"""Searching on among wrong labels takes long; `nlil bench recovery` tries every construct with them."""
ATTENTIONS_ONLY = ("select=off", "refine=off", "beam=1")


@pytest.mark.parametrize("construct", CONSTRUCTS)
def test_found_without_noise(construct: str) -> None:
    found = recover(construct, "none", 0, options=OPTIONS)
    assert found["refine"]["passed"], found


@pytest.mark.parametrize(("construct", "noise"), SPOILT)
def test_found_in_spoilt_data(construct: str, noise: str) -> None:
    found = recover(construct, noise, 0, options=OPTIONS)
    assert found["refine"]["passed"], found


@pytest.mark.parametrize("construct", ["chain", "tree", "conjunction", "disjunction", "negation", "two-levels"])
def test_the_attentions_of_a_transformer_alone_say_the_rule(construct: str) -> None:
    found = recover(construct, "none", 0, "transformer", ATTENTIONS_ONLY, OPTIONS)
    assert found["argmax"]["passed"], found
    untrained = recover(construct, "none", 0, "untrained", ATTENTIONS_ONLY, OPTIONS)
    assert not untrained["argmax"]["passed"], untrained


def test_the_paper_preset_prints_what_its_attentions_say(nlil_command: Nlil, tmp_path: Path) -> None:
    common = ("--set", "preset=paper", "--device", "cpu", "--threads", "1")
    chain = ("planted:chain", "--target", "works_in", *common)
    assert nlil_command("learn", *chain, "--out", tmp_path / "chain").code == 0
    (found,) = load_run(tmp_path / "chain").rules.for_target("works_in")
    assert found.rule.length == 2
    assert (found.stats.confidence, found.stats.support) == (1.0, found.stats.head_size)

    disjunction = ("planted:disjunction", "--target", "alarmed", *common)
    assert nlil_command("learn", *disjunction, "--out", tmp_path / "or").code == 0
    # Without a level of products its attentions cannot say more than one statement, and nothing is joined to it.
    for scored in load_run(tmp_path / "or").rules:
        assert isinstance(scored.rule.body, (Statement, Not)), scored.rule
