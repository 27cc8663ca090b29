"""Run folders: whole or not at all, verified on load, equal to what was saved."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from nlil.data import KnowledgeBase
from nlil.errors import RunError
from nlil.learning.config import LearnerConfig
from nlil.learning.learner import Learned
from nlil.learning.run import load_info, load_run, save_metrics, save_run
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.rules import RuleSet

TEXTS = (
    "p(X, Y) :- q(X, Y).",
    "p(X, b) :- q(X, d).",
    "p(X, Y) :- q(X, Y), \\+ r(X).",
)


@pytest.fixture
def learned() -> Learned:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "q", "b"), ("c", "q", "d"), ("a", "r")])
    kb = replace(kb, entity_labels={"a": "Anna", "d": "[red]Dora"}, predicate_labels={"p": "is parent of"})
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 1, 1), 0.25) for text in TEXTS]
    return Learned(rules=RuleSet.of(kb, scored), config=LearnerConfig(seed=7, body=("q", "r")),
                   targets=(kb.predicate("p"),), partial=True, missing={"q": "no support"}, seconds=1.5,
                   history=({"stage": "chains", "rules": 3},))


def test_what_is_saved_is_loaded(learned: Learned, tmp_path: Path) -> None:
    path = save_run(learned, tmp_path / "deep" / "run", source="kin", checksum="abc")
    again = load_run(path)
    assert [str(s.rule) for s in again.rules] == [str(s.rule) for s in learned.rules]
    assert [(s.stats, s.weight) for s in again.rules] == [(s.stats, s.weight) for s in learned.rules]
    for name in ("config", "targets", "partial", "missing", "seconds", "history"):
        assert getattr(again, name) == getattr(learned, name), name
    assert again.rules.entity_labels == learned.rules.entity_labels
    assert again.rules.predicate_labels == learned.rules.predicate_labels
    info = load_info(path)
    assert (info.source, info.checksum) == ("kin", "abc")
    assert {"python", "nlil", "torch", "numpy", "numba"} <= set(info.versions)


def test_the_library_saves_too(learned: Learned, tmp_path: Path) -> None:
    learned.save(tmp_path / "run")
    assert len(load_run(tmp_path / "run").rules) == len(learned.rules)


def test_an_empty_set_of_rules(learned: Learned, tmp_path: Path) -> None:
    none = replace(learned, rules=learned.rules.take(learned.rules.support > 9))
    assert len(load_run(save_run(none, tmp_path / "run")).rules) == 0


def test_force_replaces_runs_only(learned: Learned, tmp_path: Path) -> None:
    path = save_run(learned, tmp_path / "run")
    with pytest.raises(RunError, match="--force"):
        save_run(learned, path)
    save_run(replace(learned, seconds=9.0), path, force=True)
    assert load_run(path).seconds == 9.0
    (tmp_path / "own").mkdir()
    (tmp_path / "own" / "file").write_text("x")
    with pytest.raises(RunError, match="left alone"):
        save_run(learned, tmp_path / "own", force=True)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["own", "run"]


def test_a_failure_keeps_the_old_run(learned: Learned, tmp_path: Path) -> None:
    path = save_run(learned, tmp_path / "run")
    broken = replace(learned, history=(object(),))
    with pytest.raises(TypeError):
        save_run(broken, path, force=True)
    assert load_run(path).history == learned.history
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_every_file_is_verified(learned: Learned, tmp_path: Path) -> None:
    path = save_run(learned, tmp_path / "run")
    for file in sorted(path.iterdir()):
        content = file.read_bytes()
        file.write_bytes(content.replace(b"1", b"2", 1) if b"1" in content else content + b" ")
        with pytest.raises(RunError, match="damaged"):
            load_run(path)
        file.write_bytes(content)
    assert load_run(path)


def test_metrics_are_kept_by_split(learned: Learned, tmp_path: Path) -> None:
    path = save_run(learned, tmp_path / "run")
    save_metrics(path, "test", {"mrr": 0.5})
    save_metrics(path, "valid", {"mrr": 0.6})
    assert json.loads((path / "metrics.json").read_text()) == {"test": {"mrr": 0.5}, "valid": {"mrr": 0.6}}
    assert load_run(path)
    (path / "metrics.json").write_text("{}")
    with pytest.raises(RunError, match=r"metrics\.json is damaged"):
        load_run(path)


def test_a_newer_format_is_told(learned: Learned, tmp_path: Path) -> None:
    from nlil.learning.run import _sha256

    path = save_run(learned, tmp_path / "run")
    values = json.loads((path / "run.json").read_text()) | {"format": 99}
    (path / "run.json").write_text(json.dumps(values))
    sums = json.loads((path / "checksums.json").read_text()) | {"run.json": _sha256(path / "run.json")}
    (path / "checksums.json").write_text(json.dumps(sums))
    with pytest.raises(RunError, match="newer nlil"):
        load_run(path)
