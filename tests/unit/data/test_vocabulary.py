"""Names are found by bisection in an Arrow array, as they would be in a dict."""

from __future__ import annotations

import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nlil.data import vocabulary
from nlil.data.vocabulary import LabelTable, Vocabulary, label_column
from nlil.errors import UnknownName

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=4)


@given(names=st.lists(TEXTS, unique=True, max_size=40), others=st.lists(TEXTS, max_size=5), few=st.booleans())
def test_names_are_found_as_in_a_dict(names: list[str], others: list[str], few: bool) -> None:
    with pytest.MonkeyPatch.context() as context:
        if few:  # sorted by Arrow, and listed in small pieces
            context.setattr(vocabulary, "NAMES_AT_ONCE", 3)
        table = Vocabulary(names)
        assert [table.find(name) for name in names] == list(range(len(names)))
        assert list(table) == names
        id_of = {name: i for i, name in enumerate(names)}
        for other in [*others, "\ud800", "\U0010ffff"]:
            assert table.find(other) == id_of.get(other)
            assert (other in table) == (other in id_of)


def test_slices_of_an_array_are_vocabularies_too() -> None:
    table = Vocabulary(pa.array(["z", "c", "a", "b"]).slice(1))
    assert [table.id(name) for name in ("a", "b", "c")] == [1, 2, 0]
    assert table.find("z") is None


def test_an_unknown_name_among_many_is_compared_with_those_that_begin_alike() -> None:
    table = Vocabulary(f"entity_{i}" for i in range(100_000))
    with pytest.raises(UnknownName) as caught:
        table.id("Entity_1234x")
    assert "entity_1234" in caught.value.closest
    with pytest.raises(UnknownName, match=r"unknown entity '\(\*\)'$"):
        table.id("(*)")


def test_a_table_of_labels_is_a_mapping() -> None:
    given = {"b": "Bob", "a": "", "c": "Ann"}
    table = LabelTable(Vocabulary(given), pa.array(list(given.values()), pa.large_string()))
    assert dict(table) == given
    assert table == given
    assert (table.get("a"), table.get("x"), "b" in table, len(table)) == ("", None, True, 3)
    names = Vocabulary(["x", "a", "b"])
    for labels in (given, table):
        assert label_column(labels, names).to_pylist() == [None, "", "Bob"]
    assert label_column({}, names).to_pylist() == [None] * 3
