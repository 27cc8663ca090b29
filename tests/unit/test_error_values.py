"""Errors say what is near; also among very many names."""

from __future__ import annotations

from nlil.errors import MANY_NAMES, UnknownName, closest


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
