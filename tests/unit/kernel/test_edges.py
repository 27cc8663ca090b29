"""The index of a base: made once, and kept no longer than the base."""

from __future__ import annotations

import gc
import weakref

import pytest

from nlil.data.kb import KnowledgeBase
from nlil.kernel import edges
from nlil.kernel.edges import edge_index


def base() -> KnowledgeBase:
    return KnowledgeBase.from_facts([("a", "p", "b"), ("b", "q", "c", 0.4), ("c", "p", "a", 0.9)])


def test_one_base_has_one_index() -> None:
    kb = base()
    assert edge_index(kb) is edge_index(kb) is edge_index(kb.crisp)
    assert len(edge_index(kb).code) == 4  # the fact of weight .4 does not count
    assert edge_index(base()) is not edge_index(kb)


def test_an_index_goes_with_its_base() -> None:
    kb = base()
    edge_index(kb)
    assert kb.crisp in edges._kept
    gone = weakref.ref(kb.crisp)
    del kb
    gc.collect()
    assert gone() is None


def test_a_large_index_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(edges, "MOST_KEPT", 1)
    kb = base()
    assert edge_index(kb) is not edge_index(kb)
