"""Unfinished work: to the bit what was saved, whole after a kill, never continued by other work."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nlil.config import LearnerConfig
from nlil.errors import RunError
from nlil.learning.checkpoint import Checkpoint, fingerprint, is_unfinished
from nlil.logic.predicate import Predicate

UNCLE, AUNT = Predicate("uncle", 2), Predicate("aunt", 2)


def checkpoint(
    folder: Path, checksum: str = "abc", targets: tuple[Predicate, ...] = (UNCLE,), **settings: Any
) -> Checkpoint:
    return Checkpoint(folder / "checkpoint", fingerprint(LearnerConfig(**settings), checksum, targets))


def bits(arrays: dict[str, np.ndarray]) -> dict[str, tuple[str, tuple[int, ...], bytes]]:
    return {name: (str(array.dtype), array.shape, array.tobytes()) for name, array in arrays.items()}


ARRAYS = {
    "single": np.array([[0.1, -0.0, np.nan], [np.inf, 1e-45, 3]], np.float32),
    "double|uncle/2": np.array([1 / 3, 5e-324]),
    "long": np.arange(-3, 3),
    "turned": np.arange(6.0).reshape(2, 3).T,
    "truth": np.array([True, False]),
    "scalar": np.array(2.5),
    "empty": np.zeros((0, 4), np.float32),
    "no longs": np.zeros(0, np.int64),
}


def test_what_is_saved_is_loaded_to_the_bit(tmp_path: Path) -> None:
    values = {"epoch": 12, "loss": 0.1 + 0.2, "names": ["a", "ß"], "nothing": None, "deep": {"x": [1.5]}}
    checkpoint(tmp_path).save("train uncle/2", ARRAYS, values)
    loaded = checkpoint(tmp_path).load("train uncle/2")
    assert loaded is not None
    assert bits(loaded[0]) == bits(ARRAYS)
    assert loaded[1] == values
    assert loaded[0]["long"].flags.writeable


def test_keys_do_not_touch_each_other(tmp_path: Path) -> None:
    work = checkpoint(tmp_path)
    keys = ["a/b", "a-b", "a b", "", "/film/" * 60, "ß", "train"]
    for number, key in enumerate(keys):
        work.save(key, {"x": np.array([number])}, {"number": number})
    work.save("train", {"y": np.array([7])}, {})
    for number, key in enumerate(keys[:-1]):
        loaded = work.load(key)
        assert loaded is not None
        assert (loaded[0]["x"].tolist(), loaded[1]) == ([number], {"number": number})
    again = work.load("train")
    assert again is not None
    assert list(again[0]) == ["y"]
    assert work.load("other") is None


def test_it_is_there_early_and_gone_at_the_end(tmp_path: Path) -> None:
    work = checkpoint(tmp_path / "run")
    assert work.load("key") is None
    assert not is_unfinished(tmp_path / "run")
    work.begin()
    assert is_unfinished(tmp_path / "run")
    assert work.is_empty
    work.save("key", {}, {"done": 1})
    assert work.load("key") == ({}, {"done": 1})
    assert not work.is_empty
    work.clear()
    assert not work.folder.exists()
    work.clear()


@pytest.mark.parametrize(
    ("other", "named"),
    [
        ({"seed": 1}, r"other settings \(seed: 0, now 1\); use --force to start over"),
        (
            {"seed": 1, "body": ("p",), "samples": 3, "typed": False, "min_support": 9},
            r"min_support: 2, now 9, .* and 2 more\)",
        ),
        ({"body": ("p",)}, r"\(body: also p\)"),
        ({"checksum": "xyz"}, r"other data \(checksum: abc, now xyz\)"),
        ({"targets": (AUNT,)}, r"other targets \(targets: no longer uncle/2 but also aunt/2\)"),
        ({"targets": (UNCLE, AUNT)}, r"\(targets: also aunt/2\)"),
    ],
)
def test_other_work_does_not_continue_it(other: dict[str, Any], named: str, tmp_path: Path) -> None:
    checkpoint(tmp_path).save("key", {}, {})
    strange = checkpoint(tmp_path, **other)
    for use in (lambda: strange.load("key"), strange.begin, lambda: strange.save("key", {}, {})):
        with pytest.raises(RunError, match=named):
            use()
    assert checkpoint(tmp_path).load("key") is not None


def test_other_versions_do_not_continue_it(tmp_path: Path) -> None:
    work = checkpoint(tmp_path)
    older = {**work.fingerprint, "versions": {**work.fingerprint["versions"], "torch": "1.0"}}
    Checkpoint(work.folder, older).begin()
    with pytest.raises(RunError, match=r"other versions \(torch: 1\.0, now "):
        work.load("key")


def test_budgets_of_the_machine_may_change(tmp_path: Path) -> None:
    checkpoint(tmp_path).save("key", {}, {})
    assert checkpoint(tmp_path, device="cpu", threads=1, memory=2**30, time_limit=9.0).load("key") is not None


def test_damage_is_told(tmp_path: Path) -> None:
    work = checkpoint(tmp_path)
    work.save("key", ARRAYS, {"epoch": 1})
    for file in sorted(work.folder.iterdir()):
        content = file.read_bytes()
        flipped = bytearray(content)
        flipped[-9] ^= 1  # in the numbers of the last array: safetensors alone would not notice
        for damaged in (content[: len(content) // 2], b"", bytes(flipped) if file.suffix != ".json" else b"[1]"):
            file.write_bytes(damaged)
            with pytest.raises(RunError, match=rf"{file.name}: .*damaged.*--force"):
                work.load("key")
        file.write_bytes(content)
    assert work.load("key") is not None
    (work.folder / "fingerprint.json").unlink()
    with pytest.raises(RunError, match="damaged"):
        work.load("key")


KILLED = """
import os, random, signal, sys, time
from pathlib import Path
import numpy as np
import nlil.data.files, safetensors.numpy
from nlil.learning.checkpoint import Checkpoint

work = Checkpoint(Path(sys.argv[1]), {"seed": 0})
dice, seen, cut = random.Random(0), 0, 0
for _ in range(30):
    child = os.fork()
    if child == 0:
        step = seen
        while True:  # a slow stage that saves all the time
            step += 1
            work.save("train", {"a": np.full(150_000, step), "b": np.full(step % 7, step)}, {"step": step})
    time.sleep(dice.uniform(0.0, 0.25))  # a save waits for the disk
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    cut += any(file.name.startswith(".train") for file in work.folder.glob(".*"))
    work.begin()
    found = work.load("train")
    if found is None:
        assert seen == 0
        continue
    arrays, values = found
    assert (arrays["a"] == values["step"]).all() and (arrays["b"] == values["step"]).all(), values
    assert values["step"] >= seen, (values, seen)
    seen = values["step"]
print(seen, cut, sum(file.name.startswith(".") for file in work.folder.iterdir()))
"""


def test_killed_at_any_moment_each_key_is_whole(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", KILLED, str(tmp_path / "checkpoint")], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    steps, cut, leftovers = map(int, done.stdout.split())
    assert steps > 10
    assert cut > 0, "no kill came in the middle of a save; the test has seen nothing"
    assert leftovers == 0
