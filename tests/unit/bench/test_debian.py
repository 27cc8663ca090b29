"""The Debian package graph: what the indexes of apt say, as facts."""

from __future__ import annotations

import gzip
import lzma
from pathlib import Path

import pytest

from nlil.datasets import load_dataset
from nlil.errors import DataError
from nlil_bench.debian import package_facts, read_facts, write_debian

INDEX = """Package: libfoo-dev
Source: foo (1.2-3)
Maintainer: The Foo Team <Foo@Lists.example.org>
Architecture: amd64
Depends: libfoo2 (= 1.2-3), libc6-dev | libc-dev,
 zlib1g-dev:any
Tag: devel::library, role::devel-lib
Homepage: https://Foo.example.org:8080/start
Section: libdevel
Description: files to build with Foo

Package: libfoo2
Architecture: amd64
Section: libs
"""


def test_facts_of_a_package(tmp_path: Path) -> None:
    (tmp_path / "x_Packages").write_text(INDEX)
    facts = set(read_facts(tmp_path))
    of_first = {(p, o) for s, p, o in facts if s == "libfoo-dev"}
    assert {o for p, o in of_first if p == "depends"} == {"libfoo2", "libc6-dev", "libc-dev", "zlib1g-dev"}
    assert {o for p, o in of_first if p == "tag"} == {"tag:devel::library", "tag:role::devel-lib"}
    assert {o for p, o in of_first if p == "name_part"} == {"part:libfoo", "part:dev"}
    assert {o for p, o in of_first if p == "word"} == {"word:files", "word:build", "word:with"}
    assert ("source", "source:foo") in of_first
    assert ("maintainer", "maintainer:foo@lists.example.org") in of_first
    assert ("homepage", "homepage:foo.example.org") in of_first
    assert ("libfoo2", "source", "source:libfoo2") in facts  # where none is named, it has the name of the package


def test_a_compressed_index_says_the_same(tmp_path: Path) -> None:
    import pyarrow as pa

    found = []
    for ending, write in ((".gz", gzip.open), (".xz", lzma.open), (".lz4", None)):
        lists = tmp_path / ending
        lists.mkdir()
        if write is None:
            with pa.CompressedOutputStream(str(lists / f"x_Packages{ending}"), "lz4") as stream:
                stream.write(INDEX.encode())
        else:
            with write(lists / f"x_Packages{ending}", "wb") as stream:
                stream.write(INDEX.encode())
        found.append(list(read_facts(lists)))
    assert found[0] == found[1] == found[2] != []


def test_the_graph_is_a_data_set(tmp_path: Path) -> None:
    index = "\n\n".join(f"Package: p{i}\nArchitecture: all\nDepends: p{i // 2}" for i in range(40))
    (tmp_path / "x_Packages").write_text(index)
    sizes = write_debian(tmp_path / "graph", tmp_path)
    assert sizes == {"test": 8, "valid": 8, "train": 144}
    dataset = load_dataset(tmp_path / "graph")
    assert len(dataset.kb.facts) == 144
    assert write_debian(tmp_path / "again", tmp_path) == sizes
    for split in sizes:
        assert (tmp_path / "again" / f"{split}.tsv").read_bytes() == (tmp_path / "graph" / f"{split}.tsv").read_bytes()


def test_a_folder_without_indexes_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="apt-get update"):
        list(read_facts(tmp_path))
    assert list(package_facts({"Package": "a"})) == [("a", "source", "source:a"), ("a", "name_part", "part:a")]
