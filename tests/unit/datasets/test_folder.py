from __future__ import annotations

import pytest

from data_cases import rows, write
from nlil.datasets import load, load_dataset
from nlil.errors import DataError
from nlil.logic.predicate import Predicate


def test_splits_negatives_and_labels_share_one_vocabulary(tmp_path):
    write(tmp_path / "train.tsv.gz", "a\tp\tb\n")
    write(tmp_path / "valid.txt", "b\tp\tc\n")
    write(tmp_path / "test.csv", "c,q,a\nd,u\n")
    write(tmp_path / "test_negatives.tsv", "a\tp\te\n")
    write(tmp_path / "labels.tsv.gz", "a\tAnn A.\n")
    write(tmp_path / "relation_labels.tsv", "p\tparent of\n")
    dataset = load_dataset(tmp_path)
    kb, splits = dataset.kb, dataset.splits
    assert list(kb.entities) == ["a", "b", "c", "d", "e"]
    assert rows(kb) == rows(kb, splits.train) == {("a", "p", "b")}
    assert rows(kb, splits.valid) == {("b", "p", "c")}
    assert rows(kb, splits.test) == {("c", "q", "a"), ("d", "u")}
    assert {split: rows(kb, facts) for split, facts in splits.negatives.items()} == {"test": {("a", "p", "e")}}
    assert (kb.label("a"), kb.label("b"), kb.predicate_labels["p"]) == ("Ann A.", "b", "parent of")
    assert dataset.targets == (Predicate("p", 2),)  # q and u have no training facts
    assert splits.context == {}


def test_load_is_the_public_pair(tmp_path):
    kb, splits = load(str(write(tmp_path / "one" / "anything.tsv", "a\tp\tb\n").parent))
    assert rows(kb) == {("a", "p", "b")}
    assert len(splits.valid) == len(splits.test) == 0


def test_facts_come_before_train(tmp_path):
    write(tmp_path / "train.txt", "x\tp\ty\n")
    write(tmp_path / "facts.txt", "a\tp\tb\n")
    write(tmp_path / "entities.txt", "a\nb\n")
    kb = load_dataset(tmp_path).kb
    assert list(kb.entities) == ["a", "b", "x", "y"]


def test_unread_files_are_noted(tmp_path):
    write(tmp_path / "train.tsv", "a\tp\tb\n")
    write(tmp_path / "extra.tsv", "c\tp\td\n")
    write(tmp_path / "README.txt", "words")
    assert load_dataset(tmp_path).notes == ("files not read: extra.tsv",)


def test_ambiguous_and_empty_folders(tmp_path):
    with pytest.raises(DataError, match=r"expected train\.tsv .* got none of these"):
        load_dataset(tmp_path)
    write(tmp_path / "one.tsv", "a\tp\tb\n")
    write(tmp_path / "two.tsv", "a\tp\tb\n")
    with pytest.raises(DataError, match=r"got one\.tsv, two\.tsv"):
        load_dataset(tmp_path)
    write(tmp_path / "train.tsv", "a\tp\tb\n")
    write(tmp_path / "train.tsv.gz", "a\tp\tb\n")
    with pytest.raises(DataError, match=r"expected one train file, got train\.tsv and train\.tsv\.gz"):
        load_dataset(tmp_path)


def test_bad_label_line(tmp_path):
    write(tmp_path / "train.tsv", "a\tp\tb\n")
    write(tmp_path / "labels.tsv", "a\tAnn\nb\n")
    with pytest.raises(DataError, match=r"labels\.tsv:2: expected name <TAB> label, got 'b'"):
        load_dataset(tmp_path)


def test_unknown_ending(tmp_path):
    with pytest.raises(DataError, match=r"expected a file ending in \.tsv"):
        load_dataset(write(tmp_path / "facts.xlsx", "x"))


def test_background_and_examples_and_nothing_else(tmp_path):
    write(tmp_path / "bk.pl", ":- discontiguous edge/2.\nedge(a,b).\nedge(b,c).\nred(a).\n")
    write(tmp_path / "exs.pl", "pos(reach(a,c)).\nneg(reach(c,a)).\npos(first(a)).\n")
    write(tmp_path / "bias.pl", "head_pred(reach,2).\n")
    write(tmp_path / "train.tsv", "not\tread\there\n")
    dataset = load_dataset(tmp_path)
    kb = dataset.kb
    assert rows(kb) == {("a", "edge", "b"), ("b", "edge", "c"), ("a", "red"), ("a", "reach", "c"), ("a", "first")}
    assert rows(kb, dataset.splits.negatives["train"]) == {("c", "reach", "a")}
    assert dataset.targets == (Predicate("first", 1), Predicate("reach", 2))
    assert dataset.notes == ("bias.pl is not read here; nlil program respects it", "bk.pl: 1 directive(s) skipped")


def test_background_alone(tmp_path):
    write(tmp_path / "bk.pl", "edge(a,b).")
    assert [str(p) for p in load_dataset(tmp_path).targets] == ["edge/2"]


def test_scene_graphs_win_over_other_files(tmp_path):
    write(tmp_path / "train.tsv", "a\tp\tb\n")
    write(tmp_path / "train_sceneGraphs.json", '{"1": {"objects": {"o": {"name": "cat"}}}}')
    assert rows(load_dataset(tmp_path).kb) == {("o", "cat")}


def test_the_checksum_is_of_the_content(tmp_path):
    one = load_dataset(write(tmp_path / "a.tsv", "a\tp\tb\nb\tp\tc\n"))
    same = load_dataset(write(tmp_path / "b.csv", "a,p,b\nb,p,c\na,p,b\n"))
    other = load_dataset(write(tmp_path / "c.tsv", "a\tp\tb\nb\tp\td\n"))
    split = write(tmp_path / "s" / "train.tsv", "a\tp\tb\n").parent
    write(split / "test.tsv", "b\tp\tc\n")
    assert one.checksum == same.checksum
    assert len({one.checksum, other.checksum, load_dataset(split).checksum}) == 3
