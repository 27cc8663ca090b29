"""Visual Genome, VRD and HICO-DET as they are published, in small: what each reader decides, and what it refuses."""

from __future__ import annotations

import json

import numpy as np
import pytest

from data_cases import rows, write
from nlil.datasets import load_dataset
from nlil.errors import DataError
from nlil.scene.readers import iou

VRD = {
    "a.jpg": [
        {
            "predicate": 0,
            "subject": {"category": 0, "bbox": [10, 50, 20, 40]},
            "object": {"category": 1, "bbox": [1, 2, 3, 4]},
        },
        {
            "predicate": 0,
            "subject": {"category": 0, "bbox": [10, 50, 20, 40]},
            "object": {"category": 1, "bbox": [1, 2, 3, 4]},
        },
        {
            "predicate": 1,
            "subject": {"category": 1, "bbox": [1, 2, 3, 4]},
            "object": {"category": 1, "bbox": [1, 2, 3, 4]},
        },
        {
            "predicate": 1,
            "subject": {"category": 0, "bbox": [1, 2, 3, 4]},
            "object": {"category": 1, "bbox": [1, 2, 3, 4]},
        },
    ],
    "empty.jpg": [],
}
VG = [
    {
        "image_id": 7,
        "width": 800,
        "height": 600,
        "objects": [
            {"object_id": 1, "x": 1, "y": 2, "w": 3, "h": 4, "names": ["man", "person"]},
            {"object_id": 2, "x": 5, "y": 6, "w": 7, "h": 8, "names": ["street"]},
        ],
        "attributes": [
            {"object_id": 1, "names": ["man"], "attributes": ["Tall", "tall "]},
            {"object_id": 2, "names": ["street"], "attributes": None},
        ],
        "relationships": [
            {
                "predicate": "ON",
                "subject": {"object_id": 1, "names": ["man"]},
                "object": {"object_id": 2, "names": ["street"]},
            },
            {"predicate": "on", "subject_id": 1, "object_id": 2},
            {"predicate": "", "subject_id": 1, "object_id": 2},
        ],
    },
    {
        "relationships": [
            {
                "predicate": "on a",
                "subject": {"object_id": 3, "name": "cup"},
                "object": {"object_id": 4, "names": ["table"]},
            },
            {"predicate": "near", "subject": {"object_id": 3, "name": "cup"}, "object": {"object_id": 5, "names": []}},
        ]
    },
]
HOI_LIST = "001  bicycle  ride\n002  bicycle  hold\n003  bicycle  no_interaction\n004  person  hug\n"


def label(hoi, human, other):
    return {"hoi_id": hoi, "human_bbox": human, "object_bbox": other, "width": 64, "height": 48}


RIDER, SAME_RIDER, OTHER = [0, 0, 10, 20], [0, 0, 10, 19], [30, 0, 40, 20]
BICYCLE = [0, 10, 20, 30]
HICO = {
    "one.jpg": {
        "dataset": "hico-det",
        "labels": [
            label(1, RIDER, BICYCLE),
            label(2, SAME_RIDER, BICYCLE),  # drawn anew: one rider
            label(3, OTHER, BICYCLE),
            label(4, RIDER, OTHER),
            label(4, RIDER, SAME_RIDER),
        ],
    },
    "two.jpg": {"dataset": "hico-det", "labels": [label(1, RIDER, BICYCLE), label(1, SAME_RIDER, BICYCLE)]},
    "three.jpg": {"dataset": "hico-det", "labels": []},
}
PARALLEL = {
    "annotation": [
        {"boxes_h": [RIDER, OTHER], "boxes_o": [BICYCLE, BICYCLE], "hoi": [0, 1]},
        {"boxes_h": [], "boxes_o": [], "hoi": []},
    ],
    "filenames": ["four.jpg", "five.jpg"],
    "objects": ["bicycle"],
    "verbs": ["hold", "ride"],
    "correspondence": [[0, 0, 1], [1, 0, 0]],
    "size": [[64, 48], [10, 10]],
}


def vrd(folder, annotations=VRD, split="train"):
    write(folder / "objects.json", json.dumps(["person", "cup"]))
    write(folder / "predicates.json", json.dumps(["holds", "near"]))
    return write(folder / f"annotations_{split}.json.gz", json.dumps(annotations))


def hico(folder, annotations=HICO):
    write(folder / "hico_hoi_list.txt", HOI_LIST)
    return write(folder / "hico-det-training-set.json", json.dumps(annotations))


