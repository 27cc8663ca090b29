"""Aleph folders: modes and determinations are the bias."""

from __future__ import annotations

from pathlib import Path

import pytest

from nlil.errors import DataError
from nlil.program.clause import Symbol
from nlil.program.induce import induce
from nlil.program.reading import is_ilp_folder, read_folder

MODES = """
:- modeh(1, eastbound(+train)).
:- modeb(*, has_car(+train, -car)).
:- modeb(1, short(+car)).
:- modeb(1, shape(+car, #shape)).
:- determination(eastbound/1, has_car/2).
:- determination(eastbound/1, shape/2).
"""
FACTS = """
has_car(t1, c1). has_car(t1, c2). has_car(t2, c3). has_car(t3, c4). has_car(t4, c5).
short(c1). short(c3). short(c4).
shape(c1, round). shape(c2, square). shape(c3, round). shape(c4, square). shape(c5, square).
"""


def written(place: Path, modes: str = MODES) -> Path:
    (place / "trains.b").write_text(modes + FACTS)
    (place / "trains.f").write_text("eastbound(t1). eastbound(t2).")
    (place / "trains.n").write_text("eastbound(t3). eastbound(t4).")
    return place


def test_modes_are_the_bias(tmp_path: Path) -> None:
    assert is_ilp_folder(written(tmp_path))
    task = read_folder(tmp_path)
    assert task.bias.body == (Symbol("has_car", 2), Symbol("shape", 2))
    assert task.bias.directions[Symbol("has_car", 2)] == (True, False)
    assert task.bias.types[Symbol("shape", 2)] == ("car", "shape")
    assert induce(task).texts(task) == ["eastbound(X) :- has_car(X, Z1), shape(Z1, round)."]


def test_a_mode_that_cannot_be_read(tmp_path: Path) -> None:
    written(tmp_path, MODES.replace("+car, #shape", "car, shape"))
    with pytest.raises(DataError, match=r"trains.b:5: expected arguments such as \+type"):
        read_folder(tmp_path)
