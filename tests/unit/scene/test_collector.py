from __future__ import annotations

import json

import numpy as np
import pytest

from data_cases import rows, write
from nlil.data.dataset import DataOptions
from nlil.datasets import load_dataset, summarise
from nlil.errors import DataError

LABELS = DataOptions(geometry=False)

TRAIN = {
    "im1": {
        "objects": {
            "1": {"name": "man", "attributes": ["tall", "glass"], "relations": [{"name": "holding", "object": "2"}]},
            "2": {"name": "glass", "attributes": ["tall"], "relations": []},
        }
    },
    "im2": {"objects": {"3": {"name": "man"}}},
}
TEST = {
    "im3": {
        "objects": {
            "4": {"name": "dog", "attributes": ["small"], "relations": [{"name": "near", "object": "5"}]},
            "5": {"name": "man", "attributes": [], "relations": []},
        }
    }
}


def folder(tmp_path, **splits):
    for split, graphs in splits.items():
        write(tmp_path / f"{split}_sceneGraphs.json.gz", json.dumps(graphs))
    return tmp_path


def test_classes_attributes_relations_and_graphs(tmp_path):
    dataset = load_dataset(folder(tmp_path, train=TRAIN, val=TEST))
    kb, splits = dataset.kb, dataset.splits
    assert rows(kb) == {("1", "man"), ("1", "tall"), ("1", "holding", "2"), ("2", "glass"), ("2", "tall"), ("3", "man")}
    assert {kb.predicates[i].name for i in kb.classes} == {"man", "glass", "dog"}
    assert dict(zip(kb.entities, kb.graph_of.tolist(), strict=True)) == {"1": 0, "2": 0, "3": 1, "4": 2, "5": 2}
    assert rows(kb, splits.train) == rows(kb) == rows(kb, splits.context["train"])
    assert rows(kb, splits.test) == {("4", "dog"), ("5", "man")}
    assert rows(kb, splits.context["test"]) == {("4", "dog"), ("5", "man"), ("4", "small"), ("4", "near", "5")}
    assert [p.name for p in dataset.targets] == ["man", "glass"]  # most frequent first; dog has no training fact
    assert dataset.notes == ("1 attribute fact(s) are left out because a class has the same name: glass",)
    assert dataset.is_scene


def test_boxes_and_sizes(tmp_path):
    graphs = {
        "im1": {
            "width": 64,
            "height": None,
            "objects": {"1": {"name": "cat", "x": 1, "y": 2.5, "w": 3, "h": 4}, "2": {"name": "dog", "x": None}},
        },
        "im2": {"objects": {}},
    }
    dataset = load_dataset(folder(tmp_path, train=graphs), options=LABELS)
    kb = dataset.kb
    assert kb.boxes.tolist()[0] == [1, 2.5, 3, 4]
    assert np.isnan(kb.boxes[1]).all()
    assert np.array_equal(np.isnan(kb.graph_sizes), [[False, True], [True, True]])
    assert [kb.image_of(0), kb.image_of(1)] == ["im1", "im1"]
    assert kb.with_facts(kb.facts).boxes is kb.boxes
    graphs["im1"]["objects"]["1"]["h"] = 5
    assert load_dataset(folder(tmp_path, train=graphs), options=LABELS).checksum != dataset.checksum


def test_images_with_and_without_relations_are_counted(tmp_path):
    found = summarise(load_dataset(folder(tmp_path, train=TRAIN | {"im0": {"objects": {}}}, test=TEST))).scene
    assert (found.num_images, found.num_related_images, found.num_unrelated_images) == (4, 2, 2)
    assert found.related_images == {"train": 1, "test": 1}
    assert (found.num_objects, found.num_unlabelled_objects, found.num_attributes) == (5, 0, 3)


def test_without_boxes_there_are_none(tmp_path):
    kb = load_dataset(folder(tmp_path, train=TRAIN)).kb
    assert (kb.boxes, kb.graph_sizes) == (None, None)
    assert load_dataset("kin").kb.image_of(0) is None


def test_val_is_valid_beside_train_and_test(tmp_path):
    other = {"im4": {"objects": {"6": {"name": "dog"}}}}
    splits = load_dataset(folder(tmp_path, train=TRAIN, val=TEST, test=other)).splits
    assert (len(splits.valid), len(splits.test), sorted(splits.context)) == (2, 1, ["test", "train", "valid"])


def test_ids_that_repeat_are_named_by_image(tmp_path):
    graphs = {f"im{i}": {"objects": {"0": {"name": "cat"}, "1": {"name": "dog"}}} for i in range(2)}
    dataset = load_dataset(folder(tmp_path, train=graphs))
    assert list(dataset.kb.entities) == ["im0/0", "im0/1", "im1/0", "im1/1"]
    assert dataset.notes == ("object ids repeat in different images, so objects are named image/id",)


def test_at_most_150_targets(tmp_path):
    many = {"im": {"objects": {str(i): {"name": f"c{i % 200}"} for i in range(250)}}}
    targets = load_dataset(folder(tmp_path, train=many)).targets
    assert len(targets) == 150
    assert {f"c{i}" for i in range(50)} <= {p.name for p in targets}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (
            '{"im": {"objects": {"1": {"relations": []}}}}',
            "image 'im', object '1': expected text under 'name', got None",
        ),
        (
            '{"im": {"objects": {"1": {"name": "a", "relations": [{"name": "on", "object": "9"}]}}}}',
            "expected a relation to an object of the same image, got '9'",
        ),
        ('{"im": {"objects": {"1": {"name": "a", "attributes": "red"}}}}', "expected a list under 'attributes'"),
        ('{"im": [1]}', "image 'im': expected"),
        ('{"im": {"objects": {"1": {"name": "a", "x": "left"}}}}', "expected a number under 'x', got 'left'"),
        ('{"im": {"objects": {"1": {"name": "a", "x": 1e300}}}}', "expected a number under 'x', got 1e+300"),
        ('{"im": {"width": true, "objects": {}}}', "image 'im': expected a number under 'width', got True"),
        ('{"im": {"objects": {}', "expected JSON"),
        ("{}", "expected at least one object"),
        ('{"im": {"objects": {}}, "im": {"objects": {}}}', "expected each image once"),
    ],
)
def test_bad_scene_graphs(tmp_path, text, said):
    path = write(tmp_path / "train_sceneGraphs.json", text)
    with pytest.raises(DataError) as caught:
        load_dataset(path)
    assert str(caught.value).startswith(str(path))
    assert said in str(caught.value)


def test_a_folder_needs_train(tmp_path):
    with pytest.raises(DataError, match=r"expected train_sceneGraphs\.json, got val_sceneGraphs\.json\.gz"):
        load_dataset(folder(tmp_path, val=TEST))
