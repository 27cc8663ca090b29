"""The graph of a base: made once, and kept no longer than the base."""

from __future__ import annotations

import gc
import weakref

import pytest

from nlil.data.kb import KnowledgeBase
from nlil.kernel import graph as graph_module
from nlil.kernel.graph import Graph


def base() -> KnowledgeBase:
    return KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c", 0.4), ("c", "p", "a", 0.9)])


def test_one_base_has_one_graph() -> None:
    kb = base()
    assert Graph.of(kb.crisp) is Graph.of(kb.crisp)
    assert len(Graph.of(kb.crisp).code) == 4  # the fact of weight .4 does not count
    assert Graph.of(base().crisp) is not Graph.of(kb.crisp)


def test_a_graph_goes_with_its_base() -> None:
    kb = base()
    Graph.of(kb.crisp)
    assert kb.crisp in graph_module._kept
    gone = weakref.ref(kb.crisp)
    del kb
    gc.collect()
    assert gone() is None


def test_a_large_graph_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph_module, "MOST_KEPT", 1)
    kb = base()
    assert Graph.of(kb.crisp) is not Graph.of(kb.crisp)
