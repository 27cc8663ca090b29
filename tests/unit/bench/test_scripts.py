"""The scripts of benchmarks/: counting code, comparing two revisions, soft beside crisp facts, deriving."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path, PurePosixPath
from types import ModuleType
from typing import Any

import pytest

from nlil.datasets import load_dataset

ROOT = Path(__file__).parents[3]


def script(name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, ROOT / "benchmarks" / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


FILE = '''"""Two lines
of docstring."""

import os  # not counted twice

LIMIT = 3
"""A text below a constant."""


class A:
    # a comment
    def f(self) -> str:
        """Why."""

        return """one
        text"""


async def g(
    a: int,
) -> None:
    os.nice(a)
'''


def test_code_is_counted_without_blanks_comments_and_docstrings() -> None:
    count = script("count_code").count_text(FILE)
    assert (count.files, count.lines) == (1, 10)
    assert sorted(count.functions) == [3, 4]
    assert count.row == ("1", "10", "2", "3.5", "3.5")


def test_the_house_is_nlil_without_benchmarks_and_baselines() -> None:
    module = script("count_code")
    texts = {PurePosixPath(p): "x = 1\n" for p in ("nlil/bench/kb.py", "nlil/data/kb.py", "nlil/errors.py")}
    rooms = module.count_rooms({**texts, PurePosixPath("nlil_bench/kb.py"): "x = 1\ny = 2\n"})
    assert {room: count.lines for room, count in rooms.items()} == {
        "nlil/bench": 1,
        "nlil/data": 1,
        "nlil/errors.py": 1,
        "nlil_bench/kb.py": 2,
    }
    assert [room for room in rooms if module.is_house(room)] == ["nlil/data", "nlil/errors.py"]


def test_a_revision_is_counted_like_the_working_tree() -> None:
    module = script("count_code")
    inside = subprocess.run(["git", "-C", str(ROOT), "rev-parse", "HEAD"], capture_output=True)
    if inside.returncode:
        pytest.skip("no git checkout: counting a revision is NOT tested")
    found = module.revision("HEAD")
    assert {PurePosixPath("nlil") / name for name in ("__init__.py", "errors.py")} <= set(found)
    assert module.total(module.count_rooms(found).values()).lines > 1000
    with pytest.raises(SystemExit, match="git archive nowhere"):
        module.revision("nowhere")


# compare ------------------------------------------------------------------------------------------------


def test_two_revisions_run_in_turn_and_the_first_time_does_not_count(tmp_path: Path) -> None:
    module = script("compare")
    ran: list[str] = []

    class Fake(module.Side):  # type: ignore[misc, name-defined]
        def run(self, words: tuple[str, ...], places: dict[str, str], limit: float | None) -> Any:
            ran.append(f"{self.name} {words[0]}")
            slow = 100.0 if ran.count(ran[-1]) == 1 else 2.0 if self.name == "new" else 1.0
            Path(places["out"]).write_text("b\na\n" if self.name == "new" else "a\nb\n")
            return module.Usage(
                slow, slow / 2, 300.0, json.dumps({"mrr": 0.51234, "num_rules": 50, "seconds": slow}), False
            )

    sides = [Fake(name, tmp_path, tmp_path / name) for name in ("base", "new")]
    steps = (module.Step("e", ("evaluate",), module.figures), module.Step("m", ("materialize",), module.facts))
    workload = module.Workload("both", steps, setup=(("learn",),), rules=("rules",))
    first, second = module.compare("both", workload, sides, 3, 10, None)
    assert (
        ran
        == ["base learn", "new learn", "base rules", *["base evaluate", "new evaluate"] * 4]
        + [
            "base materialize",
            "new materialize",
        ]
        * 4
    )
    assert (first.wall, first.cpu, first.ratio) == ((1.0, 2.0), (0.5, 1.0), 2.0)
    assert first.is_same
    assert first.cells == (
        "e",
        "1.00 s",
        "2.00 s",
        "2.00",
        "0.50 s",
        "1.00 s",
        "300 MB",
        "300 MB",
        "50",
        "25",
        "SLOWER, same answers",
    )
    assert second.is_same  # in any order
    assert (tmp_path / "base" / "both" / "rules.txt").is_file()
    assert (tmp_path / "base" / "both" / "part.txt").is_file()


def test_the_cost_of_one_more_rule_is_that_of_a_whole_file_less_a_part(capsys: pytest.CaptureFixture[str]) -> None:
    module = script("compare")
    whole = module.Row("evaluate --rules, kin", (9.0, 9.0), (8.0, 2.5), (1.0, 1.0), 4_000, True, (False, False))
    part = replace(whole, step=f"evaluate 1/{module.PART} of them", cpu=(2.0, 2.2), num_rules=1_000)
    module.print_slopes([whole, part])
    assert "2000.0 and 100.0 microseconds of CPU for one more rule, 20.0 times" in capsys.readouterr().out


def test_a_limit_ends_a_command_and_is_told(tmp_path: Path) -> None:
    module = script("compare")
    (tmp_path / "nlil").mkdir()
    (tmp_path / "nlil" / "__init__.py").touch()
    (tmp_path / "nlil" / "__main__.py").write_text("import sys, time; time.sleep(60 * ('sleep' in sys.argv))\n")
    side = module.Side("here", tmp_path, tmp_path)
    assert side.run(("sleep",), {}, 0.5).is_over
    usage = side.run(("wake", "{out}"), {"out": "x"}, 60.0)
    assert (usage.is_over, usage.output) == (False, "")
    assert usage.memory_mb > 1
    (tmp_path / "nlil" / "__main__.py").write_text("raise SystemExit('no such data')\n")
    with pytest.raises(SystemExit, match="here: nlil learn: exit code 1: no such data"):
        side.run(("learn",), {}, None)


def test_figures_are_compared_to_four_digits_without_times() -> None:
    module = script("compare")
    found = [json.dumps({"mrr": 0.12341 + i * 1e-6, "per": {"hits": 1.0}, "seconds": i}) for i in range(2)]
    assert module.figures(found[0], Path()) == module.figures(found[1], Path())
    assert module.figures(found[0], Path()) != module.figures(found[0].replace("0.1234", "0.1235"), Path())


def test_soft_facts_keep_facts_and_get_weights_near_nine_tenths() -> None:
    facts = load_dataset("even:10").kb.facts
    soft = script("soft_facts").softened(facts, 0)
    assert soft.weight is not None
    assert len(soft) == len(facts)
    assert 0.85 <= soft.weight.min() < soft.weight.max() <= 0.95


def test_derive_times_the_call_and_compares_the_facts(tmp_path: Path) -> None:
    rules = tmp_path / "rules.pl"
    rules.write_text("grandfather(X, Y) :- father(X, Z1), father(Z1, Y).\n", encoding="utf-8")
    command = [sys.executable, ROOT / "benchmarks" / "derive.py", "kin:20", "--rules", rules, "--min-confidence", "0"]
    done = subprocess.run([*command, "--older", ROOT, "--runs", "1"], capture_output=True, text=True, check=True)
    assert "1 rules" in done.stdout
    assert "same facts" in done.stdout
