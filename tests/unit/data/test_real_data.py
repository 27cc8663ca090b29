"""The real sets, where NLIL_DATA names them: counts as their publishers and the literature give them."""

from __future__ import annotations

import os
from collections import Counter
from pathlib import Path

import pytest

from nlil.data.dataset import DataOptions
from nlil.data.refining import read_merges
from nlil.datasets import load_dataset, summarise

pytestmark = pytest.mark.data

LABELS = DataOptions(geometry=False)

KNOWLEDGE_GRAPHS = {
    "fb15k-237": (272_115, 17_535, 20_466, 14_541, 237),
    "wn18": (141_442, 5_000, 5_000, 40_943, 18),
    "family": (23_483, 2_038, 2_835, 3_007, 12),
    "kinship": (8_487, 1_099, 1_100, 104, 25),
    "umls-conve": (5_216, 652, 661, 135, 46),
}


def real(name, ending="", options=LABELS):
    root = os.environ.get("NLIL_DATA")
    if not root or not (Path(root) / name).is_dir():
        pytest.skip(f"NLIL_DATA names no folder that holds {name}: the real data were NOT tested")
    return load_dataset(name + ending, options=options)


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
    assert dataset.notes[0].startswith("11 attribute fact(s) are left out")


SCENES = {
    "vrd": (5_000, {"train": 3_778, "test": 955}, {"train": 26_430, "test": 6_735}, {"train": 29_778, "test": 7_452}),
    "hico-det": (
        47_776,
        {"train": 33_447, "test": 8_488},
        {"train": 125_972, "test": 33_051},
        {"train": 102_138, "test": 29_022},
    ),
}


@pytest.mark.parametrize("name", SCENES)
def test_originals_are_the_common_form_to_the_bit(name):
    """Counts as the publishers of the common form give them; ids, boxes and sizes agree as well."""
    original, common = real(name, ":original"), real(name)
    assert original.checksum == common.checksum
    found = summarise(original).scene
    assert (found.num_images, found.related_images, found.objects, found.relations) == SCENES[name]


def test_genuine_visual_genome():
    dataset = real("vg-sample")
    assert dataset.kb.num_entities == 1_102
    assert "159 repeated relation(s) skipped" in dataset.notes
    assert len(dataset.kb.binary) == 960 - 159
    assert "files not read: relationships.json.gz" in dataset.notes
    other = load_dataset(Path(os.environ["NLIL_DATA"]) / "vg-sample" / "relationships.json.gz", options=LABELS)
    assert other.kb.num_graphs == 50
    assert other.kb.image_of(other.kb.num_entities - 1).startswith("image_")


def test_the_papers_preprocessing():
    """Merges and counts of the whole of GQA by the paper's authors: 1,500 occurrences leave 213 predicates."""
    real("gqa-sample")
    vocab = Path(os.environ["NLIL_DATA"]) / "gqa-sample" / "vocab"
    merges, counts = read_merges(vocab), Counter()
    for file, arity in (("obj_freq.txt", 1), ("rel_freq.txt", 2)):
        for line in (vocab / file).read_text(encoding="utf-8").splitlines()[1:]:
            name, _, count = line.rpartition(" ")
            counts[merges.get((name, arity), name), arity] += int(count)
    assert sum(count >= 1_500 for count in counts.values()) == 213


def test_merged_and_dropped_gqa():
    options = DataOptions(
        geometry=False,
        drop=("to the left of", "to the right of"),
        min_count=5,
        num_classes=10,
        merge=str(Path(os.environ.get("NLIL_DATA", ".")) / "gqa-sample" / "vocab"),
    )
    dataset = real("gqa-sample", options=options)
    names = {p.name for p in dataset.kb.predicates}
    assert {"near", "person"} <= names
    assert names.isdisjoint({"next to", "man", "to the left of"})
    assert len(dataset.targets) == 10
    assert dataset.kb.num_entities == 1_878
