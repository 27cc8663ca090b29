"""Validation facts, given or held out: what is held out, and that nothing is judged on facts that were counted."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.errors import ConfigError
from nlil.kernel.aggregation import KINDS
from nlil.learning import learner, validation
from nlil.learning.learner import Fit, Learner
from nlil.learning.run import Learned
from nlil.learning.validation import Fold, Validation, hold_out
from nlil.progress import Stop

SIZE = 400


def triples(size: int = SIZE) -> KnowledgeBase:
    """`near` leads to four entities, one of them is `t`; `t` is also what `two` steps lead to."""
    random = np.random.default_rng(0)
    rows = []
    for i in range(size):
        near = [(i + k) % size for k in random.permutation(range(1, 30))[:4]]
        rows += [(f"e{i}", "near", f"e{j}") for j in near] + [(f"e{i}", "t", f"e{near[0]}")]
        rows += [(f"e{i}", "first", f"m{i}"), (f"m{i}", "then", f"e{near[0]}")]
    return KnowledgeBase.from_facts(rows)


def ids(kb: KnowledgeBase, *names: str) -> np.ndarray:
    return np.array([kb.predicate_id(kb.predicate(name)) for name in names], np.int32)


def learned(kb: KnowledgeBase, splits: Splits | None = None, stop: Stop | None = None, **settings: Any) -> Learned:
    config = LearnerConfig().with_values({"search": "count", "max_length": 2, "tried_length": 0, **settings})
    return Learner(config).fit(kb, ["t"], splits, stop=stop)


def test_parts_hold_different_facts_of_the_targets() -> None:
    kb = triples()
    parts = hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))
    assert len(parts) == validation.MOST_FOLDS
    seen = Facts.join(part.facts for part in parts)
    assert len(seen.unique()) == len(seen) == 5 * SIZE // 10
    assert set(seen.predicate) == set(ids(kb, "t"))
    for part in parts:
        assert not part.facts.isin(part.kb.facts).any()
        assert len((part.kb.facts + part.facts).unique()) == len(kb.facts)
    again = hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))
    assert all((a.facts.subject == b.facts.subject).all() for a, b in zip(parts, again))


def test_no_more_parts_than_are_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = triples()
    for enough, count in ((40, 1), (41, 2), (120, 3), (10_000, 5)):
        monkeypatch.setattr(validation, "ENOUGH_FACTS", enough)
        monkeypatch.setattr(validation, "LEAST_FACTS", 40)
        assert len(hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))) == count
    assert len(hold_out(kb, ids(kb, "t"), 0.5, np.random.default_rng(0))) == 2  # no fact twice
    monkeypatch.setattr(validation, "MOST_FACTS", 30)
    assert [len(p.facts) for p in hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))] == [30] * 5


def test_nothing_is_held_out_of_few_facts() -> None:
    kb = triples(99)
    assert not hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))  # 5 parts of 9 facts
    assert not hold_out(triples(), ids(triples(), "t"), 0.0, np.random.default_rng(0))


def test_light_facts_are_no_facts_to_judge_by() -> None:
    kb = triples()
    weight = np.where(np.arange(len(kb.facts)) % 2 == 0, 0.9, 0.2).astype(np.float32)
    soft = replace(kb, facts=replace(kb.facts, weight=weight))
    for part in hold_out(soft, ids(kb, "t"), 0.2, np.random.default_rng(0)):
        assert part.facts.weight is None
        assert part.facts.isin(soft.facts.crisp()).all()


def test_scene_graphs_are_held_out_whole() -> None:
    kb = load_dataset("street:40").kb
    assert kb.graph_of is not None
    parts = hold_out(kb, np.array(sorted(kb.classes), np.int32), 0.1, np.random.default_rng(0))
    assert parts
    for part in parts:
        context = part.facts.context
        assert context is not None
        assert part.facts.isin(context).all()
        assert not np.isin(kb.graph_of[context.subject], kb.graph_of[part.kb.facts.subject]).any()
        assert len(context) + len(part.kb.facts) == len(kb.facts)


def test_folds_are_drawn_together() -> None:
    kb = triples()
    rules = learned(kb, hold_out=0).rules
    parts = hold_out(kb, ids(kb, "t"), 0.1, np.random.default_rng(0))
    whole = Validation(kb, rules, tuple(Fold(p.kb, rules, p.facts, kb.facts) for p in parts))
    some = whole.drawn(50, np.random.default_rng(1))
    assert sum(len(fold.facts) for fold in some) == 50
    assert all(fold.facts.isin(part.facts).all() for fold, part in zip(some, parts))
    assert whole.num_facts == 200
    few = whole.drawn(500, np.random.default_rng(1), lambda fold: fold.facts.subject < 50)
    assert 0 < sum(len(fold.facts) for fold in few) < 50


def test_rules_of_folds_do_not_know_the_facts_and_the_result_knows_all(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, seen = triples(), []

    def judged(self: Fit, found: Validation) -> tuple[Validation, list[str]]:
        seen.append(found)
        return found, []

    monkeypatch.setattr(Fit, "_judged", judged)
    result = learned(kb)
    (found,) = seen
    assert len(found.folds) == validation.MOST_FOLDS
    chain = "t(X, Y) :- first(X, Z1), then(Z1, Y), Y \\= X, Z1 \\= X, Z1 \\= Y."
    for fold in found.folds:
        assert fold.kb is not kb
        (row,) = fold.rules.rows_of_text(chain)
        assert fold.rules.support[row] == SIZE - SIZE // 10
        assert fold.facts.isin(fold.known).all()
    (row,) = result.rules.rows_of_text(chain)
    assert result.rules.support[row] == SIZE
    assert any("200 training facts were held out" in note for note in result.notes)


@pytest.mark.parametrize(("given", "num_folds"), [(0, 5), (199, 6), (200, 1)])
def test_few_given_facts_are_helped_out(given: int, num_folds: int, monkeypatch: pytest.MonkeyPatch) -> None:
    whole, seen = triples(600), []
    rows = np.flatnonzero(whole.facts.predicate == ids(whole, "t")[0])[:given]
    kb = whole.with_facts(whole.facts[np.setdiff1d(np.arange(len(whole.facts)), rows)])

    def judged(self: Fit, found: Validation) -> tuple[Validation, list[str]]:
        seen.append(found)
        return found, []

    monkeypatch.setattr(Fit, "_judged", judged)
    learned(kb, Splits(kb.facts, whole.facts[rows]))
    (found,) = seen
    assert len(found.folds) == num_folds
    assert (found.folds[0].kb is kb) is (given > 0)
    assert found.num_held_out == found.num_facts - given


def copies() -> KnowledgeBase:
    """Two steps lead to `t` seven times in ten; five relations that say the same lead to the answer of the rest."""
    rows = []
    for i in range(SIZE):
        right, wrong = f"e{(i + 11) % SIZE}", f"e{(i + 5) % SIZE}"
        rows += [(f"e{i}", "first", f"m{i}"), (f"m{i}", "then", right)]
        rows += [(f"e{i}", f"copy{k}", wrong) for k in range(5)]
        rows.append((f"e{i}", "t", right if i % 10 < 7 else wrong))
    return KnowledgeBase.from_facts(rows)


def test_kinds_are_weighed_without_a_split_whatever_the_threads() -> None:
    kb = copies()
    settings = {"constants": False, "conjunctions": 0, "exclusions": False, "not_body": "t"}
    one, two = (learned(kb, threads=threads, **settings).rules for threads in (1, 2))
    assert one.aggregation == two.aggregation
    assert (one.support == two.support).all()
    assert len(one.aggregation.weighing) == len(KINDS)
    assert not learned(kb, hold_out=0, **settings).rules.aggregation.weighing


def test_without_time_the_rules_stay(monkeypatch: pytest.MonkeyPatch) -> None:
    counted = Fit._count
    calls = []

    def then_late(self: Fit, *words: Any) -> object:
        calls.append(words)
        result = counted(self, *words)
        if len(calls) == 2:
            self.stop.set()
        return result

    monkeypatch.setattr(Fit, "_count", then_late)
    kb = triples()
    result = learned(kb)
    assert len(calls) == 2
    assert learner.NO_FOLD in result.notes
    assert result.partial
    (row,) = result.rules.rows_of_text("t(X, Y) :- first(X, Z1), then(Z1, Y), Y \\= X, Z1 \\= X, Z1 \\= Y.")
    assert result.rules.support[row] == SIZE


def test_longer_chains_are_tried_on_the_first_part_only(monkeypatch: pytest.MonkeyPatch) -> None:
    counted, grown = Fit._count, []

    def watched(self: Fit, kb: KnowledgeBase, options: Any, *stage: str) -> object:
        grown.append(options.tried_length)
        return counted(self, kb, options, *stage)

    monkeypatch.setattr(Fit, "_count", watched)
    monkeypatch.setattr(validation, "ENOUGH_FACTS", 400)
    steps = ("apb", "bqc", "crd", "atd")
    kb = KnowledgeBase.from_facts([(f"{x}{i}", k, f"{y}{i}") for i in range(2100) for x, k, y in steps])
    settings = {"tried_length": 3, "constants": False, "conjunctions": 0, "weigh": False}
    result = learned(kb, **settings)
    assert grown == [3, 3, 3]  # the first part, all facts, the second part
    assert result.rules.lengths.max() == 3
    grown.clear()
    monkeypatch.setattr(learner, "best_length", lambda *_: (2, ("no better",)))
    result = learned(kb, **settings)
    assert grown == [3, 0, 0]
    assert not len(result.rules)
    assert "no better" in result.notes


def test_more_than_half_cannot_be_held_out() -> None:
    with pytest.raises(ConfigError, match=r"hold_out: expected 0 to \.5"):
        LearnerConfig().with_values({"hold_out": 0.6})
