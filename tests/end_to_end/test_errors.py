"""Whatever a user gets wrong: exit code 2, one sentence that helps, nothing half-written."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path

import pytest

from commandline import Nlil
from nlil.learning import run as run_module
from nlil_bench.registry import BENCHES


@pytest.mark.parametrize(
    ("data", "expected"),
    [
        ("nowhere.tsv", "unknown data set 'nowhere.tsv'"),
        ("kni", "closest: 'kin'"),
        ("even:x", "expected a whole number"),
    ],
)
def test_unknown_data(data: str, expected: str, nlil_command: Nlil, tmp_path: Path) -> None:
    assert expected in nlil_command("inspect", data).complaint
    assert expected in nlil_command("learn", data, "--out", tmp_path / "run").complaint
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("empty.tsv", "", "empty.tsv"),
        ("bad.tsv", "a\tp\tb\nc\n", "bad.tsv:2: "),
        ("bad.pl", "p(a, b).\nq(\n", "bad.pl:2"),
        ("facts.xyz", "a p b", "facts.xyz"),
    ],
)
def test_unreadable_files(name: str, text: str, expected: str, nlil_command: Nlil, tmp_path: Path) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert expected in nlil_command("learn", path, "--out", tmp_path / "run").complaint
    assert [p.name for p in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (("--target", "unlce"), "unknown predicate 'unlce'; closest: 'uncle'"),
        (("--set", "max_lenght=2"), "did you mean 'max_length'?"),
        (("--set", "max_length"), "expected key=value"),
        (("--set", "max_length=many"), "max_length"),
        (("--device", "tpu"), "auto, cpu or cuda"),
        (("--memory", "lots"), "expected a size such as 2GiB"),
        (("--memory", "1KiB"), "at least 64MiB"),
        (("--time-limit", "soon"), "expected seconds such as 60s"),
        (("--config", "nowhere.toml"), "nowhere.toml"),
        (("--resume", "--force"), "exclude each other"),
    ],
)
def test_wrong_options(options: tuple[str, ...], expected: str, nlil_command: Nlil, tmp_path: Path) -> None:
    assert expected in nlil_command("learn", "kin", "--out", tmp_path / "run", *options).complaint
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("uncle(jack1", "column"),
        ("unlce(jack1, ?)", "closest: 'uncle'"),
        ("uncle(nobody, ?)", "unknown entity 'nobody'"),
        ("uncle(jack1)", "uncle"),
    ],
)
def test_malformed_queries(query: str, expected: str, nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    assert expected in nlil_command("predict", kin_run, query).complaint
    queries = tmp_path / "queries.txt"
    queries.write_text(query + "\n")
    out = tmp_path / "answers.tsv"
    assert f"{queries}:1: " in nlil_command("predict", kin_run, "--queries", queries, "--out", out).complaint
    assert not out.exists()
    assert nlil_command("explain", kin_run, query.replace("?", "emil1")).complaint


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("predict", "RUN"), "predict needs a query"),
        (("predict", "RUN", "--queries", "q.txt"), "predict needs a query"),
        (("evaluate",), "evaluate needs a run folder"),
        (("evaluate", "--rules", "r.pl"), "name them with --data"),
        (("evaluate", "--rules", "r.pl", "--data", "kin"), "r.pl: no such file"),
        (("evaluate", "RUN", "--split", "tset"), "unknown split 'tset'; closest: 'test'"),
        (("rules", "RUN", "--format", "spraql"), "choose one of text, prolog, datalog, sparql, sql"),
        (
            ("rules", "RUN", "--format", "latex", "--facts", "f.txt"),
            "latex programs do not run on facts; choose --format prolog",
        ),
        (("rules", "RUN", "--target", "unlce"), "closest: 'uncle'"),
        (("materialize", "RUN", "--out", "facts.doc"), "expected a name ending in"),
        (
            ("bench", "serve"),
            f"choose one of {', '.join(BENCHES)}, tables",
        ),
        (("bench", "recovery", "--data", "chian"), "closest: 'chain'"),
        (("bench", "es", "--data", "even:7"), "expected some of even:10, even:50"),
        (("bench", "kb", "--model", "magic"), "choose one of count"),
        (("bench", "kb", "--data", "kni"), "unknown data set 'kni'"),
        (("datasets", "get"), "needs the name of a set"),
        (("datasets", "get", "fb15k"), "closest: 'fb15k-237'"),
        (("datasets", "fetch", "kin"), "expected list, get NAME or cache [--clear [NAME]]"),
        (("datasets", "get", "kin", "--clear"), "got 'get kin --clear'"),
        (("datasets", "cache", "kin"), "got 'cache kin'"),
    ],
)
def test_wrong_commands(
    arguments: tuple[str, ...],
    expected: str,
    nlil_command: Nlil,
    kin_run: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    filled = [str(kin_run) if a == "RUN" else a for a in arguments]
    assert expected in nlil_command(*filled).complaint
    assert not any(tmp_path.iterdir())


@pytest.mark.parametrize(
    "command",
    [
        ("rules",),
        ("evaluate",),
        ("check",),
        ("predict", "uncle(jack1, ?)"),
        ("explain", "uncle(jack1, emil1)"),
        ("materialize", "--out", "x.tsv"),
    ],
)
def test_no_run_folder(command: tuple[str, ...], nlil_command: Nlil, tmp_path: Path) -> None:
    name, *rest = command
    assert "no such run folder" in nlil_command(name, tmp_path / "run", *rest).complaint
    assert "not a run folder of nlil" in nlil_command(name, tmp_path, *rest).complaint


@pytest.mark.parametrize("name", ["run.json", "rules.parquet", "entities.parquet", "config.json", "checksums.json"])
def test_damaged_run_folder(name: str, nlil_command: Nlil, kin_run: Path, tmp_path: Path) -> None:
    broken = tmp_path / "run"
    shutil.copytree(kin_run, broken)
    content = (broken / name).read_bytes()
    (broken / name).write_bytes(content[: len(content) // 2])
    assert name in nlil_command("rules", broken).complaint
    (broken / name).unlink()
    assert "missing" in nlil_command("rules", broken).complaint


def test_a_run_is_not_overwritten(nlil_command: Nlil, tmp_path: Path) -> None:
    run = tmp_path / "run"
    arguments = ("learn", "even:10", "--out", run, "--set", "min_support=1")
    assert nlil_command(*arguments).code == 0
    before = (run / "run.json").read_bytes()
    assert "--resume" in nlil_command(*arguments).complaint
    assert (run / "run.json").read_bytes() == before
    assert "nothing is left to do" in nlil_command(*arguments, "--resume").err
    assert "other settings" in nlil_command(*arguments, "--set", "max_length=1", "--resume").complaint
    assert "was learned from even:10" in nlil_command("learn", "kin", "--out", run, "--resume").complaint
    assert nlil_command(*arguments, "--force").code == 0
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


def test_a_folder_of_the_user_is_never_replaced(nlil_command: Nlil, tmp_path: Path) -> None:
    (tmp_path / "thesis.txt").write_text("precious")
    assert "left alone" in nlil_command("learn", "even:10", "--out", tmp_path, "--force").complaint
    assert (tmp_path / "thesis.txt").read_text() == "precious"
    assert "a file of this name" in nlil_command("learn", "even:10", "--out", tmp_path / "thesis.txt").complaint


def test_no_space_left_leaves_nothing(nlil_command: Nlil, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "rules.parquet")

    monkeypatch.setattr(run_module, "_save_entities", full)
    assert "no space left" in nlil_command("learn", "even:10", "--out", tmp_path / "run").complaint
    assert not any(tmp_path.iterdir())


def test_a_folder_that_cannot_be_written_is_told_first(nlil_command: Nlil, tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("")
    assert str(blocker) in nlil_command("learn", "even:10", "--out", blocker / "run").complaint


def test_a_split_without_facts(nlil_command: Nlil, even_run: Path) -> None:
    assert "has no test facts" in nlil_command("evaluate", even_run).complaint


def test_data_that_changed_is_noticed(nlil_command: Nlil, tmp_path: Path) -> None:
    facts = tmp_path / "facts.tsv"
    facts.write_text("a\tp\tb\na\tq\tb\nc\tp\td\nc\tq\td\n")
    assert nlil_command("learn", facts, "--out", tmp_path / "run").code == 0
    facts.write_text(facts.read_text() + "e\tp\tf\n")
    outcome = nlil_command("evaluate", tmp_path / "run", "--split", "train", "--json")
    assert outcome.json["num_queries"] > 0
    assert "has changed since" in outcome.err
