"""Large sources are kept as arrays: the same values with and without the cache, whatever happens to its files."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import fields, replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commandline import Nlil
from data_cases import rows, write
from nlil.data import dataset_file
from nlil.data.dataset import Dataset
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.datasets import cache, load_dataset
from nlil.errors import DataError, UnknownName

SCENE = {
    "width": 90,
    "height": 60,
    "objects": {
        "1": {"name": "man", "x": 1, "y": 2, "w": 3, "h": 4, "attributes": ["tall"], "relations": []},
        "2": {"name": "hat", "x": 2, "y": 1, "w": 2, "h": 1, "relations": [{"object": "1", "name": "on"}]},
    },
}
VRD = [
    {"predicate": 0, "subject": {"category": 0, "bbox": [1, 5, 2, 4]}, "object": {"category": 1, "bbox": [1, 2, 3, 4]}}
]
VG = [
    {
        "image_id": 7,
        "objects": [
            {"object_id": i, "x": 1, "y": 2, "w": 3, "h": 4, "names": [n]} for i, n in ((1, "man"), (2, "hat"))
        ],
        "relationships": [{"predicate": "on", "subject_id": 2, "object_id": 1}],
    }
]
HICO = {"a.jpg": {"labels": [{"hoi_id": 1, "human_bbox": [1, 2, 3, 4], "object_bbox": [5, 6, 7, 8]}]}}


@pytest.fixture(autouse=True)
def every_source_is_large(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cache, "LEAST_SECONDS", 0)
    monkeypatch.setattr(cache, "DOUBT_NS", -(10**18))  # times count although the files of a test were written just now
    monkeypatch.setenv("NLIL_CACHE", str(tmp_path / "cache"))


# every reader ---------------------------------------------------------------------------------------------


def delimited(folder: Path) -> Path:
    write(folder / "train.tsv", "ann\tfemale\nann\tmother\tböb\nann\tlikes\tcarl\t0.7\n")
    write(folder / "valid.csv", 'head,relation,tail\n"a ""b""",likes,ann\n')
    write(folder / "test.txt.gz", "carl\tmother\tann\n")
    write(folder / "train_negatives.tsv", "carl\tmother\tcarl\n")
    write(folder / "labels.tsv", "ann\tAnn A.\ncarl\t\n")
    write(folder / "relation_labels.tsv", "mother\tis the mother of\n")
    write(folder / "numbers.tsv", "entity\tage\nann\t41\nböb\t2\ncarl\t17\n")
    write(folder / "other.tsv", "not\tread\n")
    return folder


def parquet(folder: Path) -> Path:
    folder.mkdir()
    columns = {
        "head": ["a", "a", "b"],
        "relation": ["p", "u", "p"],
        "tail": ["b", None, "c"],
        "weight": [1.0, 0.5, 0.25],
    }
    pq.write_table(pa.table(columns), folder / "facts.parquet")
    return folder / "facts.parquet"


def prolog(folder: Path) -> Path:
    write(folder / "bk.pl", ":- discontiguous edge/2.\nedge(a,b).\nedge(b,c).\nred(a).\n")
    write(folder / "exs.pl", "pos(reach(a,c)).\nneg(reach(c,a)).\n")
    return folder


def turtle(folder: Path) -> Path:
    prefixes = "@prefix : <http://x.org/> .\n@prefix rdfs: <http://www.w3.org/2000/01/rdf-schema#> .\n"
    facts = ':ann a :Person ; :knows :bob ; :age 41 ; rdfs:label "Ann" .\n:knows rdfs:label "is acquainted with" .\n'
    return write(folder / "f.ttl", prefixes + facts)


def scenes(folder: Path) -> Path:
    write(folder / "train_sceneGraphs.json", json.dumps({"one": SCENE, "two": SCENE | {"width": 20}}))
    write(folder / "val_sceneGraphs.json.gz", json.dumps({"three": SCENE}))
    vrd(folder)
    return folder


def originals(folder: Path) -> Path:
    return scenes(folder).with_name(folder.name + ":original")


def vrd(folder: Path) -> Path:
    write(folder / "objects.json", '["person", "cup"]')
    write(folder / "predicates.json", '["holds"]')
    write(folder / "train_image_metadata.json", '{"a.jpg": {"width": 80, "height": 60}}')
    return write(folder / "annotations_train.json.gz", json.dumps({"a.jpg": VRD, "b.jpg": VRD}))


