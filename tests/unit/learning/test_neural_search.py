"""The neural search as a learner meets it: planted rules come back, settings are kept, threads change nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlil.config import LearnerConfig
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.datasets.planted import planted
from nlil.errors import ConfigError
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.fixpoint import fixpoint_stats
from nlil.learning.learner import Learner
from nlil.learning.run import Learned
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats
from nlil.logic.simplify import simplify
from nlil.neural.select import Judge, select

FAST: dict[str, Any] = {
    "search": "neural",
    "steps": 1,
    "heads": 1,
    "levels": 0,
    "generator": "free",
    "restarts": 4,
    "epochs": 40,
    "batch": 256,  # few steps, so that a chain is not solved before the second look at the validation queries
    "priors": False,
    "recursive": False,
    "threads": 1,
}


def learn(kb: KnowledgeBase, *targets: Any, **settings: Any) -> Learned:
    return Learner(LearnerConfig(**{**FAST, **settings})).fit(kb, targets)


def texts(learned: Learned) -> list[str]:
    return [str(scored.rule) for scored in learned.rules]


def f1(stats: RuleStats) -> float:
    return 2 * stats.support / (stats.body_size + stats.head_size)


@pytest.mark.parametrize("generator", ["free", "transformer"])
@pytest.mark.parametrize("construct", ["chain", "negation"])
def test_a_planted_rule_comes_back(construct: str, generator: str) -> None:
    base = planted(construct)
    learned = learn(base.kb, base.target, generator=generator, top_rules=1)
    (scored,) = learned.rules
    assert f1(scored.stats) == 1.0
    if construct == "negation":
        assert simplify(scored.rule) == simplify(base.rule)
    else:
        assert scored.rule.body == simplify(base.rule).body
        assert scored.rule.distinct, "chains have all their entities distinct, as counted ones"
    assert [row["epoch"] for row in learned.history] == sorted({row["epoch"] for row in learned.history})
    assert learned.history[-1]["loss"] < learned.history[0]["loss"]
    assert any(name.startswith(f"{base.target}|") for name in learned.attentions)


def test_the_number_of_threads_changes_nothing(tmp_path: Path) -> None:
    """Targets of both arities are two groups, so that two threads have something to share."""
    kb = planted("tree", size=60).kb
    files = []
    for threads in (1, 2):
        learned = learn(kb, "facial", "eye", "part_of", threads=threads, restarts=2, epochs=6, min_support=1)
        assert {p.arity for p in (scored.rule.target for scored in learned.rules)} == {1, 2}
        run = learned.save(tmp_path / str(threads))
        files.append({name: (run / name).read_bytes() for name in ("rules.parquet", "history.jsonl")})
        files[-1]["attentions"] = b"".join(learned.attentions[name].tobytes() for name in sorted(learned.attentions))
    assert files[0] == files[1]


def test_both_adds_to_what_was_counted() -> None:
    base = planted("conjunction", size=120)
    settings = {"max_length": 2, "levels": 1}
    counted = texts(learn(base.kb, base.target, search="count", **settings))
    learned = learn(base.kb, base.target, search="both", epochs=100, restarts=8, **settings)
    every = texts(learned)
    assert set(counted) <= set(every)
    assert len(set(every)) == len(every)
    assert len(every) > len(counted)
    assert {row["target"] for row in learned.history} == {str(base.target)}


def test_both_does_not_train_for_what_counting_explains() -> None:
    base = planted("chain")
    learned = learn(base.kb, base.target, search="both")
    assert learned.history == ()
    assert not learned.attentions
    assert f1(learned.rules.top(1)[0].stats) == 1.0


def test_of_the_unexplained_targets_the_largest_are_trained() -> None:
    kb = planted("chain", size=60).kb
    learned = learn(kb, "near", "likes", "red", search="both", neural_targets=2, epochs=2)
    sizes = {str(p): kb.predicate_counts[i] for i, p in enumerate(kb.predicates)}
    trained = {row["target"] for row in learned.history}
    assert len(trained) == 2
    assert "red/1" not in trained
    assert sizes["red/1"] < min(sizes[name] for name in trained)


@pytest.mark.parametrize(
    ("settings", "allowed"),
    [
        ({"body": ("located_in", "near")}, {"located_in", "near"}),
        ({"not_body": ("employed_by", "red", "works_in")}, None),
    ],
)
def test_bodies_use_only_what_they_may(settings: dict[str, Any], allowed: set[str] | None) -> None:
    kb = planted("chain", size=60).kb
    names = {p.name for p in kb.predicates}
    allowed = allowed or names - set(settings["not_body"])
    learned = learn(
        kb, "works_in", "old", levels=1, recursive=True, epochs=10, min_support=1, min_confidence=0.0, **settings
    )
    used = {p.name for scored in learned.rules for p in scored.rule.predicates} - {"works_in", "old"}
    assert used
    assert used <= allowed
    for scored in learned.rules:
        assert not {p.name for p in scored.rule.predicates} - allowed - {scored.rule.target.name}


def test_a_target_stays_out_of_its_bodies_if_asked() -> None:
    kb = planted("recursion", size=60).kb
    settings = {"levels": 1, "epochs": 10, "min_support": 1, "refine": False}

    def recursive(value: bool) -> list[bool]:
        rules = [s.rule for s in learn(kb, "wet", recursive=value, **settings).rules]
        return ["wet(" in str(rule).partition(":-")[2] for rule in rules]

    assert any(recursive(True))
    assert not any(recursive(False))


def test_support_and_confidence_have_their_bounds() -> None:
    kb = planted("negation", size=80, label_noise=0.1).kb  # else one perfect rule is all there is
    loose = [s.stats for s in learn(kb, "safe", min_support=1, min_confidence=0.0, levels=1, refine=False).rules]
    strict = [s.stats for s in learn(kb, "safe", min_support=20, min_confidence=0.6, levels=1, refine=False).rules]
    assert min(s.support for s in loose) < 20
    assert min(s.confidence for s in loose) < 0.6
    assert strict
    assert all(s.support >= 20 and s.confidence >= 0.6 for s in strict)


def test_priors_stand_beside_trained_rules_if_asked() -> None:
    kb = planted("chain", size=60).kb
    for priors in (True, False):
        learned = learn(kb, "works_in", epochs=2, priors=priors)
        assert any(text.endswith(":- true.") for text in texts(learned)) == priors


def test_statistics_are_exact() -> None:
    kb = planted("negation", size=80, label_noise=0.1).kb  # else one perfect rule is all there is
    judge = Judge(Evaluator(kb))
    learned = learn(kb, "safe", levels=1, epochs=10, refine=False)
    assert len(learned.rules) > 3
    for scored in learned.rules:
        assert judge.score(scored.rule).stats == scored.stats, str(scored.rule)


# recursion --------------------------------------------------------------------------------------------

STEP = "even(X) :- even(Z1), succ(Z1, Z2), succ(Z2, X) ; succ(X, Z3), succ(Z3, Z4), even(Z4)."
NEGATED = "even(X) :- \\+ (succ(X, Z1), even(Z1))."
WHOLE = "even(X) :- zero(X) ; even(Z1), succ(Z1, Z2), succ(Z2, X)."


def test_a_recursive_rule_is_judged_by_what_it_derives_from_nothing() -> None:
    """One step at a time the first two are perfect; from no even number at all they derive none."""
    dataset = load_dataset("even:20")
    judge = Judge(Evaluator(dataset.kb))
    scored = judge.scored([parse_rule(text) for text in (STEP, NEGATED, WHOLE, "even(X) :- zero(X).")])
    assert [f1(s.stats) for s in scored[:3]] == [1.0, 1.0, 1.0]
    for order in (scored, scored[::-1]):
        best = select(judge, order, min_support=1, min_confidence=0.0)[0].rule
        assert f1(fixpoint_stats(dataset.kb, [best], best.target)) == 1.0


def test_a_rule_that_negates_itself_is_no_rule() -> None:
    """Hiding the asked fact alone makes `p(X, Y) :- \\+ p(X, Z)` true: of the facts, and of nothing else."""
    kb = KnowledgeBase.from_facts(
        [(f"a{i}", "p", f"b{i % 3}") for i in range(30)] + [(f"a{i}", "q", f"c{i % 7}") for i in range(30)]
    )
    learned = learn(kb, "p", levels=1, recursive=True, min_support=1, min_confidence=0.0, not_body=("q",))
    assert not [text for text in texts(learned) if "\\+" in text and "p(" in text.partition("\\+")[2]]


# settings ---------------------------------------------------------------------------------------------


def test_the_paper_preset() -> None:
    """Sigmoid, H = 1, one statement per predicate, uniform negatives, argmax (paper-notes, 5)."""
    config = LearnerConfig().with_values({"preset": "paper"})
    assert config.search == "neural"
    assert (config.squash, config.heads, config.instances, config.beam) == ("sigmoid", 1, 1, 1)
    assert config.negative_sampling == "uniform"
    assert (config.steps, config.levels, config.extract_samples, config.neural_constants) == (2, 0, 0, 0)
    assert (config.generator, config.dim, config.layers, config.attention_heads) == ("transformer", 32, 3, 4)
    scenes = LearnerConfig().with_values({"preset": "paper", "steps": 3, "levels": 2, "formulas": 4})
    assert (scenes.levels, scenes.formulas) == (2, 4)
    assert scenes.squash == "sigmoid"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("search", "guess"),
        ("generator", "dense"),
        ("squash", "tanh"),
        ("negative_sampling", "far"),
        ("temperature", 0.0),
        ("steps", 0),
        ("restarts", 0),
        ("rate", 0.0),
        ("levels", -1),
        ("dim", 30),
    ],
)
def test_settings_that_cannot_be(key: str, value: Any) -> None:
    with pytest.raises(ConfigError, match=f"^{key}: expected"):
        LearnerConfig(**{key: value})


def test_without_select_there_is_one_rule_and_counts_do_not_choose_it() -> None:
    """Of 16 rules that training reads that of the best restart stays, however badly it counts."""
    base = planted("conjunction", size=120)
    settings = {"levels": 1, "epochs": 3, "restarts": 16, "min_support": 1, "min_confidence": 0.0, "refine": False}
    (alone,) = learn(base.kb, base.target, select=False, beam=1, **settings).rules
    chosen = learn(base.kb, base.target, beam=1, **settings).rules.top(1)[0]
    assert f1(chosen.stats) > f1(alone.stats)
    several = learn(base.kb, base.target, select=False, beam=4, **settings).rules
    assert alone.rule in [scored.rule for scored in several]
    assert 1 < len(several) <= 4


def test_a_restart_that_negates_its_own_head_is_not_the_best_one() -> None:
    even = load_dataset("even:10")
    learned = learn(even.kb, "even", recursive=True, steps=2, levels=1, select=False, beam=1, restarts=8, epochs=30)
    (found,) = learned.rules
    assert "\\+" not in str(found.rule)
