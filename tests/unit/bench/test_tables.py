"""What the tables of knowledge graphs say, and the places in documents that are filled from result files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from nlil.cli.session import Session
from nlil.errors import DataError
from nlil_bench import scale
from nlil_bench.cells import NOT_MEASURED
from nlil_bench.kb import kb_table, steps_table, summary_table, valid_table
from nlil_bench.registry import BENCHES, Request, data_key, load_bench
from nlil_bench.results import save_entries
from nlil_bench.scale import scale_table
from nlil_bench.seeds import combined
from nlil_bench.stats import stats_table
from nlil_bench.tables import documents, filled, stale, update

PLACE = "before\n<!-- bench:kb -->\nold\n<!-- /bench:kb -->\nafter\n"


def entry(model: str = "nlil", mrr: float = 0.9461, seed: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "data": "wn18",
        "model": model,
        "split": "test",
        "quick": False,
        "num_rules": 1200,
        "partial": False,
        "seed": seed,
        "peak_memory_mb": 512.0,
        "metrics": {"mrr": mrr, "hits@1": 0.94, "hits@10": 0.952},
        "seconds": {"load": 1.0, "learn": 8.2, "evaluate": 3.1},
        "machine": {"device": "cpu", "cores": 2},
        **more,
    }


def over_seeds(model: str, *mrr: float, **more: Any) -> dict[str, Any]:
    return combined([entry(model, value, seed, **more) for seed, value in enumerate(mrr)])


def cells(table: str) -> list[list[str]]:
    return [line[2:-2].split(" | ") for line in table.splitlines()[2:] if line.startswith("|")]


def test_a_row_names_model_settings_seeds_and_device() -> None:
    lines = kb_table({"wn18 cpu weigh=off": entry()}).splitlines()
    assert lines[0] == (
        "| data | model | settings | MRR | Hits@1 | Hits@10 | seeds | time | peak memory | rules | device |"
    )
    assert lines[2] == "| wn18 | **nlil** | weigh=off | .946 | .940 | .952 | 1 | 11 s | 0.5 GB | 1,200 | 2 cores |"
    assert lines[3] == "| wn18 | NLIL, the paper, published |  | .950 |  | .946 |  | 12 min |  |  |  |"
    assert lines[4].startswith("| wn18 | Neural-LP, published | ties: optimistic; .74 under fair ties | .940 |")
    assert "realistic ties" in lines[-3]
    assert lines[-1].startswith("Measured by `nlil bench kb ")


def test_ours_then_every_baseline_then_the_paper() -> None:
    older = {name: value for name, value in entry().items() if name not in ("model", "split")}
    rows = cells(
        kb_table(
            {
                "wn18 cpu model=rotate": entry("rotate"),
                "wn18 cpu model=transe seeds=2 dim=5": over_seeds("transe", 0.2, 0.3),
                "wn18 cpu model=neural-lp": entry("neural-lp"),
                "wn18 cpu model=dilp": entry("dilp"),
                "wn18 cpu model=popularity": entry("popularity"),
                "wn18 cuda": older,
                "kin cpu": entry(data="kin"),
            }
        )
    )
    assert [row[1] for row in rows[:6]] == [
        "**nlil**",
        "popularity",
        "Neural-LP, our code",
        "dILP, our code",
        "TransE, PyKEEN",
        "RotatE, PyKEEN",
    ]
    assert rows[4][2:7] == ["dim=5", ".250 ± .071", ".940 ± .000", ".952 ± .000", "2"]
    assert rows[4][9] == ""  # no rules
    assert all(row[1].endswith(", published") for row in rows[6:-1])
    assert rows[-1][:3] == ["kin", "**nlil**", "default"]


def test_the_summary_has_the_default_beside_the_best_of_others() -> None:
    rows = cells(
        summary_table(
            {
                "wn18 cpu seeds=2": over_seeds("nlil", 0.8, 0.82),
                "wn18 cpu weigh=off": entry(mrr=0.99),
                "wn18 cuda": entry(mrr=0.98),
                "wn18 cpu model=transe dim=5": entry("transe", 0.3),
                "wn18 cuda model=rotate": entry("rotate", 0.4),
                "umls cuda": entry(data="umls"),
                "kin cpu": entry(data="kin"),
            }
        )
    )
    assert len(rows) == 1
    assert rows[0][:2] == ["wn18", ".810 / .952"]
    assert rows[0][-2:] == [".400 / .952 (RotatE, PyKEEN)", ".950 / .960 (ComplEx-N3)"]


def test_several_seeds_stand_for_one() -> None:
    one, three = entry(mrr=0.9), over_seeds("nlil", 0.8, 0.82, 0.84)
    for entries in ({"wn18 cpu": one, "wn18 cpu seeds=3": three}, {"wn18 cpu seeds=3": three, "wn18 cpu": one}):
        rows = [row for row in cells(kb_table(entries)) if row[1] == "**nlil**"]
        assert [(row[3], row[6]) for row in rows] == [(".820 ± .020", "3")]
    both = kb_table({"wn18 cpu weigh=off": one, "wn18 cpu seeds=3": three})
    assert both.count("**nlil**") == 2  # other settings are another row


def test_quick_figures_and_validation_facts_stay_out() -> None:
    others = {"wn18 cpu quick": entry(quick=True), "wn18 cpu split=valid": entry(split="valid")}
    assert kb_table(others) == NOT_MEASURED
    assert summary_table(others) == NOT_MEASURED
    assert steps_table(others) == NOT_MEASURED
    assert ".946 / .952" in valid_table(others)
    assert valid_table({"wn18 cpu": entry()}) == NOT_MEASURED
    for table in (stats_table, scale_table):
        assert table({"x quick": {**entry(), "quick": True}}) == NOT_MEASURED


def test_steps_stand_beside_the_best_published_figure() -> None:
    rows = cells(
        steps_table(
            {
                "wn18 cpu": entry(),
                "wn18 cpu weigh=off tried_length=0 conjunctions=0": entry(mrr=0.7),
                "umls cpu weigh=off tried_length=0 conjunctions=0": entry(mrr=0.6, data="umls"),
                "wn18 cpu model=popularity": entry("popularity", 0.1),
                "wn18 cpu top_rules=1 search=neural": entry(mrr=0.2),
            }
        )
    )
    assert [row[1] for row in rows] == ["`conjunctions=0 tried_length=0 weigh=off`", "default", ""]
    assert rows[0][2:] == ["", ".700 / .952", "", "", ".600 / .952"]
    assert rows[1][3] == ".946 / .952"
    assert rows[2][:4] == [
        "best published MRR",
        "",
        ".348 / .524 (PyClause, noisy-or top 5)",
        ".950 / .960 (ComplEx-N3)",
    ]
    assert rows[2][4:] == [".990 (RED-GNN)", ".820 (ComplEx-N3)", ".960 (RED-GNN)"]


def test_the_cpu_speaks_where_both_were_measured() -> None:
    both = {"wn18 cpu": entry(mrr=0.5), "wn18 cuda": entry(mrr=0.6)}
    assert ".500 / " in steps_table(both)
    assert ".500 / " in steps_table(dict(reversed(both.items())))


def test_validation_rows_have_the_steps_first_and_then_what_was_tried() -> None:
    rows = cells(
        valid_table(
            {
                "wn18 cpu split=valid max_paths=0": entry(split="valid"),
                "wn18 cpu split=valid weigh=off": entry(split="valid"),
                "wn18 cpu split=valid conjunctions=0 weigh=off": entry(split="valid"),
            }
        )
    )
    assert [row[1] for row in rows] == ["`conjunctions=0 weigh=off`", "`weigh=off`", "`max_paths=0`"]


def test_counts_of_a_set_stand_beside_the_paper() -> None:
    counts = {"num_facts": 17, "num_entities": 11, "num_predicates": 3}
    assert cells(stats_table({"even:10 any": {"data": "even:10", **counts}}))[0][:6] == [
        "even:10",
        "17",
        "11",
        "3",
        "ES-10",
        "17",
    ]


def test_quick_figures_have_keys_of_their_own() -> None:
    for quick in (False, True):
        job = Request(Session(seed=3), quick=quick, settings=("weigh=off",)).job("stats", "kin")
        assert data_key(job, job) == "kin seed=3 weigh=off" + " quick" * quick
        assert scale.key({"num_triples": 1000, "quick": quick}) == "1000" + " quick" * quick


# places in documents -------------------------------------------------------------------------------


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """README.md and docs/results.md with one place each, docs/other.md with none."""
    save_entries("kb", {"wn18 cpu memory=2GiB": entry(), "wn18 cpu": entry()}, tmp_path)
    (tmp_path / "docs").mkdir()
    (tmp_path / "README.md").write_text(PLACE)
    (tmp_path / "docs" / "results.md").write_text(PLACE.replace("bench:kb", "bench:kb-steps"))
    (tmp_path / "docs" / "other.md").write_text("nothing here\n")
    return tmp_path


def test_places_are_filled_and_nothing_else_changes(project: Path) -> None:
    found = documents(project)
    assert found == [project / "README.md", project / "docs" / "results.md"]
    assert [update(path, project) for path in found] == [["kb"], ["kb-steps"]]
    text = found[0].read_text()
    assert text.startswith("before\n<!-- bench:kb -->\n| data |")
    assert text.endswith("\n<!-- /bench:kb -->\nafter\n")
    assert "| memory=2GiB |" in text
    assert "old" not in text
    assert "best published" in found[1].read_text()
    assert [update(path, project) for path in found] == [[], []]


def test_a_figure_that_was_altered_is_stale(project: Path) -> None:
    readme = project / "README.md"
    update(readme, project)
    right = readme.read_text()
    readme.write_text(right.replace(".946 | .940", ".947 | .940", 1))
    assert stale(readme, project) == ["kb"]
    assert ".947" in readme.read_text()  # looking changes nothing
    readme.write_text(right)
    assert stale(readme, project) == []
    save_entries("kb", {"wn18 cpu": entry(mrr=0.5)}, project)
    assert stale(readme, project) == ["kb"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("<!-- bench:nothing -->\n<!-- /bench:nothing -->", "unknown place bench:nothing, expected one of kb, "),
        ("<!-- bench:kb -->\n.950\n", "<!-- bench:kb --> stands alone"),
        ("<!-- bench:kb -->\n<!-- /bench:es -->", "<!-- bench:kb --> stands alone"),
        (".950\n<!-- /bench:kb -->", "<!-- /bench:kb --> stands alone"),
    ],
)
def test_wrong_places_are_told_with_the_file(text: str, expected: str, tmp_path: Path) -> None:
    with pytest.raises(DataError, match=expected):
        filled(text, tmp_path)
    page = tmp_path / "page.md"
    page.write_text(text)
    with pytest.raises(DataError, match=rf"page\.md: {expected}"):
        stale(page, tmp_path)


def test_a_folder_without_a_readme_is_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"README\.md: expected the README of a project"):
        documents(tmp_path)


@pytest.mark.parametrize("name", BENCHES)
def test_every_bench_has_a_table_and_its_places_start_with_its_name(name: str) -> None:
    bench = load_bench(name)
    assert name in bench.tables
    assert {place.partition("-")[0] for place in bench.tables} == {name}
    assert all(table({}) == NOT_MEASURED for table in bench.tables.values())
    assert bool(bench.models) == ("model" in bench.options)