def hico(folder: Path) -> Path:
    write(folder / "hico_hoi_list.txt", "001  bicycle  ride\n")
    return write(folder / "hico-det-training-set.json", json.dumps(HICO)).parent


SOURCES: Mapping[str, Callable[[Path], Path]] = {
    "folder": delimited,
    "tsv": lambda folder: write(folder / "f.tsv", "a\tp\tb\nc\tp\td\n"),
    "csv": lambda folder: write(folder / "f.csv", "a,p,b\nc,p\n"),
    "one unary fact": lambda folder: write(folder / "f.txt.gz", "a\tp\n"),
    "parquet": parquet,
    "prolog": lambda folder: write(folder / "f.pl", "p(a,b). q('A b')."),
    "background and examples": prolog,
    "n-triples": lambda folder: write(folder / "f.nt", "<http://x/a> <http://x/p> <http://x/b> .\n"),
    "turtle": turtle,
    "scene graphs": scenes,
    "original annotations": originals,
    "vrd": vrd,
    "visual genome": lambda folder: write(folder / "scene_graphs.json", json.dumps(VG)),
    "hico": hico,
}


@pytest.mark.parametrize("make", SOURCES.values(), ids=SOURCES)
def test_every_reader_gives_the_same_with_and_without_the_cache(
    make: Callable[[Path], Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make(tmp_path / "data")
    first = load_dataset(source)  # read, kept, mapped
    with monkeypatch.context() as context:
        context.setattr("nlil.datasets.folder._plain_dataset", refuse)
        context.setattr("nlil.datasets.folder._scene_dataset", refuse)
        context.setattr("nlil.datasets.folder._read_ilp", refuse)
        second = load_dataset(source)
    monkeypatch.setattr(cache, "LEAST_SECONDS", 1.0)
    plain = load_dataset(source)
    check_same(first, plain)
    check_same(second, plain)
    assert len(cache.list_cached()) == 1


@pytest.mark.parametrize("name", ["kin", "street:8", "with geometry"])
def test_any_data_set_is_the_same_when_it_is_opened(name: str, tmp_path: Path) -> None:
    dataset = load_dataset(scenes(tmp_path / "data") if name == "with geometry" else name)
    assert bool(dataset.kb.geometry) == (name == "with geometry")
    dataset_file.write_dataset(tmp_path / "x", dataset, {"kept": ["with it"]})
    opened, about = dataset_file.open_dataset(tmp_path / "x", dataset.name)
    check_same(opened, replace(dataset, planted=()))
    assert about == {"kept": ["with it"]}


def refuse(*_: object) -> None:
    raise AssertionError("read again")


def check_same(one: Dataset, two: Dataset) -> None:
    for field in fields(Dataset):
        if field.name not in ("kb", "splits"):
            assert getattr(one, field.name) == getattr(two, field.name), field.name
    assert dataset_checksum(one) == one.checksum or one.is_scene  # geometry is made after the checksum
    for field in fields(KnowledgeBase):
        check_equal(getattr(one.kb, field.name), getattr(two.kb, field.name), field.name)
    for split in ("train", "valid", "test"):
        check_equal(one.splits[split], two.splits[split], split)
    for kind in ("negatives", "context"):
        ours, theirs = getattr(one.splits, kind), getattr(two.splits, kind)
        assert list(ours) == list(theirs)
        for split in ours:
            check_equal(ours[split], theirs[split], f"{kind} {split}")
    shared = [d.kb.facts.predicate is d.splits.train.predicate for d in (one, two)]
    assert shared[0] == shared[1]


def check_equal(one: object, two: object, name: str) -> None:
    assert (one is None) == (two is None), name
    if isinstance(one, Facts):
        assert isinstance(two, Facts)
        for column in ("predicate", "subject", "object", "weight", "context"):
            check_equal(getattr(one, column), getattr(two, column), f"{name} {column}")
    elif isinstance(one, np.ndarray):
        assert isinstance(two, np.ndarray)
        assert one.dtype == two.dtype, name
        assert np.array_equal(one, two, equal_nan=one.dtype.kind == "f"), name
        assert one.flags.writeable, name  # compiled loops know one type of array only
    elif isinstance(one, Vocabulary):
        assert isinstance(two, Vocabulary)
        assert (one.kind, list(one)) == (two.kind, list(two)), name
        assert all(one.id(text) == i for i, text in enumerate(two)), name
    else:
        assert one == two, name


def dataset_checksum(dataset: Dataset) -> str:
    from nlil.data.dataset import checksum

    return checksum(dataset.kb, dataset.splits)


# when a source is read again --------------------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return write(tmp_path / "data" / "train.tsv", "a\tp\tb\nb\tp\tc\n").parent


def reads(source: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether the source is read, not taken from the cache."""
    from nlil.datasets import folder

    called = []
    read = folder._plain_dataset
    with monkeypatch.context() as context:
        context.setattr(folder, "_plain_dataset", lambda *words: called.append(1) or read(*words))
        load_dataset(source)
    return bool(called)


def test_a_source_is_read_once(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert [reads(source, monkeypatch) for _ in range(3)] == [True, False, False]
    monkeypatch.setattr(cache, "_reading_code", lambda: "another version")
    assert [reads(source, monkeypatch) for _ in range(2)] == [True, False]


def test_a_small_source_is_not_kept(source: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(cache, "LEAST_SECONDS", 1.0)
    assert [reads(source, monkeypatch) for _ in range(2)] == [True, True]
    assert not (tmp_path / "cache").exists()


def test_a_changed_source_is_read_again(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_dataset(source)
    write(source / "train.tsv", "a\tp\tb\nb\tp\tc\nc\tp\td\n")  # another size
    assert rows(load_dataset(source).kb) == {("a", "p", "b"), ("b", "p", "c"), ("c", "p", "d")}
    write(source / "train.tsv", "a\tp\tb\nb\tp\tc\nc\tp\te\n")  # the same size
    assert ("c", "p", "e") in rows(load_dataset(source).kb)
    write(source / "test.tsv", "a\tp\tc\n")
    assert rows((dataset := load_dataset(source)).kb, dataset.splits.test) == {("a", "p", "c")}
    (source / "test.tsv").unlink()
    assert len(load_dataset(source).splits.test) == 0
    write(source / "labels.tsv", "a\tAnn\n")
    assert load_dataset(source).kb.label("a") == "Ann"
    assert not reads(source, monkeypatch)
    assert len(cache.list_cached()) == 1


def test_names_beside_an_original_belong_to_it(tmp_path: Path) -> None:
    source = vrd(tmp_path / "data")
    load_dataset(source)
    write(source.parent / "predicates.json", '["hold"]')
    assert any(row[1] == "hold" for row in rows(load_dataset(source).kb))


def test_a_change_that_leaves_size_and_time_of_modification_is_seen(source: Path) -> None:
    load_dataset(source)
    file = source / "train.tsv"
    before = file.stat()
    time.sleep(0.02)  # the clock of a file system has coarse steps
    write(file, "a\tp\tb\nb\tp\tz\n")
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert file.stat().st_mtime_ns == before.st_mtime_ns
    assert ("b", "p", "z") in rows(load_dataset(source).kb)


def test_a_source_that_was_only_touched_is_not_read_again(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_dataset(source)
    os.utime(source / "train.tsv", (1, 1))
    looked = []
    hashed = cache.SourceFile.hashed
    monkeypatch.setattr(cache.SourceFile, "hashed", lambda *words: looked.append(1) or hashed(*words))
    assert not reads(source, monkeypatch)
    assert looked  # its content decided
    looked.clear()
    assert not reads(source, monkeypatch)
    assert not looked  # the new time is known now


def test_times_are_not_trusted_where_a_file_was_just_written(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A change within one step of the file system's clock leaves size and times as they were."""
    monkeypatch.setattr(cache, "DOUBT_NS", 10**18)
    load_dataset(source)
    looked_at = cache.SourceFile.at(source / "train.tsv")
    monkeypatch.setattr(cache.SourceFile, "at", lambda path: looked_at)
    write(source / "train.tsv", "a\tp\tb\nb\tp\tz\n")
    assert ("b", "p", "z") in rows(load_dataset(source).kb)


# files that are damaged -------------------------------------------------------------------------------------


def put(path: Path, content: bytes) -> None:
    """Another file in the place of one that may be mapped: that would change with its file."""
    path.unlink()
    path.write_bytes(content)


def test_a_damaged_or_truncated_file_is_read_again_from_the_source(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_dataset(source)
    (arrays,) = (tmp_path / "cache" / "facts").glob("*.arrays")
    whole = arrays.read_bytes()
    for size in (0, 1, 16, 20, 28, 100, len(whole) // 2, len(whole) - 1):
        put(arrays, whole[:size])
        assert reads(source, monkeypatch), size
        assert arrays.read_bytes() == whole
    for place in range(0, len(whole), 3):
        changed = bytearray(whole)
        changed[place] ^= 1
        put(arrays, changed)
        again = load_dataset(source)
        check_same(again, plain)
    put(arrays, whole + b"x")
    assert reads(source, monkeypatch)


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b'{"files": 3}', b'{"files": [{"name": "train.tsv"}]}', b"\xff"])
def test_a_damaged_record_is_written_again(
    content: bytes, source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    load_dataset(source)
    (record,) = (tmp_path / "cache" / "facts").glob("*.json")
    record.write_bytes(content)
    assert cache.list_cached() == ()
    assert reads(source, monkeypatch)
    assert not reads(source, monkeypatch)


def test_numbers_that_lead_nowhere_are_refused(tmp_path: Path) -> None:
    """A file with the right checksums is not trusted either: loops go where its numbers point."""
    good = load_dataset(write(tmp_path / "f.tsv", "a\tp\tb\nb\tp\tc\n"))
    path = tmp_path / "x.arrays"

    def check(facts: Facts, said: str) -> None:
        object.__setattr__(good.kb, "facts", facts)  # no base is made of these
        dataset_file.write_dataset(path, good, {})
        with pytest.raises(DataError, match=said):
            dataset_file.open_dataset(path, "x")

    fine, id = good.kb.facts, np.int32
    dataset_file.write_dataset(path, good, {})
    dataset_file.open_dataset(path, "x")
    for column in ("predicate", "subject", "object"):
        for wrong in (3, -2):
            columns = {name: getattr(fine, name).copy() for name in ("predicate", "subject", "object")}
            columns[column][1] = wrong
            check(Facts(**columns), f"{column} of facts outside")
    check(Facts(fine.predicate, fine.subject[:1], fine.object), "subject of facts")
    check(Facts(fine.predicate, fine.subject.astype(np.int64), fine.object), "subject of facts")
    check(Facts(fine.predicate, fine.subject, fine.object, np.array([1, np.nan], np.float32)), "weights outside")
    check(Facts(fine.predicate, fine.subject, fine.object, np.array([1], np.float32)), "weights of facts")
    object.__setattr__(good.kb, "facts", fine)
    for order in (np.array([0, 1, 3], id), np.array([0, 1], id), np.array([0, -1, 2], id)):
        vars(good.kb.entities)["order"] = order
        check(fine, "order of entities")


# several processes ------------------------------------------------------------------------------------------


def test_another_process_may_come_in_the_middle(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from nlil.datasets import folder

    read, inner = folder._plain_dataset, []

    def interrupted(*words: object) -> Dataset:
        found = read(*words)
        if not inner:
            inner.append(1)
            write(source / "train.tsv", "a\tp\tb\nb\tp\tz\n")
            assert ("b", "p", "z") in rows(load_dataset(source).kb)  # another process reads a newer state
        return found

    monkeypatch.setattr(folder, "_plain_dataset", interrupted)
    assert ("b", "p", "c") in rows(load_dataset(source).kb)  # this one has read the older
    assert ("b", "p", "z") in rows(load_dataset(source).kb)
    assert sorted(file.suffix for file in (tmp_path / "cache" / "facts").iterdir()) == [".arrays", ".json"]


def test_records_and_arrays_of_two_states_do_not_mix(source: Path, tmp_path: Path) -> None:
    load_dataset(source)
    (arrays,) = (tmp_path / "cache" / "facts").glob("*.arrays")
    older = arrays.read_bytes()
    write(source / "train.tsv", "a\tp\tb\nb\tp\tz\n")
    load_dataset(source)
    put(arrays, older)
    assert ("b", "p", "z") in rows(load_dataset(source).kb)


def test_processes_at_once(tmp_path: Path) -> None:
    source = write(tmp_path / "f.tsv", "".join(f"e{i}\tp{i % 7}\te{i * 31 % 997}\n" for i in range(20_000)))
    code = (
        "import sys\n"
        "from pathlib import Path\n"
        "from nlil.datasets import cache, load_dataset\n"
        "cache.LEAST_SECONDS = 0\n"
        "for _ in range(5):\n"
        "    print(load_dataset(Path(sys.argv[1])).checksum)\n"
        "    cache.clear_cached()\n"
    )
    started = [
        subprocess.Popen([sys.executable, "-c", code, str(source)], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        for _ in range(3)
    ]
    said = [process.communicate() for process in started]
    assert [process.returncode for process in started] == [0, 0, 0], said
    assert {line for out, _ in said for line in out.split()} == {load_dataset(source).checksum.encode()}
    assert [file for file in (tmp_path / "cache" / "facts").iterdir() if file.name.startswith(".")] == []


# where nothing can be kept ------------------------------------------------------------------------------------


def test_a_cache_that_cannot_be_written_is_one_note(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    plain = load_dataset(source)
    (tmp_path / "taken").write_text("a file, no folder")
    monkeypatch.setenv("NLIL_CACHE", str(tmp_path / "taken"))
    dataset = load_dataset(source)
    assert rows(dataset.kb) == rows(plain.kb)
    (note,) = dataset.notes
    assert note.startswith(str(tmp_path / "taken"))
    assert "cannot be written" in note
    assert "NLIL_CACHE" in note
    assert (tmp_path / "taken").read_text() == "a file, no folder"


def test_a_full_disk_leaves_nothing_behind(source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("nlil.data.files.os.replace", full)
    assert "No space left on device" in load_dataset(source).notes[0]
    assert list((tmp_path / "cache" / "facts").iterdir()) == []


def test_a_cache_that_can_only_be_read_is_used(source: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    load_dataset(source)

    def denied(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(cache.os, "utime", denied)
    assert not reads(source, monkeypatch)


# nlil datasets cache --------------------------------------------------------------------------------------------


def test_listing_and_clearing(source: Path, tmp_path: Path, nlil_command: Nlil) -> None:
    other = write(tmp_path / "other.tsv", "a\tp\tb\n")
    assert "keeps no facts" in nlil_command("datasets", "cache").out
    assert nlil_command("inspect", source).code == 0
    assert nlil_command("inspect", other).code == 0
    shown = nlil_command("datasets", "cache").out
    assert "other.tsv" in shown
    assert str(source) in shown
    listed = {kept["name"]: kept for kept in nlil_command("datasets", "cache", "--json").json["sets"]}
    assert listed["data"]["facts"] == 2
    assert listed["data"]["source"] == str(source)
    assert {kept["state"] for kept in listed.values()} == {"current"}
    write(source / "train.tsv", "a\tp\tb\n")
    other.unlink()
    states = {kept.name: kept.state for kept in cache.list_cached()}
    assert states == {"data": "changed", "other.tsv": "gone"}
    assert (
        "unknown cached data set 'dat'; closest: 'data'"
        in nlil_command("datasets", "cache", "--clear", "dat").complaint
    )
    assert "removed 1 cached data set" in nlil_command("datasets", "cache", "--clear", source).out
    assert [kept.name for kept in cache.list_cached()] == ["other.tsv"]
    (tmp_path / "cache" / "facts" / ".left-over").write_text("of a process that was killed")
    assert "removed 1 cached data set" in nlil_command("datasets", "cache", "--clear").out
    assert list((tmp_path / "cache" / "facts").iterdir()) == []
    with pytest.raises(UnknownName):
        cache.clear_cached("data")


def test_what_nobody_can_use_is_removed(source: Path, tmp_path: Path) -> None:
    """What a killed process left, when it is old, and what is kept of sources that are gone."""
    folder = tmp_path / "cache" / "facts"
    other = write(tmp_path / "other.tsv", "a\tp\tb\n")
    load_dataset(other)
    other.unlink()
    old, new = write(folder / ".old", ""), write(folder / ".new", "")
    os.utime(old, (1, 1))
    load_dataset(source)
    assert not old.exists()
    assert new.exists()
    assert [kept.name for kept in cache.list_cached()] == ["data"]
