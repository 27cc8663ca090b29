"""Rules counted together on a base of more than one word: bits, keys, what is kept, what is left to the engine."""

from __future__ import annotations

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.errors import LimitError
from nlil.kernel import batch as batch_module
from nlil.kernel import pairs
from nlil.kernel.batch import BatchStatistics
from nlil.kernel.evaluator import Evaluator
from nlil.kernel.pairs import look_up, pack, row_counts, whole_rows
from nlil.kernel.statistics import rule_stats
from nlil.logic.parse import parse_rule

RULES = [
    "p(X, Y) :- q(X, Y).",
    "p(X, Y) :- \\+ q(X, Y), big(X).",
    "p(X, Y) :- q(X, Z1), p(Z1, Y) ; q(Y, X).",
    "p(X, Y) :- p(Y, X), \\+ big(Y), q(X, Z1).",
    "p(X, Y) :- p(X, Z1), p(Z2, Z1), p(Z2, Y).",
    "p(X, Y) :- \\+ (p(X, Z1), q(Z1, Y)).",
    "p(X, Y) :- q(X, Z1), q(Z1, Y).",
    "p(X, Y) :- q(X, Z1), q(Z1, Y), X \\= Y, X \\= Z1, Y \\= Z1.",
    "big(X) :- p(X, Z1), q(Z1, Z2).",
    "big(X) :- p(X, Z1), q(Z1, Z2), Z1 \\= X, Z2 \\= X, Z2 \\= Z1.",
    "p(X, Y) :- q(X, Z1), big(Z1), q(Y, Z2), Z1 \\= X, Z2 \\= Y.",
    "p(X, e7) :- q(X, e7) ; \\+ p(e7, X).",
    "p(e7, Y) :- q(Y, Z1), \\+ p(e7, Y).",
    "big(X) :- q(X, Z1), big(Z1) ; \\+ p(X, Z2).",
]


def base(size: int) -> KnowledgeBase:
    random = np.random.default_rng(size)
    facts = [(f"e{s}", name, f"e{o}") for name in "pq" for s, o in random.integers(0, size, (3 * size, 2))]
    return KnowledgeBase.from_facts([*facts, *((f"e{i}", "big") for i in range(0, size, 3))])


@pytest.mark.parametrize("size", [63, 64, 65, 130])
def test_bits_are_the_truth_values(size: int) -> None:
    truth = np.random.default_rng(size).random((7, size)) < 0.4
    words = pack(truth)
    row, column = (a.ravel() for a in np.indices(truth.shape))
    assert words.shape == (7, -(-size // 64))
    assert look_up(words, row, column).tolist() == truth.ravel().tolist()
    assert row_counts(words).tolist() == truth.sum(1).tolist()
    every = pack(np.ones((1, size), bool)) & whole_rows(truth[0])
    assert row_counts(every).tolist() == (size * truth[0]).tolist()


@pytest.mark.parametrize("most_pairs", [2**26, 0], ids=["bits", "keys"])
@pytest.mark.parametrize("size", [64, 70])
def test_counts_are_those_of_each_rule_alone(size: int, most_pairs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pairs, "MOST_PAIRS", most_pairs)
    evaluator = Evaluator(base(size))
    batch = BatchStatistics(evaluator)
    for rule in map(parse_rule, RULES):
        assert batch.stats(rule) == rule_stats(evaluator, rule), str(rule)


def test_a_statement_is_answered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    batch, walks = BatchStatistics(Evaluator(base(70))), []
    walk = pairs.walk_from_x
    monkeypatch.setattr(pairs, "walk_from_x", lambda *given: walks.append(given[2]) or walk(*given))
    for text in ("q(X, Z1), q(Z1, Y)", "\\+ (q(X, Z1), q(Z1, Y))", "q(X, Z1), q(Z1, Y), big(X)"):
        batch.stats(parse_rule(f"p(X, Y) :- {text}."))
    assert len(walks) == 1


def test_what_does_not_fit_is_left_to_the_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keys beyond the budget, and on a large base rules that no statement leads from X to Y in."""
    monkeypatch.setattr(pairs, "MOST_PAIRS", 0)
    evaluator, alone = Evaluator(base(70)), []
    monkeypatch.setattr(batch_module, "rule_stats", lambda *given: alone.append(given[1]) or rule_stats(*given))
    chain, loose = parse_rule(RULES[0]), parse_rule(RULES[5])
    batch = BatchStatistics(evaluator)
    assert [batch.stats(rule) for rule in (chain, loose)] == [rule_stats(evaluator, r) for r in (chain, loose)]
    assert alone == [loose]
    monkeypatch.setattr(pairs, "STATEMENTS", 2**40)
    batch = BatchStatistics(evaluator)
    assert batch.stats(chain) == batch.stats(chain) == rule_stats(evaluator, chain)
    assert alone == [loose, chain, chain]


def test_one_query_beyond_the_memory_is_an_error() -> None:
    with pytest.raises(LimitError, match="raise --memory"):
        BatchStatistics(Evaluator(base(70), memory=128)).stats(parse_rule(RULES[4]))