def test_vrd(tmp_path):
    vrd(tmp_path)
    write(tmp_path / "train_image_metadata.json", json.dumps({"a.jpg": {"width": 80, "height": 60}}))
    vrd(tmp_path, {"b.jpg": VRD["a.jpg"][:1]}, "test")
    dataset = load_dataset(tmp_path)
    kb = dataset.kb.without(sorted(dataset.kb.geometry))
    assert rows(kb) == {("1", "person"), ("2", "cup"), ("3", "person"), ("1", "holds", "2"), ("3", "near", "2")}
    assert kb.boxes[:3].tolist() == [[20, 10, 20, 40], [3, 1, 1, 1], [3, 1, 1, 1]]  # from ymin, ymax, xmin, xmax
    assert kb.graph_sizes[0].tolist() == [80, 60]
    assert np.isnan(kb.graph_sizes[1:]).all()
    assert list(kb.graph_names) == ["a.jpg", "empty.jpg", "b.jpg"]
    assert (kb.image_of(0), kb.image_of(3)) == ("a.jpg", "b.jpg")
    assert rows(kb, dataset.splits.test) == {("4", "person"), ("5", "cup")}
    assert dataset.notes[:2] == (
        "1 repeated relation(s) skipped",
        "1 relation(s) of an object to itself skipped",
    )


def test_visual_genome(tmp_path):
    write(tmp_path / "scene_graphs.json", json.dumps(VG))
    write(tmp_path / "relationships.json", json.dumps(VG))
    dataset = load_dataset(tmp_path)
    kb = dataset.kb.without(sorted(dataset.kb.geometry))
    assert rows(kb) == {
        ("1", "man"),
        ("1", "tall"),
        ("2", "street"),
        ("1", "on", "2"),
        ("3", "cup"),
        ("4", "table"),
        ("3", "on a", "4"),
    }
    assert [kb.image_of(i) for i in range(4)] == ["7", "7", "image_2", "image_2"]
    assert kb.boxes[0].tolist() == [1, 2, 3, 4]
    assert np.isnan(kb.boxes[2:]).all()
    assert set(dataset.notes) >= {
        "3 name(s) converted to lower case with single spaces",
        "1 repeated relation(s) skipped",
        "1 object(s) with several names, of which the first is the class",
        "1 relation(s) without a predicate skipped",
        "1 object(s) without a name skipped",
        "1 relation(s) of an object without a name skipped",
        "1 image(s) without image_id, named by their position in the file",
        "files not read: relationships.json",
    }
    assert load_dataset(tmp_path / "relationships.json").kb.num_entities == 4


def test_hico_boxes_drawn_anew_are_one_object(tmp_path):
    dataset = load_dataset(hico(tmp_path))
    kb = dataset.kb.without(sorted(dataset.kb.geometry))
    assert rows(kb) == {
        ("1", "person"),
        ("2", "bicycle"),
        ("3", "person"),
        ("1", "ride", "2"),
        ("1", "hold", "2"),
        ("1", "hug", "3"),
        ("4", "person"),
        ("5", "bicycle"),
        ("6", "person"),
        ("4", "ride", "5"),
        ("6", "ride", "5"),  # seen at once
    }
    assert dataset.notes[:2] == (
        "1 no_interaction pair(s) that give objects but no relation",
        "1 person-person pair(s) whose boxes are one person, skipped",
    )
    assert kb.boxes[1].tolist() == [0, 10, 20, 20]
    assert kb.graph_sizes[0].tolist() == [64, 48]


def test_hico_in_parallel_lists(tmp_path):
    hico(tmp_path)
    write(tmp_path / "instances_test2015.json.gz", json.dumps(PARALLEL))
    dataset = load_dataset(tmp_path)
    kb = dataset.kb
    assert rows(kb, dataset.splits.test) == {("7", "person"), ("8", "bicycle"), ("9", "person")}
    context = dataset.splits.context["test"]
    assert {("7", "ride", "8"), ("9", "hold", "8")} <= rows(kb, context)
    assert list(kb.graph_names) == ["one.jpg", "two.jpg", "three.jpg", "four.jpg", "five.jpg"]


def test_iou():
    assert iou((0, 0, 2, 2), (0, 0, 2, 2)) == 1
    assert iou((0, 0, 2, 2), (2, 0, 4, 2)) == iou((1, 1, 1, 1), (1, 1, 1, 1)) == 0
    assert iou((0, 0, 2, 2), (1, 1, 3, 3)) == pytest.approx(1 / 7)


def test_the_common_form_wins_and_originals_can_be_named(tmp_path):
    vrd(tmp_path)
    write(tmp_path / "train_sceneGraphs.json", '{"im": {"objects": {"x": {"name": "dog"}}}}')
    assert load_dataset(tmp_path).kb.num_entities == 1
    original = load_dataset(f"{tmp_path}:original")
    assert (original.kb.num_entities, original.name) == (3, f"{tmp_path.name}:original")
    assert load_dataset(tmp_path / "annotations_train.json.gz").kb.num_entities == 3
    (tmp_path / "annotations_train.json.gz").unlink()
    with pytest.raises(DataError, match=r"expected original annotations \(scene_graphs\.json.*got none"):
        load_dataset(f"{tmp_path}:original")


