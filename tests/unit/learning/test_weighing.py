"""How much each kind of rule counts: what is fitted, when nothing is, and what a weighing may be."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.errors import ConfigError
from nlil.evaluation.ranking import Ranker
from nlil.evaluation.samples import CandidateSample
from nlil.kernel.aggregation import KINDS, Aggregation
from nlil.kernel.exclusion import Exclusion
from nlil.kernel.ruleset import RuleSet
from nlil.learning import weighing as fit
from nlil.learning.gates import WEIGHING
from nlil.learning.validation import Fold, Validation
from nlil.learning.weighing import (
    MAX_CANDIDATES,
    START,
    Trials,
    ascend,
    fit_weighing,
    gather,
    weights,
    worth,
)
from nlil.logic.parse import parse_rule
from nlil.logic.rule import RuleStats, ScoredRule
from nlil.progress import Stop

SIZE = 80
EVEN = ((1.0, 1.0),) * len(KINDS)
RULES = {
    "t(X, Y) :- one(X, Y).": 0.5,
    "t(X, Y) :- half(X, Z), half(Z, Y), X \\= Z, Y \\= Z, X \\= Y.": 0.6,
    "t(X, e3) :- one(X, e5).": 0.3,
    "t(X, e4) :- half(X, Z), X \\= Z.": 0.22,
    "t(e6, Y) :- one(Y, e9).": 0.4,
    "t(e7, Y) :- half(Y, Z), Y \\= Z.": 0.23,
    "t(X, Y) :- one(X, Y), u(X).": 0.35,
    "t(X, e8) :- true.": 0.05,
    "t(e6, Y) :- true.": 0.1,
}


def rule_set(kb: KnowledgeBase, aggregation: Aggregation, texts: dict[str, float] = RULES) -> RuleSet:
    scored = [ScoredRule(parse_rule(text), RuleStats(1, 2, 3, 2), weight) for text, weight in texts.items()]
    return RuleSet.of(kb, scored, aggregation)


def weighed(
    rules: RuleSet, kb: KnowledgeBase, valid: Facts, known: Facts, seed: int, threads: int = 0, folds: int = 1
) -> Aggregation:
    """What the facts choose, dealt out to so many folds."""
    parts = tuple(Fold(kb, rules, valid[rows], known) for rows in np.array_split(np.arange(len(valid)), folds))
    return fit_weighing(Validation(kb, rules, parts), seed, threads)


def base(misleading: str) -> tuple[KnowledgeBase, Facts]:
    """`one` and two moves of `half` both point somewhere; the facts of `t` to learn from follow only one of them.

    Moves of `half` lead from x to x + 2 * 10 entities on, edges of `one` to x + 7 (mod SIZE).
    """
    facts = [(f"e{i}", "half", f"e{(i + 10) % SIZE}") for i in range(SIZE)]
    facts += [(f"e{i}", "one", f"e{(i + 7 * j) % SIZE}") for i in range(SIZE) for j in (1, 2, 3)]
    facts += [(f"e{i}", "u") for i in range(0, SIZE, 2)] + [("e0", "t", "e1")]
    kb = KnowledgeBase.from_facts(facts)
    ways = (20,) if misleading == "one-step chain" else (7, 14, 21)
    pairs = [(f"e{i}", f"e{(i + way) % SIZE}") for way in ways for i in range(SIZE)]
    return kb, named(kb, pairs)


def named(kb: KnowledgeBase, pairs: list[tuple[str, str]]) -> Facts:
    target = kb.predicate_id(kb.predicate("t"))
    ends = [[kb.entities.id(name) for name in side] for side in zip(*pairs)]
    return Facts(np.full(len(pairs), target, np.int32), *(np.asarray(e, np.int32) for e in ends))


def random_facts(kb: KnowledgeBase, count: int, seed: int) -> Facts:
    pairs = np.random.default_rng(seed).integers(0, SIZE, (count, 2))
    return named(kb, [(f"e{x}", f"e{y}") for x, y in pairs]).unique()


def mrr(rules: RuleSet, kb: KnowledgeBase, facts: Facts, known: Facts) -> float:
    return float((1 / Ranker(rules, kb, threads=1).rank(facts, known).realistic).mean())


def sample_mrr(sample: CandidateSample, weighing: np.ndarray) -> float:
    return float(Trials.of(sample).reciprocal(weighing).mean())


def started(kb: KnowledgeBase, top: int = 3) -> RuleSet:
    return rule_set(kb, Aggregation("noisy-or", top, (START,) * len(KINDS)))


@pytest.mark.parametrize("seed", range(4))
def test_a_sample_ranks_as_the_ranker_does(seed: int) -> None:
    """Random facts: most answers have no evidence, some are ruled out, and known answers are filtered."""
    kb, valid = base("longer chain")
    assert SIZE <= MAX_CANDIDATES
    facts = random_facts(kb, 60, seed) + valid[:40]
    known = kb.facts + valid + random_facts(kb, 200, seed + 100)
    excluded = Exclusion(kb.predicate("t"), kb.step(2 * kb.predicate_id(kb.predicate("one"))), 9.0, 5)
    for exclusions in ((), (excluded,)):
        rules = replace(started(kb), exclusions=exclusions)
        sample = gather(Ranker(rules, kb, threads=1), facts, known)
        assert len(sample.fact) == 2 * len(facts)
        rng = np.random.default_rng(seed)
        for _ in range(4):
            weighing = np.stack((rng.choice([0, 0.25, 0.5, 1], len(KINDS)), rng.choice([0, 0.5, 1], len(KINDS))), 1)
            weighed = replace(rules, aggregation=Aggregation("noisy-or", 3, tuple(map(tuple, weighing))))
            assert sample_mrr(sample, weighing) == pytest.approx(mrr(weighed, kb, facts, known), abs=1e-9)
        plain = replace(rules, aggregation=Aggregation("noisy-or", 3))
        assert Trials.of(sample).plain_reciprocal(3).mean() == pytest.approx(mrr(plain, kb, facts, known), abs=1e-9)


def test_a_sample_has_the_long_chains_that_matter() -> None:
    """Three moves of `half` are the only rule for the facts, and reach above what the other rules propose."""
    kb, _ = base("longer chain")
    text = "t(X, Y) :- half(X, Z), half(Z, W), half(W, Y), X \\= Z, X \\= W, X \\= Y, Z \\= W, Z \\= Y, W \\= Y."
    rules = rule_set(kb, Aggregation("noisy-or", 3, (START,) * len(KINDS)), {**RULES, text: 0.58})
    facts = named(kb, [(f"e{i}", f"e{(i + 30) % SIZE}") for i in range(SIZE)])
    sample = gather(Ranker(rules, kb, threads=1), facts, facts)
    assert sample_mrr(sample, np.array([START] * len(KINDS))) == pytest.approx(mrr(rules, kb, facts, facts), abs=1e-9)


def test_gathering_leaves_no_trace() -> None:
    kb, valid = base("longer chain")
    ranker = Ranker(started(kb), kb, threads=1)
    once, again = (gather(ranker, valid, kb.facts + valid) for _ in range(2))
    assert all(np.array_equal(*columns) for columns in zip(once, again))
    part = once.part(once.fact < 20)
    assert len(part.fact) == 40
    alone = gather(ranker, valid[:20], kb.facts + valid)
    assert sample_mrr(part, np.array(EVEN)) == pytest.approx(sample_mrr(alone, np.array(EVEN)))


@pytest.mark.parametrize("early", [True, False])
def test_what_was_gathered_before_a_stop_is_as_it_would_be(early: bool) -> None:
    """One block of queries at least, and none that is half done."""
    kb, valid = base("longer chain")
    facts, stop = valid + random_facts(kb, 100, 2), Stop()
    whole = gather(Ranker(started(kb), kb, threads=2), facts, kb.facts + facts)
    assert len(whole.fact) == 2 * len(facts)

    def progress(stage: str, done: int, total: int, note: str = "") -> None:
        stop.set()

    if early:
        stop.set()
    some = gather(Ranker(started(kb), kb, threads=1), facts, kb.facts + facts, progress, stop)
    assert 0 < len(some.fact) < len(whole.fact) or not early
    rows = {(row.tobytes(), fact) for row, fact in zip(whole.strongest, whole.fact)}
    assert all((row.tobytes(), fact) in rows for row, fact in zip(some.strongest, some.fact))


def test_candidates_are_the_best_others(monkeypatch: pytest.MonkeyPatch) -> None:
    """Several facts of one query, of which the filter knows some."""
    kb, valid = base("longer chain")
    rules = started(kb)
    facts = (valid + random_facts(kb, 200, 3)).unique()
    known = kb.facts + facts[::2]
    monkeypatch.setattr(fit, "MAX_CANDIDATES", 10)
    sample = gather(Ranker(rules, kb, threads=2), facts, known)
    ranker, half = Ranker(rules, kb, threads=1), len(facts)
    target, weight = int(facts.predicate[0]), weights(np.array((START,) * len(KINDS)), 3)
    ends = np.stack((facts.subject, facts.object)).tolist()
    for q, fact in enumerate(sample.fact):
        direction = q // half
        a, answer = ends[direction][fact], ends[1 - direction][fact]
        of = known.of(target)
        column = (of.subject, of.object)
        total = ranker.evidence(target, direction, a)
        own = total[answer]
        total[column[1 - direction][column[direction] == a]] = -1
        total[answer] = -1
        best = np.sort(total[total > 0])[::-1][:10]
        real = sample.real[q]
        score = (sample.strongest[q] * weight).sum(axis=(1, 2)) * 2.0**40
        # The start gives priors factor 1: they have one place, which no discount touches.
        assert score[real] == pytest.approx([own, *best], rel=1e-3)
        assert real.tolist() == [True] * (1 + len(best)) + [False] * (10 - len(best))
        assert sample.unproposed[q] == np.count_nonzero(total == 0)


@pytest.mark.parametrize("misleading", ["one-step chain", "longer chain"])
def test_a_kind_that_misleads_counts_less(misleading: str) -> None:
    kb, valid = base(misleading)
    if misleading == "one-step chain":
        valid = valid + random_facts(kb, 150, 1)
    known = kb.facts + valid
    # Whichever kind misleads is the stronger one by its weights.
    weights = (0.7, 0.4) if misleading == "one-step chain" else (0.4, 0.7)
    rules = rule_set(kb, Aggregation(), RULES | dict(zip(list(RULES)[:2], weights)))
    one, two = (weighed(rules, kb, valid, known, seed=3, threads=threads) for threads in (1, 2))
    assert one == two
    several = weighed(rules, kb, valid, known, seed=3, threads=2, folds=3)
    assert [f for f, _ in several.weighing] == pytest.approx([f for f, _ in one.weighing], abs=0.3)
    assert (one.kind, one.top) == ("noisy-or", 5)
    factor = {kind: f for kind, (f, _) in zip(KINDS, one.weighing)}
    useful = "longer chain" if misleading == "one-step chain" else "one-step chain"
    assert factor[misleading] < 0.5 * factor[useful]
    assert max(factor.values()) == 1.0
    assert mrr(replace(rules, aggregation=one), kb, valid, known) > mrr(rules, kb, valid, known) + 0.1


def test_climbing_never_goes_down() -> None:
    kb, valid = base("longer chain")
    facts = valid[:60] + random_facts(kb, 30, 5)
    sample = gather(Ranker(started(kb), kb, threads=1), facts, kb.facts + facts)
    start = np.array((START,) * len(KINDS))
    kept = start.copy()
    best = ascend(Trials.of(sample), start)
    assert np.array_equal(start, kept)
    assert sample_mrr(sample, best) > sample_mrr(sample, start) + 0.01
    assert best[-1, 1] == START[1]  # a side has one prior: nothing to discount


def test_among_unknown_answers_the_top_counts_less() -> None:
    reciprocal = np.array([1.0, 1 / 2, 1 / 3, 1 / 100])
    assert worth(reciprocal, 0) is reciprocal
    assert worth(reciprocal, 2) == pytest.approx([1, 3 / 4, 3 / 5, 3 / 102])


def test_held_out_facts_are_judged_by_worth(monkeypatch: pytest.MonkeyPatch) -> None:
    kb, valid = base("longer chain")
    rules, seen = rule_set(kb, Aggregation()), list[int]()

    def seen_ascend(trials: Trials, start: np.ndarray, *rest: Any, unknown: int = 0) -> np.ndarray:
        seen.append(unknown)
        return ascend(trials, start, *rest, unknown=unknown)

    monkeypatch.setattr(fit, "ascend", seen_ascend)
    for held_out in (0, len(valid)):
        fold = Fold(kb, rules, valid, kb.facts + valid)
        assert fit_weighing(Validation(kb, rules, (fold,), held_out), 0, 1).weighing
    assert seen == [0] * 3 + [fit.UNKNOWN] * 3


@pytest.mark.parametrize("aggregation", [Aggregation("max"), Aggregation("noisy-or", 0)])
def test_other_aggregations_stay_as_they_are(aggregation: Aggregation) -> None:
    kb, valid = base("longer chain")
    assert weighed(rule_set(kb, aggregation), kb, valid, kb.facts + valid, seed=0) is aggregation


def test_few_facts_weigh_nothing() -> None:
    kb, valid = base("longer chain")
    assert len(valid) >= WEIGHING.least_facts
    rules = rule_set(kb, Aggregation())
    fit = [
        weighed(rules, kb, valid[:n], kb.facts + valid, seed=0, threads=1)
        for n in (WEIGHING.least_facts - 1, WEIGHING.least_facts)
    ]
    assert fit[0] is rules.aggregation
    assert fit[1].weighing
    # Facts that no rule is about, and unary ones, do not count.
    other = Facts(np.full(50, kb.predicate_id(kb.predicate("one")), np.int32), valid.subject[:50], valid.object[:50])
    unary = Facts(
        np.full(50, kb.predicate_id(kb.predicate("u")), np.int32), valid.subject[:50], np.full(50, -1, np.int32)
    )
    assert weighed(rules, kb, valid[: WEIGHING.least_facts - 1] + other + unary, kb.facts, seed=0) is rules.aggregation


@pytest.mark.parametrize("seed", range(3))
def test_labels_without_meaning_weigh_nothing(seed: int) -> None:
    """One rule for one candidate: no weighing changes an order, so none may seem to help."""
    kb, _ = base("longer chain")
    valid = random_facts(kb, 400, seed)
    for text in list(RULES)[:3]:
        rules = rule_set(kb, Aggregation(), {text: 0.5})
        assert weighed(rules, kb, valid, kb.facts + valid, seed=seed, threads=1) is rules.aggregation


def test_what_is_right_already_is_not_weighed() -> None:
    kb, valid = base("longer chain")
    rules = rule_set(kb, Aggregation(), RULES | dict(zip(list(RULES)[:2], (0.9, 0.1))))
    assert mrr(rules, kb, valid, kb.facts + valid) > 0.999
    assert weighed(rules, kb, valid, kb.facts + valid, seed=0, threads=1) is rules.aggregation


def test_where_every_kind_misleads_some_rules_still_count() -> None:
    """No answer is proposed by any rule, so that every factor would be best at 0."""
    kb, _ = base("longer chain")
    texts = {text: weight for text, weight in RULES.items() if not text.startswith("t(e7")}
    rules = rule_set(kb, Aggregation(), texts | {"t(e7, Y) :- t(Y, Z), Y \\= Z.": 0.2})
    far = named(kb, [(f"e{i}", f"e{(i + way) % SIZE}") for way in (33, 36, 39, 45) for i in range(SIZE)])
    ranker = Ranker(rules, kb, threads=1)
    pairs = list(zip(far.subject.tolist(), far.object.tolist()))
    valid = far[np.array([ranker.evidence(int(far.predicate[0]), 0, x)[y] == 0 for x, y in pairs])]
    assert len(valid) >= WEIGHING.least_facts
    sample = gather(Ranker(replace(rules, aggregation=started(kb).aggregation), kb, 1), valid, kb.facts + valid)
    assert not ascend(Trials.of(sample), np.array((START,) * len(KINDS)))[:, 0].any()
    assert weighed(rules, kb, valid, kb.facts + valid, seed=0, threads=1) is rules.aggregation


def test_an_empty_sample_has_no_rank() -> None:
    none = Trials.of(CandidateSample.empty(np.zeros(0, np.int64), 1, 3))
    assert not len(none.reciprocal(np.array(EVEN)))
    assert not len(none.plain_reciprocal(3))
    assert np.array_equal(ascend(none, np.array(EVEN)), np.array(EVEN))


def test_a_weighing_is_kept_as_tuples_of_numbers() -> None:
    aggregation = Aggregation("noisy-or", 5, [[1, 0] for _ in KINDS])  # type: ignore[arg-type]
    assert aggregation == Aggregation("noisy-or", 5, ((1.0, 0.0),) * len(KINDS))
    assert hash(aggregation) == hash(Aggregation("noisy-or", 5, ((1.0, 0.0),) * len(KINDS)))
    assert all(type(number) is float for pair in aggregation.weighing for number in pair)


@pytest.mark.parametrize(
    ("kind", "top", "weighing"),
    [
        ("max", 5, EVEN),
        ("noisy-or", 0, EVEN),
        ("noisy-or", 5, EVEN[1:]),
        ("noisy-or", 5, (*EVEN, (1.0, 1.0))),
        ("noisy-or", 5, ((1.1, 1.0), *EVEN[1:])),
        ("noisy-or", 5, ((-0.1, 1.0), *EVEN[1:])),
        ("noisy-or", 5, ((1.0, 1.1), *EVEN[1:])),
        ("noisy-or", 5, ((float("nan"), 1.0), *EVEN[1:])),
        ("noisy-or", 5, ((1.0,), *EVEN[1:])),
        ("noisy-or", 5, (("much", 1.0), *EVEN[1:])),
        ("noisy-or", 5, (1.0,) * len(KINDS)),
        ("noisy-or", 5, 1.0),
    ],
)
def test_a_wrong_weighing_is_refused_in_one_sentence(kind: str, top: int, weighing: object) -> None:
    with pytest.raises(ConfigError, match=r"weighing: expected .* got ") as caught:
        Aggregation(kind, top, weighing)  # type: ignore[arg-type]
    assert "\n" not in str(caught.value)
