"""DataOptions: what a user may choose about the facts themselves, before anything is learned from them."""

from __future__ import annotations

from dataclasses import dataclass, fields

from ..errors import ConfigError

NUM_CLASSES = 150
"""Targets of a scene graph: so many of its most frequent classes (as in the paper)."""


@dataclass(frozen=True)
class DataOptions:
    """The same keys and defaults as in `LearnerConfig`; the order of work is merge, drop, min_count, geometry.

    `geometry`     boxes become predicates, where there are boxes
    `drop`         relations that are left out, by name (after merging)
    `merge`        a file or folder of name merges (data/merging.py); empty: none
    `min_count`    predicates with fewer training facts are left out; objects of such a class stay, unlabelled
    `num_classes`  how many of the most frequent classes are targets
    `cuts`         into how many quantile bins a number is cut
    """

    geometry: bool = True
    drop: tuple[str, ...] = ()
    merge: str = ""
    min_count: int = 0
    num_classes: int = NUM_CLASSES
    cuts: int = 10

    def __post_init__(self) -> None:
        for key, least in (("min_count", 0), ("num_classes", 1), ("cuts", 2)):
            value = getattr(self, key)
            if value < least:
                raise ConfigError(f"{key}: expected {least} or more, got {value!r}", key)

    @property
    def refines(self) -> bool:
        """Whether anything but geometry is asked for."""
        return bool(self.drop or self.merge or self.min_count or self.num_classes != NUM_CLASSES)


KEYS = tuple(field.name for field in fields(DataOptions))
