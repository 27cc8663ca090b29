"""Theory: for each target a few rules of the pool, in the order of what each adds; and its file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from ..data.arrays import Doubles, Longs
from ..errors import ConfigError
from ..kernel.aggregation import Aggregation
from ..kernel.calibration import Calibration
from ..kernel.exclusion import Exclusion
from ..kernel.ruleset import RuleSet
from ..logic.rule import Rule

SIZES = (5, 10, 20, 50, 100, 200)
"""Numbers of rules per target at which the quality of a theory is measured."""
AUTHORS = ("cover", "weights", "formulas")
"""Ways to choose the rules of a target: a greedy cover; the same rules with jointly fitted weights; formulas trained
over the rules of the cover."""


@dataclass(frozen=True)
class SizeScore:
    """How well a theory of one size ranks the validation facts of one target.

    size: the greatest number of rules.
    mrr: the mean of 1 / rank.
    """

    size: int
    mrr: float


@dataclass(frozen=True)
class ValidationScores:
    """The validation scores of one target, over `facts`: of the `pool`, and of the theory at each of `sizes`."""

    facts: int
    pool: float
    sizes: tuple[SizeScore, ...] = ()

    def least_size(self, share: float) -> int | None:
        """Return the least size whose score reaches this `share` of the pool's score, or None."""
        return next((s.size for s in self.sizes if s.mrr >= share * self.pool), None)


@dataclass(frozen=True, eq=False)
class Theory:
    """Rows of a pool, target by target, the rule that adds most first.

    rows         rows of the pool
    place        the bodies of its target up to this rule and with it, less one; every disjunct of a rule is a body
    gain         what each adds to the mean value of a query: the precision of its best rule, and a part of the next
    explained    training facts that it explains and no rule before it does
    backs_up     training facts that it explains and a rule before it explains too
    tried        training facts of its target that were tried
    family_row   rows of the pool that a chosen rule represents
    family       for each of these, the position of that rule in `rows`
    size         the default number of rules per target
    aggregation  how the rules become a score
    scores       by target (name/arity): validation scores by size
    weight       the weight of each rule; nan, or None for all: that of the pool
    authors      by target (name/arity): one of AUTHORS
    own          rules that an author wrote; their numbers in `rows` follow those of the pool
    calibration  the calibration of a theory of its own `size`, if known
    """

    rows: Longs
    place: Longs
    gain: Doubles
    explained: Longs
    backs_up: Longs
    tried: Longs
    family_row: Longs
    family: Longs
    size: int
    aggregation: Aggregation
    scores: Mapping[str, ValidationScores] = field(default_factory=dict)
    weight: Doubles | None = None
    authors: Mapping[str, str] = field(default_factory=dict)
    own: RuleSet | None = None
    calibration: Calibration | None = None

    def listed(self, pool: RuleSet) -> RuleSet:
        """Return the rules of `rows`, with their weights in the theory."""
        is_own = self.rows >= len(pool)
        if self.own is None or not is_own.any():
            rules = pool.take(self.rows).compact()
        else:
            place = np.argsort(np.concatenate((np.flatnonzero(~is_own), np.flatnonzero(is_own))))
            own = self.own.take(self.rows[is_own] - len(pool))
            rules = RuleSet.join([pool.take(self.rows[~is_own]).compact(), own]).take(place).compact()
        if self.weight is None:
            return rules
        return replace(rules, weight=np.where(np.isnan(self.weight), rules.weights, self.weight).astype(np.float32))

    def joined(self, pool: RuleSet) -> tuple[RuleSet, Theory]:
        """Return the pool extended by the theory's own rules, and the theory over that pool."""
        if self.own is None:
            return pool, self
        own = self.own if pool.weight is not None else replace(self.own, weight=None)  # the smoothed confidence
        return RuleSet.join([pool, own]), replace(self, own=None)

    def chosen(self, pool: RuleSet, size: int | None = None, keep: float | None = None) -> Longs:
        """Return positions in `rows`: of `size` bodies per target, or of the fewest that keep a share of the score.

        Args:
            pool: the rules that `rows` refer to.
            size: bodies per target; default: the theory's own.
            keep: the share, 0 to 1; the largest size if no smaller one keeps it or the scores are unknown.
        """
        return np.flatnonzero(self.place < self.sizes(pool, size, keep)[self.listed(pool).head])

    def sizes(self, pool: RuleSet, size: int | None = None, keep: float | None = None) -> Longs:
        """Return the greatest number of rules for each predicate; `pool`, `size` and `keep` as in `chosen`."""
        most = np.full(len(pool.predicates), self.size if size is None else size, np.int64)
        if keep is None:
            return most
        if not self.scores:
            raise ConfigError("keep: the theories were not measured on validation facts; give a size instead", "keep")
        for i, predicate in enumerate(pool.predicates):
            scores = self.scores.get(str(predicate))
            most[i] = SIZES[-1] if scores is None else scores.least_size(keep) or SIZES[-1]
        return most

    def exclusions(self, pool: RuleSet, size: int | None = None, keep: float | None = None) -> tuple[Exclusion, ...]:
        """Return the first exclusions of each target, as many as rules; `pool`, `size` and `keep` as in `chosen`."""
        left = dict(zip(pool.predicates, self.sizes(pool, size, keep).tolist()))
        kept = []
        for exclusion in pool.exclusions:
            left[exclusion.target] -= 1
            if left[exclusion.target] >= 0:
                kept.append(exclusion)
        return tuple(kept)

    def rules(self, pool: RuleSet, size: int | None = None, keep: float | None = None) -> RuleSet:
        """Return the rules of the theory as a RuleSet; `pool`, `size` and `keep` as in `chosen`."""
        rules = self.listed(pool).take(self.chosen(pool, size, keep)).compact()
        is_own_size = keep is None and size in (None, self.size)
        return replace(
            rules,
            aggregation=self.aggregation,
            is_ordered=True,
            exclusions=self.exclusions(pool, size, keep),
            calibration=self.calibration if is_own_size else None,
        )

    def over(self, kept: Longs, num_rules: int) -> Theory:
        """Return the theory over pool.take(kept): rules that are not kept are dropped, positions stay.

        Args:
            kept: distinct rows of the pool.
            num_rules: the number of rules of the pool.
        """
        number = np.full(num_rules, -1, np.int64)
        number[kept] = np.arange(len(kept))
        stays = number[self.rows] >= 0
        related = stays[self.family] & (number[self.family_row] >= 0)
        return replace(
            self,
            **{name: getattr(self, name)[stays] for name in ("place", "gain", "explained", "backs_up", "tried")},
            weight=None if self.weight is None else self.weight[stays],
            rows=number[self.rows[stays]],
            family_row=number[self.family_row[related]],
            family=(np.cumsum(stays) - 1)[self.family[related]],
        )

    @property
    def family_sizes(self) -> Longs:
        """Return the number of rules of the pool that each of `rows` represents."""
        return np.bincount(self.family, minlength=len(self.rows))

    def family_of(self, pool: RuleSet, number: int) -> Sequence[Rule]:
        """Return the rules that rows[`number`] represents, in the order of the `pool`."""
        return [pool.rule(int(row)) for row in self.family_row[self.family == number]]

    def curve(self) -> list[SizeScore]:
        """Return the score over all targets at each size, by validation fact; empty without validation facts."""
        total = sum(s.facts for s in self.scores.values())
        found = []
        for i, size in enumerate(SIZES if total else ()):
            found.append(SizeScore(size, sum(s.facts * s.sizes[i].mrr for s in self.scores.values()) / total))
        return found

    @property
    def pool_score(self) -> float | None:
        """The score of the whole pool on the same facts."""
        total = sum(s.facts for s in self.scores.values())
        return sum(s.facts * s.pool for s in self.scores.values()) / total if total else None


