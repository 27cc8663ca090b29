"""Found cases stay mended, and a few thousand new inputs find nothing (docs/limits.md; many more: make fuzz)."""

from __future__ import annotations

import random
import signal
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from . import seeds
from .mutations import MAX_BYTES, mutated
from .runner import State, fuzz
from .subjects import SUBJECTS, case_files, found_cases, input_of, present_subjects, subject_named, write
from .worker import MAX_SECONDS, finding

INPUTS = 2_000
SEED = 21


@pytest.mark.parametrize("case", found_cases(), ids=lambda case: f"{case.parent.name}-{case.name}")
def test_a_found_case_stays_mended(case: Path, tmp_path: Path) -> None:
    subject = subject_named(case.parent.name)
    if subject.missing:
        pytest.skip(f"needs {', '.join(subject.missing)}")
    assert finding(case_files(case), subject.read, tmp_path) is None


LONG = {
    "rules": {"rule": b"father(X, Y) :}" + b"2147483648" * 80_000 + b"Y"},
    "prolog": {"bk.pl": b"mother(ann, bea).\n", "exs.pl": b"9" * 800_000 + b"x"},
    "tables": {"nodes.csv": b":ID,name,:L" + b"(neg" * 200_000 + b"\n", "relations.csv": b":START_ID,:END_ID,:TYPE\n"},
}
"""Names and numbers of nearly a megabyte: what reads them once needs less than a second, what reads them again at each
character minutes."""


@pytest.mark.skipif(sys.platform == "win32", reason="timers of processes")
@pytest.mark.parametrize("name", LONG)
def test_long_words_are_read_once(name: str, tmp_path: Path) -> None:
    def too_long(number: int, frame: object) -> None:
        pytest.fail(f"more than {MAX_SECONDS} s of processor time")  # no Exception, which a reader might handle

    before = signal.signal(signal.SIGPROF, too_long)
    signal.setitimer(signal.ITIMER_PROF, MAX_SECONDS)
    try:
        found = finding(LONG[name], subject_named(name).read, tmp_path)
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
    assert found is None


@pytest.mark.skipif(sys.platform == "win32", reason="limits of processes")
def test_new_inputs_find_nothing() -> None:
    state = fuzz(SEED, INPUTS, workers=1, folder=None, say=lambda text: None)
    assert state.findings == []


@pytest.mark.parametrize("subject", present_subjects(), ids=lambda subject: subject.name)
def test_a_valid_input_is_read(subject, tmp_path: Path) -> None:
    for number, files in enumerate(subject.seeds()):
        write(files, tmp_path / str(number))
        subject.read(tmp_path / str(number))


def test_an_input_is_the_same_every_time() -> None:
    for number in range(200):
        subject, files = input_of(7, number)
        assert (subject, files) == input_of(7, number)
        assert all(len(content) <= MAX_BYTES for content in files.values())
    assert len({input_of(7, number)[0].name for number in range(400)}) == len(present_subjects())


def test_what_is_found_and_what_is_not(tmp_path: Path) -> None:
    """The limits of the harness itself: an exception, a message without limits, and what users may cause."""
    from nlil.errors import DataError

    def raising(error: Exception):
        def read(folder: Path) -> None:
            raise error

        return read

    files = {"a": b""}
    assert finding(files, raising(DataError("expected a fact")), tmp_path) is None
    assert finding(files, raising(FileNotFoundError(2, "no such file", "a")), tmp_path) is None
    assert (finding(files, raising(OSError("damaged")), tmp_path) or {})["kind"] == "OSError"
    assert (finding(files, raising(IndexError(1)), tmp_path) or {})["kind"] == "IndexError"
    assert (finding(files, raising(MemoryError()), tmp_path) or {})["kind"] == "MemoryError"


class Reader:
    """Stands for a worker: input 510 of any seed is found."""

    num_read = 0

    def __init__(self, seed: int) -> None:
        pass

    def read(self, numbers: list[int]) -> Iterator[tuple[float, dict[str, str] | None]]:
        for number in list(numbers):
            yield 0.5, {"kind": "IndexError", "where": "b", "text": "..."} if number == 510 else None

    def end(self) -> None:
        pass


def test_a_run_continues_where_it_was_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from . import runner
    from .runner import CHUNK

    monkeypatch.setattr(runner, "Process", Reader)
    said: list[str] = []
    found = {"number": 5, "subject": "rules", "kind": "IndexError", "where": "a", "text": ""}
    before = State(3, {0}, [found], 2.0, 1.0)
    before.save(tmp_path)
    state = fuzz(3, CHUNK + 20, 1, tmp_path, said.append)
    assert [one["number"] for one in state.findings] == [5, 510]
    assert state.chunks == {0}  # the last one is not complete
    assert len([*(tmp_path / "found").glob("*/510")]) == 1
    assert [text for text in said if text.endswith("inputs")] == [f"{CHUNK + 20:,} of {CHUNK + 20:,} inputs"]
    assert State.at(tmp_path, 3) == state
    assert state.cpu == 1.0 + 0.5 * 20


def test_every_format_is_fuzzed() -> None:
    """A new reader needs a seed here."""
    from nlil.datasets.folder import FACT_ENDINGS

    known = {Path(name.removesuffix(".gz")).suffix for files in seeds.data_files() for name in files}
    assert set(FACT_ENDINGS) <= known
    assert all(mutated(files, random.Random(0)) != files for one in SUBJECTS[:3] for files in one.seeds())
