"""Names and frequencies for generated scenes: the real ones of GQA where they lie on this machine, else our own."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import islice, product
from pathlib import Path

import numpy as np

from ..data.arrays import Doubles
from ..data.catalog import find
from ..data.files import lines
from ..errors import DataError

NUM_CLASSES, NUM_RELATIONS, NUM_ATTRIBUTES = 150, 23, 40
"""213 predicates. In GQA 23 relations are said at least 1,500 times, the least number that the paper keeps."""

VOCABULARY_OF = "gqa-sample"
ADJECTIVES = (
    "red blue green white black brown grey yellow pink purple old young small large tall short long wet dry round open "
    "closed empty full wooden metal striped shiny plastic dark bright clean dirty broken bare thick thin curved "
    "painted folded hollow dusty"
)
CLASS_SYLLABLES = ("ba de fi go ku la me ni po ru sa te vo", "dak lin mor nup rel sot tam vek zin bol gar hup")
RELATION_SYLLABLES = ("bril crom dwen frin glap", "ates ens ors ums els")
CLASS_SLOPE, RELATION_SLOPE = 0.85, 1.2
"""Share of the r-th name ~ r ** -slope: near the real curves (the first class 9 %, the last of 150 0.2 %)."""


@dataclass(frozen=True, eq=False)
class SceneNames:
    """Classes and relations, most frequent first, with their shares (each sums to 1); `origin` is one sentence."""

    classes: tuple[str, ...]
    class_share: Doubles
    relations: tuple[str, ...]
    relation_share: Doubles
    attributes: tuple[str, ...]
    origin: str


def scene_names() -> SceneNames:
    """Real names and counts when $NLIL_DATA has the folder gqa-sample/vocab, else made ones."""
    folder = find(VOCABULARY_OF)
    if folder is None or not (folder / "vocab").is_dir():
        return made_names()
    return real_names(folder / "vocab")


def made_names() -> SceneNames:
    classes, relations = _words(CLASS_SYLLABLES, NUM_CLASSES), _words(RELATION_SYLLABLES, NUM_RELATIONS)
    shares = [
        np.arange(1.0, len(names) + 1) ** -slope
        for names, slope in ((classes, CLASS_SLOPE), (relations, RELATION_SLOPE))
    ]
    origin = f"names are made up and frequencies follow a power law ({VOCABULARY_OF}/vocab was not found)"
    return SceneNames(
        classes, shares[0] / shares[0].sum(), relations, shares[1] / shares[1].sum(), _attributes(classes), origin
    )


def _words(syllables: tuple[str, str], number: int) -> tuple[str, ...]:
    return tuple(islice(map("".join, product(*map(str.split, syllables))), number))


def real_names(folder: Path) -> SceneNames:
    """From obj_freq.txt and rel_freq.txt, after the merges of un_merge.txt and rel_merge.txt."""
    classes, class_share = _most_frequent(folder / "obj_freq.txt", folder / "un_merge.txt", NUM_CLASSES)
    relations, relation_share = _most_frequent(folder / "rel_freq.txt", folder / "rel_merge.txt", NUM_RELATIONS)
    origin = f"names and frequencies of classes and relations are GQA's, from {VOCABULARY_OF}/vocab"
    return SceneNames(classes, class_share, relations, relation_share, _attributes(classes), origin)


def _attributes(classes: tuple[str, ...]) -> tuple[str, ...]:
    """An attribute with the name of a class would tell the class."""
    return tuple(word for word in ADJECTIVES.split() if word not in classes)[:NUM_ATTRIBUTES]


def _most_frequent(counts: Path, merges: Path, wanted: int) -> tuple[tuple[str, ...], Doubles]:
    merged_into = _merges(merges)
    total: Counter[str] = Counter()
    for number, line in lines(counts):
        if number == 1:
            continue  # the sum of all
        name, _, count = line.strip().rpartition(" ")
        if not name or not count.isdecimal():
            raise DataError(f"expected a name and a count, got {line!r}", counts, number)
        total[merged_into.get(name, name)] += int(count)
    if len(total) < wanted:
        raise DataError(f"expected at least {wanted} names, got {len(total)}", counts)
    chosen = sorted(total.items(), key=lambda item: (-item[1], item[0]))[:wanted]
    share = np.asarray([count for _, count in chosen], np.float64)
    return tuple(name for name, _ in chosen), share / share.sum()


def _merges(path: Path) -> dict[str, str]:
    """`name: one,two` on a line: one and two are called name."""
    merged_into: dict[str, str] = {}
    for number, line in lines(path):
        name, colon, parts = line.partition(":")
        if not colon:
            raise DataError(f"expected `name: one,two`, got {line!r}", path, number)
        merged_into |= {part.strip(): name.strip() for part in parts.split(",")}
    return merged_into
