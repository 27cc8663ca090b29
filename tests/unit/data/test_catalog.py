from __future__ import annotations

import hashlib
import io
import threading
import zipfile
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from data_cases import rows, write
from nlil.data.catalog import CatalogEntry, RemoteFile, download, find, list_catalog
from nlil.datasets import load_dataset
from nlil.errors import DataError, NlilError, UnknownName

NAMES = ["wn18", "fb15k-237", "family", "kinship", "kinship-conve", "umls", "umls-conve", "vrd", "hico-det", "gqa"]


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


@pytest.fixture
def site(tmp_path):
    """(folder that is served, its address)."""
    folder = tmp_path / "site"
    folder.mkdir()
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder))) as server:
        thread = threading.Thread(target=partial(server.serve_forever, poll_interval=0.02))
        thread.start()
        yield folder, f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def sha(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def entry(name, *files):
    return (CatalogEntry(name, "knowledge graph", "", "", "", files),)


def tar_gz(**members: str) -> bytes:
    import tarfile

    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w:gz") as tar:
        for name, text in members.items():
            info = tarfile.TarInfo(f"./Deep/../{name}.txt")  # only the bare name may count
            info.size = len(text)
            tar.addfile(info, io.BytesIO(text.encode()))
    return buffer.getvalue()


def test_the_catalogue_is_complete_and_well_formed():
    catalog = list_catalog()
    assert [e.name for e in catalog] == NAMES
    for e in catalog:
        assert all((e.description, e.licence, e.source, e.files))
        for file in e.files:
            assert file.url.startswith("https://")
            assert (file.sha256 and len(file.sha256) == 64) or all(file.members.values())


def test_nlil_data_comes_first_then_the_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("NLIL_DATA", str(tmp_path / "data"))
    monkeypatch.setenv("NLIL_CACHE", str(tmp_path / "cache"))
    assert find("umls") is None
    write(tmp_path / "cache" / "umls" / "train.txt", "a\tp\tcached\n")
    assert find("umls") == tmp_path / "cache" / "umls"
    write(tmp_path / "data" / "umls" / "train.tsv", "a\tp\tgiven\n")
    write(tmp_path / "data" / "mine" / "train.tsv", "a\tp\tmine\n")
    assert rows(load_dataset("umls").kb) == {("a", "p", "given")}
    assert rows(load_dataset("mine").kb) == {("a", "p", "mine")}
    assert load_dataset("umls").name == "umls"
    for name in ("", ".", "..", "../data/mine", "/"):
        assert find(name) is None
    with pytest.raises(DataError, match="nlil datasets get family"):
        load_dataset("family", may_download=False)


def test_plain_files_are_fetched_checked_and_read_facts_first(site, tmp_path):
    folder, address = site
    texts = {"facts.txt": "a\tp\tb\n", "train.txt": "c\tp\td\n", "valid.txt": "e\tp\ta\n", "test.txt": "b\tp\ta\n"}
    files = []
    for name, text in texts.items():
        write(folder / "tiny" / name, text)
        files.append(RemoteFile(f"https://example.org/deep/{name}", sha(text.encode())))
    cache = tmp_path / "cache"
    got = download("tiny", address, catalog=entry("tiny", *files), cache=cache)
    assert got == cache / "tiny"
    assert sorted(p.name for p in got.iterdir()) == sorted(texts)
    assert [p.name for p in cache.iterdir()] == ["tiny"]
    kb = load_dataset(got).kb
    assert list(kb.entities) == ["a", "b", "c", "d", "e"]
    (folder / "tiny" / "facts.txt").unlink()  # a second call takes what is there
    assert download("tiny", address, catalog=entry("tiny", *files), cache=cache) == got


def test_members_of_archives_by_bare_name(site, tmp_path):
    folder, address = site
    data = tar_gz(train="a\tp\tb\n", test="b\tp\ta\n", other="x")
    write(folder / "tar" / "set.tar", data)
    (folder / "tar" / "set.tar").rename(folder / "tar" / "set.tar.gz")
    file = RemoteFile("https://example.org/set.tar.gz", sha(data), {"train.txt": None, "test.txt": None})
    got = download("tar", address, catalog=entry("tar", file), cache=tmp_path / "cache")
    assert sorted(p.name for p in got.iterdir()) == ["test.txt", "train.txt"]

    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        zipped.writestr("in/train.txt", "a\tp\tb\n")
    write(folder / "zip" / "set.zip", buffer.getvalue())
    good = RemoteFile("https://example.org/set.zip", None, {"train.txt": sha(b"a\tp\tb\n")})
    assert (download("zip", address, catalog=entry("zip", good), cache=tmp_path / "cache") / "train.txt").is_file()
    for members, said in (
        ({"train.txt": "0" * 64}, "member train.txt: expected SHA-256 000"),
        ({"train.txt": None, "no.txt": None}, "missing no.txt"),
    ):
        bad = RemoteFile("https://example.org/set.zip", None, members)
        with pytest.raises(DataError, match=said):
            download("zip", address, catalog=entry("zip", bad), cache=tmp_path / "other")
        assert list((tmp_path / "other").iterdir()) == []


def test_a_wrong_checksum_leaves_nothing(site, tmp_path):
    folder, address = site
    write(folder / "bad" / "a.txt", "good\n")
    write(folder / "bad" / "b.txt", "tampered\n")
    files = (RemoteFile("https://x/a.txt", sha(b"good\n")), RemoteFile("https://x/b.txt", sha(b"original\n")))
    with pytest.raises(DataError) as caught:
        download("bad", address, catalog=entry("bad", *files), cache=tmp_path / "cache")
    assert f"expected SHA-256 {sha(b'original' + bytes([10]))}, got another file" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_a_missing_file_and_a_dead_server_are_one_sentence(site, tmp_path):
    _, address = site
    file = RemoteFile("https://x/none.txt", "0" * 64)
    with pytest.raises(DataError, match=r"gone could not be downloaded \(the server answered 404"):
        download("gone", address, catalog=entry("gone", file), cache=tmp_path / "cache")
    with pytest.raises(DataError) as caught:
        download("gone", "http://127.0.0.1:9", catalog=entry("gone", file), cache=tmp_path / "cache")
    assert "gone could not be downloaded (no connection to the server); check the connection" in str(caught.value)
    assert "NLIL_DATA" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert list((tmp_path / "cache").iterdir()) == []


def test_what_cannot_be_fetched_says_so(tmp_path):
    for name in ("vrd", "hico-det"):
        with pytest.raises(NlilError, match=f"{name}: downloading is not supported yet; .*NLIL_DATA"):
            download(name, cache=tmp_path)
    with pytest.raises(UnknownName, match="'wn18'"):
        download("wn-18", cache=tmp_path)
