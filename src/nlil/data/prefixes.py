"""Prefixes of IRIs: `ex:ann` for `http://example.org/ann`.

Names stay IRIs. A short name is the label of a name that has no other, and is accepted in place of the name even then.
"""

from __future__ import annotations

from collections.abc import Mapping

import pyarrow as pa

from .vocabulary import LabelTable, Vocabulary, label_column

Prefixes = Mapping[str, str]
"""prefix -> namespace, such as {"ex": "http://example.org/"}."""


def full_name(text: str, prefixes: Prefixes) -> str:
    """Return the IRI that the short name `text` stands for, or `text` itself if it begins with none of `prefixes`.

    >>> full_name("ex:ann", {"ex": "http://example.org/"})
    'http://example.org/ann'
    """
    prefix, colon, rest = text.partition(":")
    return prefixes[prefix] + rest if colon and prefix in prefixes else text


def short_name(name: str, prefixes: Prefixes) -> str:
    """Return `name` with that of the `prefixes` that has the longest namespace it begins with, or `name` itself.

    >>> short_name("http://example.org/ann", {"ex": "http://example.org/"})
    'ex:ann'
    """
    fitting = [(p, space) for p, space in prefixes.items() if name.startswith(space) and len(name) > len(space) > 0]
    if not fitting:
        return name
    prefix, space = max(fitting, key=lambda one: len(one[1]))
    return f"{prefix}:{name[len(space) :]}"


def with_short_names(labels: Mapping[str, str], names: Vocabulary, prefixes: Prefixes) -> Mapping[str, str]:
    """Return `labels` and, for each of `names` that has none, its short name by `prefixes`."""
    if not prefixes:
        return labels
    import pyarrow.compute as pc

    texts: pa.Array = pa.nulls(len(names), pa.large_string())
    # As in `short_name`: longer namespaces overwrite shorter ones, and of equal ones the first prefix is kept.
    ordered = list(prefixes.items())[::-1]
    ordered.sort(key=lambda one: len(one[1]))
    for prefix, space in ordered:
        if space:
            rest = pc.utf8_slice_codeunits(names.array, len(space))
            fits = pc.and_(pc.starts_with(names.array, space), pc.not_equal(rest, ""))
            empty, begin = (pa.scalar(text, pa.large_string()) for text in ("", f"{prefix}:"))
            texts = pc.if_else(fits, pc.binary_join_element_wise(begin, rest, empty), texts)
    texts = pc.coalesce(label_column(labels, names), texts)
    known = texts.is_valid()
    return LabelTable(Vocabulary(names.array.filter(known)), texts.filter(known))
