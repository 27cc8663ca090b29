"""--columns from the command line to the run and back."""

from __future__ import annotations

from pathlib import Path

from commandline import Nlil

COUNT = ("--set", "search=count", "--set", "rules_per_target=0")
ORDER = "subject=1,predicate=3,object=2"


def table(path: Path, header: str = "") -> Path:
    rows = [f"p{i},c{i % 20},lives_in\np{i},k{i % 2},speaks\n" for i in range(60)]
    path.write_text(header + "".join(rows), encoding="utf-8")
    return path


def test_a_run_remembers_how_its_data_was_read(tmp_path: Path, nlil_command: Nlil) -> None:
    data, run = table(tmp_path / "kg.csv"), tmp_path / "run"
    doubtful = nlil_command("inspect", data)
    assert doubtful.code == 0
    assert doubtful.err.count("kg.csv: ") == 1
    assert f"--columns {ORDER}" in doubtful.err
    learned = nlil_command("learn", data, "--out", run, "--columns", ORDER, *COUNT)
    assert learned.code == 0, learned.err
    answers = nlil_command("predict", run, "speaks(p1, ?)", "--json").json["answers"]
    assert answers[0]["entity"] == "k1"
    other = table(tmp_path / "other.csv", "head,tail,relation\n")
    assert nlil_command("predict", run, "speaks(p1, ?)", "--data", other, "--json").json["answers"][0]["entity"] == "k1"
    plain = table(tmp_path / "plain.csv")
    assert "none of its" in nlil_command("predict", run, "speaks(p1, ?)", "--data", plain, "--quiet").complaint
    assert nlil_command("predict", run, "speaks(p1, ?)", "--data", plain, "--columns", ORDER).code == 0


def test_wrong_columns_are_one_sentence(tmp_path: Path, nlil_command: Nlil) -> None:
    data = table(tmp_path / "kg.csv")
    assert "columns: expected role=column" in nlil_command("inspect", data, "--columns", "subject").complaint
    assert "expected a column 'who'" in nlil_command("inspect", data, "--columns", "subject=who,object=2").complaint
    assert "encoding: expected" in nlil_command("inspect", data, "--encoding", "klingon").complaint
