"""Baselines behind one interface: the registry, settings by name, and ranks that are those of `nlil.evaluate`."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from nlil.config import LearnerConfig
from nlil.data.dataset import Dataset, make_dataset
from nlil.data.facts import Facts, Splits
from nlil.data.kb import KnowledgeBase
from nlil.datasets import load_dataset
from nlil.errors import ConfigError, NlilError, UnknownName
from nlil.evaluation.protocol import evaluate
from nlil.evaluation.ranking import Ranker
from nlil.kernel.aggregation import score
from nlil.learning.learner import Learner
from nlil_bench.baselines import NAMES, make_baseline
from nlil_bench.baselines.batch_ranking import batch_metrics, batch_ranks
from nlil_bench.baselines.popularity import Popularity


def dataset(*triples: str, test: int) -> Dataset:
    """The last `test` triples are for testing, the one before them for validation."""
    everything = KnowledgeBase.from_facts([tuple(t.split()) for t in triples])

    def facts(rows: slice) -> Facts:
        ids = [
            (everything.predicate_id(everything.predicate(p)), everything.entities.id(s), everything.entities.id(o))
            for s, p, o in (t.split() for t in triples[rows])
        ]
        return Facts(*np.array(ids, np.int32).reshape(-1, 3).T)

    train, valid, held = facts(slice(0, -test - 1)), facts(slice(-test - 1, -test)), facts(slice(-test, None))
    return make_dataset("made by hand", everything.with_facts(train), Splits(train, valid, held))


LIKES = (
    "ann likes tea",
    "bob likes tea",
    "cy likes tea",
    "ann likes milk",
    "bob likes milk",
    "dan likes juice",
    "cy likes juice",
    "dan likes tea",
)
"""In training tea has 3, milk 2, juice 1, in validation juice 1; the test fact is the last."""


@pytest.fixture(scope="module")
def kin() -> Dataset:
    return load_dataset("kin")


# the registry ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_baseline_is_made_and_refuses_figures_before_it_is_fitted(name: str) -> None:
    made = make_baseline(name)
    assert type(made.settings).__doc__
    with pytest.raises(NlilError, match="figures need a fitted model"):
        made.evaluate("test")


def test_a_name_that_is_none() -> None:
    with pytest.raises(UnknownName, match="closest: 'transe'"):
        make_baseline("transh")


def test_settings_by_name() -> None:
    made = make_baseline("transe", ["dim=7", "lr=.5", "memory=1MiB"], {"device": "cpu", "memory": "2GiB", "seed": 3})
    assert (made.settings.dim, made.settings.lr, made.settings.memory) == (7, 0.5, 2**20)
    assert make_baseline("popularity", options={"device": "cpu", "threads": 1}).settings == Popularity().settings


@pytest.mark.parametrize(
    ("name", "setting", "expected"),
    [
        ("transe", "dims=3", "did you mean 'dim'"),
        ("transe", "dim=many", "expected int, got 'many'"),
        ("transe", "dim", "expected key=value"),
        ("rotate", "dim=0", "expected 1 or more, got 0"),
        ("neural-lp", "seed=3", "unknown key 'seed'"),
        ("neural-lp", "epochs=-1", "expected 0 or more"),
        ("dilp", "target=3", "unknown key 'target'"),
    ],
)
def test_wrong_settings(name: str, setting: str, expected: str) -> None:
    with pytest.raises(ConfigError, match=expected):
        make_baseline(name, [setting])


# ranks ----------------------------------------------------------------------------------------------


def test_a_model_that_knows_the_answers_ranks_them_first(kin: Dataset) -> None:
    test = kin.splits.test

    def knows(predicate: int, given: np.ndarray, side: int) -> np.ndarray:
        result = np.zeros((len(given), kin.kb.num_entities))
        mine = test.of(predicate)
        ends = (mine.subject, mine.object)
        for i, entity in enumerate(given):
            result[i, ends[1 - side][ends[side] == entity]] = 1.0
        return result

    metrics = batch_metrics(knows, kin, "test")
    assert metrics["mrr"] == metrics["hits@1"] == metrics["mrr_pessimistic"] == 1.0
    assert metrics.num_queries == 2 * len(test)

    def says_the_opposite(predicate: int, given: np.ndarray, side: int) -> np.ndarray:
        return -knows(predicate, given, side)

    assert batch_metrics(says_the_opposite, kin, "test")["mrr"] < 0.02


def test_a_model_that_says_nothing_gets_the_middle_of_the_tie() -> None:
    held = dataset(*LIKES, test=1)
    everyone = np.zeros((1, held.kb.num_entities))
    metrics = batch_metrics(lambda p, given, side: everyone, held, "test")
    # dan likes ?: 7 entities less the known juice; ? likes tea: 7 less ann, bob, cy: the middle of 6 and of 4.
    assert metrics["mrr"] == pytest.approx((1 / 3.5 + 1 / 2.5) / 2)
    assert (metrics["mrr_optimistic"], metrics["mrr_pessimistic"]) == (1.0, pytest.approx((1 / 6 + 1 / 4) / 2))


@pytest.mark.parametrize("batch_memory", [1, 2**30])
def test_the_scores_of_rules_get_the_figures_of_evaluate(kin: Dataset, batch_memory: int) -> None:
    config = LearnerConfig(search="count", max_length=2, threads=1, device="cpu")
    rules = Learner(config).fit(kin.kb, list(kin.targets), kin.splits).rules
    ranker = Ranker(rules, kin.kb, threads=1)

    def by_rules(predicate: int, given: np.ndarray, side: int) -> np.ndarray:
        return np.stack([score(ranker.evidence(predicate, side, int(entity))) for entity in given])

    ours = evaluate(rules, kin.kb, kin.splits.test, splits=kin.splits, threads=1)
    theirs = batch_metrics(by_rules, kin, "test", memory=batch_memory)
    for name in ("mrr", "hits@1", "hits@3", "hits@10", "mrr_optimistic", "mrr_pessimistic"):
        assert theirs[name] == pytest.approx(ours[name], abs=1e-12)
    assert theirs.num_queries == ours.num_queries
    assert {n: f["mrr"] for n, f in theirs.per_predicate.items()} == pytest.approx(
        {n: f["mrr"] for n, f in ours.per_predicate.items() if "mrr" in f}
    )


def test_scores_that_are_no_numbers_are_refused_not_ranked_first() -> None:
    held = dataset(*LIKES, test=1)
    with pytest.raises(NlilError, match="not a number"):
        batch_metrics(lambda p, given, side: np.full((len(given), held.kb.num_entities), np.nan), held, "test")
    with pytest.raises(NlilError, match=r"expected scores of the shape \(1, 7\), got \(1, 3\)"):
        batch_metrics(lambda p, given, side: np.zeros((len(given), 3)), held, "test")


def test_scores_nearer_than_a_billionth_are_tied() -> None:
    held = dataset(*LIKES, test=1)
    tea = held.kb.entities.id("tea")

    def nearly(difference: float) -> int:
        scores = np.zeros((1, held.kb.num_entities))
        scores[0, tea] = -difference
        ranks = batch_ranks(lambda p, given, side: scores, held.splits.test, held.splits.all(), 7, 8)
        return int(ranks.above[ranks.direction == 0][0])

    assert nearly(1e-10) == 0
    assert nearly(1e-8) == 5


@pytest.mark.parametrize("kind", [torch.float32, torch.float64])
def test_tensors_are_ranked_as_arrays_are_and_left_alone(kin: Dataset, kind: torch.dtype) -> None:
    random = np.random.default_rng(0)
    table = random.integers(0, 8, (kin.kb.num_predicates, 2, kin.kb.num_entities)) / 8  # many ties
    tensors = torch.from_numpy(table).to(kind)

    def arrays(p: int, given: np.ndarray, side: int) -> np.ndarray:
        return np.broadcast_to(tensors[p, side].double().numpy(), (len(given), kin.kb.num_entities))

    def given_tensors(p: int, given: np.ndarray, side: int) -> torch.Tensor:
        return tensors[p, side].expand(len(given), -1)

    before = tensors.clone()
    theirs, ours = (batch_metrics(s, kin, "train", own_fact=0.25) for s in (given_tensors, arrays))
    assert theirs.values == ours.values
    assert ours["mrr_pessimistic"] < ours["mrr"] < ours["mrr_optimistic"]
    assert torch.equal(tensors, before)


# popularity -----------------------------------------------------------------------------------------


def test_popularity_counts_answers_of_the_predicate() -> None:
    held = dataset(*LIKES, "ann hates milk", test=2)
    held = replace(held, splits=replace(held.splits, test=held.splits.test[:1]))
    model = Popularity()
    model.fit(held)
    names, likes = held.kb.entities, held.kb.predicate_id(held.kb.predicate("likes"))
    objects = dict(zip(names, model.scores(likes, np.array([0], np.int32), 0)[0]))
    assert {n: c for n, c in objects.items() if c} == {"tea": 3, "milk": 2, "juice": 1}
    subjects = dict(zip(names, model.scores(likes, np.array([0], np.int32), 1)[0]))
    assert {n: c for n, c in subjects.items() if c} == {"ann": 2, "bob": 2, "cy": 1, "dan": 1}
    # dan likes tea: tea is the most popular. ? likes tea: all others are known, dan is the only one with a count.
    assert model.evaluate("test")["mrr"] == 1.0
    # cy likes juice: tea is known; milk is ahead: 2. ? likes juice: dan is known, ann and bob are ahead: 3.
    assert model.evaluate("valid")["mrr"] == pytest.approx((1 / 2 + 1 / 3) / 2)


def test_popularity_does_not_count_the_fact_that_is_asked_about() -> None:
    held = dataset("a p b", "a q c", "c q d", "d q a", test=1)
    model = Popularity()
    model.fit(held)
    # p has one fact. Hidden, no entity has a count, and its answer ties with the other three.
    train = model.evaluate("train").per_predicate["p/2"]
    assert (train["mrr"], train["mrr_optimistic"]) == (pytest.approx(1 / 2.5), 1.0)
