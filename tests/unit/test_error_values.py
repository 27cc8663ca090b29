"""Errors say what is near, also among very many names, and in which file they are."""

from __future__ import annotations

import pytest

from nlil.errors import MANY_NAMES, ConfigError, DataError, UnknownName, closest, in_file


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
