"""The real sets, where NLIL_DATA names them: counts as their publishers and the literature give them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from nlil.data import load_dataset, summarise

pytestmark = pytest.mark.data

KNOWLEDGE_GRAPHS = {
    "fb15k-237": (272_115, 17_535, 20_466, 14_541, 237),
    "wn18": (141_442, 5_000, 5_000, 40_943, 18),
    "family": (23_483, 2_038, 2_835, 3_007, 12),
    "kinship": (8_487, 1_099, 1_100, 104, 25),
    "umls-conve": (5_216, 652, 661, 135, 46),
}


def real(name):
    root = os.environ.get("NLIL_DATA")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"NLIL_DATA names no folder that holds {name}: the real data were NOT tested")
    return load_dataset(name)


@pytest.mark.parametrize("name", KNOWLEDGE_GRAPHS)
def test_counts(name):
    found = summarise(real(name))
    counts = (*found.splits.values(), found.num_entities, found.num_predicates)
    assert counts == KNOWLEDGE_GRAPHS[name]
    assert found.num_binary_predicates == found.num_predicates == len(found.targets)


def test_labels():
    kb = real("fb15k-237").kb
    assert kb.label("/m/010016") == "Denton"
    assert len(kb.entity_labels) == 14_541
    assert len(kb.predicate_labels) == 237


def test_vrd():
    dataset = real("vrd")
    kb, splits = dataset.kb, dataset.splits
    assert (len(kb.unary), len(kb.binary)) == (26_430, 29_778)
    assert (len(splits.test), len(splits.context["test"])) == (6_735, 6_735 + 7_452)
    assert (kb.num_graphs, len(kb.classes), len(dataset.targets)) == (5_000, 100, 100)
    assert sum(p.arity == 2 for p in kb.predicates) == 70


def test_genuine_gqa():
    dataset = real("gqa-sample")
    assert len(dataset.kb.binary) == 933
    assert len(dataset.splits.test) == 1_580
    assert len(dataset.kb.classes) == 468
    assert dataset.notes[0].startswith("11 attribute fact(s) left out")
