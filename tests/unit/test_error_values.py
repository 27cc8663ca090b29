"""Errors say what is near, also among very many names, and in which file they are."""

from __future__ import annotations

import tracemalloc

import pytest

from nlil.errors import MANY_NAMES, MAX_MESSAGE, ConfigError, DataError, UnknownName, closest, in_file


def test_the_nearest_names_come_first_and_case_is_forgiven() -> None:
    assert closest("Mothr", ["father", "mother", "brother"])[0] == "mother"
    assert closest("zzz", ["father", "mother"]) == ()


def test_many_names_are_narrowed_before_they_are_compared() -> None:
    names = [f"person{i}" for i in range(2 * MANY_NAMES)] + ["berlin"]
    assert "berlin" in closest("berln", names)
    assert closest("person1234x", names)
    assert closest("xerson1234", names) == ()  # it was not compared with all of them


def test_unknown_name_is_one_sentence() -> None:
    error = UnknownName("predicate", "mothr", ["mother"], "see nlil inspect")
    assert str(error) == "unknown predicate 'mothr'; closest: 'mother'; see nlil inspect"
    assert error.closest == ("mother",)


def test_an_error_says_in_which_file_it_is_once() -> None:
    for path, line, where in ((None, None, "a.tsv:3: "), ("b.tsv", 7, "b.tsv:7: ")):
        with pytest.raises(DataError) as found, in_file("a.tsv", 3):
            raise DataError("expected a name, got none", path, line)
        assert str(found.value) == f"{where}expected a name, got none"
    with pytest.raises(ConfigError), in_file("a.tsv"):
        raise ConfigError("key: expected a number", "key")


LONG = {
    "one long quotation": "expected a name, got '" + "x" * 1_000_000 + "'",
    "escapes": "expected a name, got '" + r"\n" * 500_000 + "'",
    "never closed": "expected a name, got '" + "x\n" * 500_000,
    "many quotations": "got " + "'ab', " * 170_000,
    "control characters": "got " + "\x1b" * 1_000_000,
}


@pytest.mark.parametrize("text", LONG.values(), ids=LONG)
def test_a_long_message_takes_memory_in_proportion_to_its_text(text: str) -> None:
    """A pattern that keeps every place to which it could go back took 200 MB for a megabyte."""
    tracemalloc.start()
    try:
        message = str(DataError(text))
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(message) <= MAX_MESSAGE
    assert most < 40 * len(text), f"{most / 1e6:.0f} MB of {len(text) / 1e6:.0f}"
