"""The scratch of threads is counted against the budget, and compiled loops end once it is time."""

from __future__ import annotations

import numpy as np
import pytest

from nlil.data.kb import KnowledgeBase
from nlil.datasets.load import load_dataset
from nlil.evaluation.ranking import Ranker
from nlil.kernel import pool
from nlil.kernel.graph import Graph
from nlil.progress import Stop
from nlil.search.count import count_rules
from nlil.search.options import CountingTask, CountOptions
from nlil.search.typed import TypedCounter
from nlil.search.unary import Numbering, list_bodies, unary_rules


def with_filters() -> KnowledgeBase:
    """Chains of two steps whose variables have types."""
    pairs = [(f"a{i}", "p", f"b{i}") for i in range(6)] + [(f"b{i}", "q", f"c{i}") for i in range(6)]
    pairs += [(f"a{i}", "r", f"c{i}") for i in range(3)]
    return KnowledgeBase.from_facts([*pairs, *((f"b{i}", "u") for i in range(3))])


def set_stop() -> Stop:
    stop = Stop()
    stop.set()
    while not stop.flag[0]:
        pass
    return stop


def test_every_pool_of_a_search_counts_its_scratch(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a thread takes grows with the graph in every stage; with little memory one thread finds the same rules."""
    kb = load_dataset("kin").kb
    targets, seen = np.flatnonzero([p.arity == 2 for p in kb.predicates]).astype(np.int32), dict[str, int]()
    fit = pool.threads_that_fit

    def noted(make: object, threads: int, memory: int) -> int:
        scratch = make()  # type: ignore[operator]
        seen[type(scratch).__name__] = pool.scratch_bytes(scratch)
        return fit(make, threads, memory)  # type: ignore[arg-type]

    monkeypatch.setattr(pool, "threads_that_fit", noted)
    enough, little = (count_rules(kb, targets, CountOptions(threads=4, memory=m)).rules for m in (2**30, 2**10))
    Ranker(enough, kb, 4, 2**30)
    counters = {
        "SupportCounter",
        "BodyCounter",
        "HeadCounter",
        "Proposer",
        "ChainCounter",
        "TypedCounter",
        "ScoreSpace",
    }
    assert seen.keys() == counters
    assert min(seen.values()) >= 8 * kb.num_entities
    assert [str(one.rule) for one in enough.top(50)] == [str(one.rule) for one in little.top(50)]


def test_typed_chains_end_at_once_when_it_is_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("nlil.search.typed.CHANCE", 2.0)  # of six facts, three that are right are not beyond three
    kb = with_filters()
    target, steps = kb.predicate_id(kb.predicate("r")), [2 * kb.predicate_id(kb.predicate(name)) for name in "pq"]
    counts = np.array([0, 3, 6, 6])

    def variants(stop: Stop | None) -> tuple[int, int]:
        options = CountOptions(min_support=1, stop=stop)
        counter = TypedCounter(CountingTask.of(kb, Graph.of(kb), np.array([target], np.int32), options))
        found, _ = counter.rows(np.array(steps, np.int32), counts)
        return len(found), int(counter.counts.sum())

    assert variants(None)[0] == 1
    assert variants(set_stop()) == (0, 0)


def test_bodies_of_entities_are_not_listed_after_a_stop() -> None:
    kb = with_filters()
    graph, entities = Graph.of(kb), np.arange(kb.num_entities, dtype=np.int32)
    bodies = Numbering.of(graph, kb.num_predicates, 2)
    assert sum(len(held) for *_, held in list_bodies(graph, entities, bodies, 2)) > 0
    assert list(list_bodies(graph, entities, bodies, 2, flag=set_stop().flag)) == []
    targets = np.array([kb.predicate_id(kb.predicate("u"))], np.int32)
    assert len(unary_rules(kb, graph, targets, CountOptions(min_support=1))[0]) > 0
    assert len(unary_rules(kb, graph, targets, CountOptions(min_support=1, stop=set_stop()))[0]) == 0
