"""What the learner says of training: what it added to the counted rules, or that it added nothing, and the time."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets.planted import planted
from nlil.learning.estimates import Quality
from nlil.learning.learner import Fit, Learner, chosen_targets
from nlil.learning.run import Learned
from nlil.learning.training_notes import gain_texts
from nlil.progress import Stop

FAST: dict[str, Any] = {"generator": "free", "restarts": 8, "epochs": 15, "threads": 1, "rules_per_target": 0}


def learn(kb: KnowledgeBase, *targets: Any, **settings: Any) -> Learned:
    return Learner(LearnerConfig(**{**FAST, **settings})).fit(kb, targets)


def notes_on_training(learned: Learned) -> list[str]:
    return [note for note in learned.notes if note.startswith("training")]


def quality(*ranks: float, **figures: float) -> Quality:
    reciprocal = 1 / np.array(ranks)
    return Quality({"mrr": float(reciprocal.mean()), **figures} if ranks else figures, reciprocal)


def test_a_gain_is_told_from_chance() -> None:
    old = quality(*[2.0] * 50)
    assert gain_texts(old, old) == ["MRR .500, nothing gained"]
    assert gain_texts(old, quality(*[2.0] * 49, 1.0)) == ["MRR .500 to .510 (± .010), nothing gained beyond chance"]
    assert gain_texts(old, quality(*[2.0] * 25, *[1.0] * 25)) == ["MRR .500 to .750 (± .035)"]
    assert gain_texts(quality(*[1.0] * 50), old) == ["MRR 1.000 to .500 (± .000), nothing gained beyond chance"]
    assert gain_texts(quality(f1=0.5), quality(f1=1.0)) == ["f1 .500 to 1.000"]
    assert gain_texts(quality(f1=0.5), quality(f1=0.5)) == ["f1 .500, nothing gained"]
    assert gain_texts(quality(), quality()) == []


def test_what_counting_explains_is_not_trained() -> None:
    base = planted("chain")
    assert notes_on_training(learn(base.kb, base.target)) == [
        "training: no target needs it, the counted rules explain all of them"
    ]


def test_what_training_adds_is_measured() -> None:
    base = planted("negated-conjunction")
    counted = learn(base.kb, base.target, search="count")
    learned = learn(base.kb, base.target, neural_facts=0)
    (note,) = notes_on_training(learned)
    form = r"training of \w+/1, [\d.]+ s: (\d+) new rules?; validation facts \(training .*\): f1 (\S+) to (\S+)$"
    found = re.match(form, note)
    assert found, note
    assert int(found[1]) == len(learned.rules) - len(counted.rules)
    assert float(found[2]) < 0.95
    assert float(found[3]) > 0.95

    (note,) = notes_on_training(learn(base.kb, base.target, neural_facts=0, hold_out=0.0))
    assert "not measured, for lack of validation facts" in note
    few = learn(base.kb, base.target, neural_facts=0, top_rules=3)
    (note,) = notes_on_training(few)
    assert len(few.rules) == 3
    assert re.search(r": [123] new rules?;", note), note


def test_unary_targets_are_trained_on_larger_bases() -> None:
    def trainable(construct: str, **settings: Any) -> list[str]:
        kb = planted(construct).kb
        fit = Fit(LearnerConfig(**settings), kb, chosen_targets(kb, None), None, stop=Stop(None))
        return [str(kb.predicates[t]) for t in fit.trainable]

    kb = planted("disjunction").kb
    size, everything = len(kb.facts), [str(p) for p in kb.predicates]
    unary = [name for name in everything if name.endswith("/1")]
    assert unary
    assert unary != everything
    assert trainable("disjunction", neural_facts=size) == everything
    assert trainable("disjunction", neural_facts=0) == everything
    assert trainable("disjunction", neural_facts=size - 1) == unary
    assert trainable("disjunction", neural_facts=size // 20) == []
    assert trainable("disjunction", neural_facts=size // 20, search="neural") == everything
