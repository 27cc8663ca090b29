"""What people said of rules when their run is replaced: it stays with the rules that are there again, and no other."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.learning.feedback import Verdict, load_feedback, save_verdict
from nlil.learning.run import load_run, verify
from nlil.logic.formula import length

LEARN = ("learn", "kin:40", "--set", "search=count", "--target", "uncle")
SHORT, LONG = "max_length=1", "max_length=2"


@pytest.fixture
def judged_run(nlil_command: Nlil, tmp_path: Path) -> Path:
    """One rule of length 1 is accepted, one of length 2 rejected."""
    run = tmp_path / "run"
    assert nlil_command(*LEARN, "--set", LONG, "--out", run, "--quiet").code == 0
    rules = [scored.rule for scored in load_run(run).rules]
    one, two = (next(str(rule) for rule in rules if length(rule.body) == n) for n in (1, 2))
    save_verdict(run, one, Verdict("accepted", "seen", "2026-01-01T00:00:00+00:00"))
    save_verdict(run, two, Verdict("rejected", "not here"))
    return run


def test_they_stay_with_the_same_rules(nlil_command: Nlil, judged_run: Path) -> None:
    before = load_feedback(judged_run)
    done = nlil_command(*LEARN, "--set", LONG, "--out", judged_run, "--force")
    assert done.code == 0
    assert "all 2 verdicts on rules are kept" in done.err
    assert load_feedback(judged_run) == before
    assert list(load_feedback(judged_run)) == list(before)
    verify(judged_run)  # its checksums hold
    assert "rules are left out: they were rejected in the viewer" in nlil_command("check", judged_run).err
    assert not list(judged_run.parent.glob(".run*"))


def test_they_go_with_rules_that_are_gone(nlil_command: Nlil, judged_run: Path) -> None:
    (accepted, rejected) = load_feedback(judged_run)
    done = nlil_command(*LEARN, "--set", SHORT, "--out", judged_run, "--force", "--quiet")
    assert "warning: 1 of 2 verdicts on rules of the replaced run are lost" in done.err
    assert list(load_feedback(judged_run)) == [accepted]
    assert rejected not in (judged_run / "feedback.json").read_text()


def test_they_say_nothing_about_other_data(nlil_command: Nlil, judged_run: Path) -> None:
    done = nlil_command("learn", "kin:41", *LEARN[2:], "--set", LONG, "--out", judged_run, "--force")
    assert "warning: 2 of 2 verdicts" in done.err
    assert not (judged_run / "feedback.json").exists()
    assert "feedback.json" not in json.loads((judged_run / "checksums.json").read_text())


def test_a_damaged_run_can_be_replaced(nlil_command: Nlil, judged_run: Path) -> None:
    (judged_run / "feedback.json").write_text("{")
    assert nlil_command(*LEARN, "--set", LONG, "--out", judged_run, "--force").code == 0
    assert load_feedback(judged_run) == {}
    assert load_run(judged_run).targets