def test_the_working_folder_and_its_originals(tmp_path, monkeypatch):
    vrd(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert load_dataset(".").kb.num_entities == load_dataset(".:original").kb.num_entities == 3
    with pytest.raises(DataError, match="none:original: no such file"):
        load_dataset(tmp_path / "none:original")


def test_facts_win_over_originals_beside_them(tmp_path):
    write(tmp_path / "train.tsv", "a\tp\tb\n")
    write(tmp_path / "relationships.json", json.dumps(VG))
    assert rows(load_dataset(tmp_path).kb) == {("a", "p", "b")}


def one(relation):
    return {"a.jpg": [relation]}


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        (one({"predicate": 9}), "image 'a.jpg': expected a number from 0 to 1 under 'predicate', got 9"),
        (one({"predicate": 0, "subject": 1}), "expected {'category', 'bbox'} under 'subject', got 1"),
        (one({"predicate": 0, "subject": {"category": 0, "bbox": [1, 2]}}), "expected four numbers under 'bbox'"),
        ({"a.jpg": [], "b.jpg": 3}, "image 'b.jpg': expected a list under 'relations', got 3"),
        (one("near"), "expected {'predicate', 'subject', 'object'}, got 'near'"),
    ],
)
def test_bad_vrd(tmp_path, annotations, said):
    refuses(vrd(tmp_path, annotations), said)


def test_vrd_needs_its_names(tmp_path):
    path = vrd(tmp_path)
    (tmp_path / "predicates.json").unlink()
    refuses(path, "expected predicates.json next to it")
    write(tmp_path / "predicates.json", '{"0": "on"}')
    with pytest.raises(DataError, match=r"predicates\.json: expected a list of names"):
        load_dataset(path)


@pytest.mark.parametrize(
    ("image", "said"),
    [
        ("[1]", "image 1 of the list: expected"),
        ('[{"image_id": 1, "objects": {}}]', "image '1': expected a list under 'objects'"),
        ('[{"image_id": 1, "objects": [{"names": ["a"]}]}]', "expected an object with 'object_id'"),
        ('[{"image_id": 1, "objects": [{"object_id": 1, "names": "a"}]}]', "expected text under 'name' or a list"),
        ('[{"image_id": 1, "relationships": [{"predicate": 1}]}]', "expected a relation with text under 'predicate'"),
        (
            '[{"image_id": 1, "relationships": [{"predicate": "on", "subject_id": 4, "object_id": 5}]}]',
            "got subject_id 4",
        ),
        ('[{"image_id": 1}, {"image_id": 1}]', "expected each image once"),
        ('[{"image_id": 1}', "expected JSON"),
    ],
)
def test_bad_visual_genome(tmp_path, image, said):
    refuses(write(tmp_path / "scene_graphs.json", image), said)


@pytest.mark.parametrize(
    ("annotations", "said"),
    [
        ({"a": {"labels": [label(9, RIDER, OTHER)]}}, "image 'a': expected a label with a hoi_id of hico_hoi_list.txt"),
        ({"a": {"labels": [label(1, RIDER, [1, 2, 3, "x"])]}}, "expected a number under 'object_bbox', got 'x'"),
        (PARALLEL | {"filenames": ["four.jpg"]}, "expected as many annotations as filenames and sizes"),
        (PARALLEL | {"annotation": [{"boxes_h": [], "boxes_o": [RIDER], "hoi": []}]}, "expected as many boxes_h and"),
        (PARALLEL | {"annotation": [[], []]}, "image 'four.jpg': expected a list under 'boxes_h', got []"),
        (PARALLEL | {"size": [3, 4]}, "image 'four.jpg': expected [width, height] under 'size', got 3"),
        ({"a": {"labels": [label([1], RIDER, OTHER)]}}, "expected a label with a hoi_id"),
        ({"a": {"labels": 4}}, "image 'a': expected a list under 'labels', got 4"),
        (PARALLEL | {"correspondence": [[0, 5, 1]]}, "expected a number from 0 to 0 under 'correspondence', got 5"),
    ],
)
def test_bad_hico(tmp_path, annotations, said):
    refuses(hico(tmp_path, annotations), said)


def test_hico_needs_its_list(tmp_path):
    path = hico(tmp_path)
    write(tmp_path / "hico_hoi_list.txt", "1 bicycle\n")
    with pytest.raises(DataError, match=r"hico_hoi_list\.txt:1: expected number, object and verb"):
        load_dataset(path)
    (tmp_path / "hico_hoi_list.txt").unlink()
    refuses(path, "expected hico_hoi_list.txt next to it")


def refuses(path, said):
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)