# a Theory as one Parquet file: a row for each rule, families and scores in the metadata -----------------------

COLUMNS = ("rows", "place", "gain", "explained", "backs_up", "tried")


def save_theory(theory: Theory, path: Path) -> None:
    """Write the theory; the family of each rule is a list of rows."""
    import pyarrow as pa

    from ..data.arrow import number_array, write_columns

    order = np.argsort(theory.family, kind="stable")
    pointer = np.concatenate(([0], np.cumsum(theory.family_sizes))).astype(np.int64)
    family = pa.LargeListArray.from_arrays(number_array(pointer), number_array(theory.family_row[order]))
    columns = {name: number_array(getattr(theory, name)) for name in COLUMNS} | {"family": family}
    if theory.weight is not None:
        columns["weight"] = number_array(theory.weight)
    about = {
        "size": theory.size,
        "aggregation": asdict(theory.aggregation),
        "scores": {target: asdict(scores) for target, scores in theory.scores.items()},
        "authors": dict(theory.authors),
        "calibration": None if theory.calibration is None else theory.calibration.to_dict(),
    }
    write_columns(path, columns, about)


def load_theory(path: Path, pool: RuleSet) -> Theory:
    """Read the theory that `save_theory` wrote at `path` for this `pool`; raise ValueError if the file is malformed."""
    from ..data.arrow import integers, numbers, read_columns

    table, about = read_columns(path)
    last, most = len(pool) - 1, 2**62
    family, family_row = _families(table["family"].combine_chunks(), last)
    counts: dict[str, Any] = {
        name: integers(table, name, 0, most, np.int64) for name in ("explained", "backs_up", "tried")
    }
    scores = {
        target: ValidationScores(
            int(s["facts"]),
            float(s["pool"]),
            tuple(SizeScore(int(one["size"]), float(one["mrr"])) for one in s["sizes"]),
        )
        for target, s in about["scores"].items()
    }
    if any([one.size for one in s.sizes] != list(SIZES) for s in scores.values()):
        raise ValueError(f"scores: expected one for each of the sizes {', '.join(map(str, SIZES))}")
    return Theory(
        **counts,
        rows=integers(table, "rows", 0, last, np.int64),
        place=integers(table, "place", 0, most, np.int64),
        gain=numbers(table, "gain"),
        family_row=family_row,
        family=family,
        size=int(about["size"]),
        aggregation=Aggregation(**about["aggregation"]),
        scores=scores,
        weight=numbers(table, "weight", allow_nan=True) if "weight" in table.column_names else None,
        authors=dict(about.get("authors", {})),
        calibration=Calibration.from_dict(about["calibration"]) if about.get("calibration") else None,
    )


def _families(families: Any, last: int) -> tuple[Longs, Longs]:
    """Return the family and the row of each rule in a family; raise ValueError unless rows are in 0 .. `last`."""
    import pyarrow as pa

    from ..data.arrow import integers, to_numpy

    if not (pa.types.is_large_list(families.type) or pa.types.is_list(families.type)) or families.null_count:
        raise ValueError(f"family: expected lists of rows, got {families.type}")
    sizes = np.diff(to_numpy(families.offsets))
    rows = integers(pa.table({"family": families.flatten()}), "family", 0, last, np.int64)
    return np.repeat(np.arange(len(sizes)), sizes), rows
