"""Explanation: a fact, its score, the rules behind the score with the facts behind them, and the rules that miss.

Values hold names of the data; labels are applied where a value is shown to people.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

from ..kernel.exclusion import Exclusion
from ..kernel.grounding import Grounding
from ..logic.formula import Formula
from ..logic.labels import Labels
from ..logic.predicate import Fact
from ..logic.query import Query
from ..logic.rule import Rule, RuleStats
from ..logic.text import fact_text, formula_text
from .phrases import grounding_document
from .shown import Item, Shown

Side = Literal["object", "subject"]
"""The place whose answer is explained: b in p(a, ?), or a in p(?, b)."""


@dataclass(frozen=True)
class Support:
    """A rule that fires and counts. `value` is the degree to which its body holds: 1 unless facts are soft.

    `num_groundings` are all ways in which the body holds, of which some are shown; counted up to 1000.
    """

    rule: Rule
    stats: RuleStats
    weight: float
    share: float
    value: float
    groundings: tuple[Grounding, ...]
    num_groundings: int


@dataclass(frozen=True)
class Miss:
    """A strong rule that does not fire, and where it fails.

    `reached` atoms of `statement` hold, and lead to the entities `at`; any fact of the form `missing` would lead on.
    A negated statement fails because it holds. Where all atoms hold, they do so only with one entity for two variables.
    """

    rule: Rule
    stats: RuleStats
    weight: float
    statement: Formula
    reached: int
    at: tuple[str, ...]
    missing: tuple[Query, ...]


@dataclass(frozen=True)
class Excluded:
    """The fact `by` is in the data, and what is explained never holds together with it."""

    by: Fact
    exclusion: Exclusion


@dataclass(frozen=True)
class Explanation(Shown):
    """Why `fact`, with the fact itself hidden. The shares of `supports` and `other_share` add up to `score`.

    The score is that of the answer to `query`: weighed rules may score p(a, b) otherwise for p(a, ?) than for p(?, b).
    Where `excluded` says that another fact rules it out, the score and all shares are 0.
    num_fired    rules that fire
    num_counted  those that count for the score: the strongest and the priors
    other_share  what the counted rules contribute that are not among the supports
    """

    fact: Fact
    known: bool
    score: float
    supports: tuple[Support, ...]
    misses: tuple[Miss, ...]
    num_fired: int
    num_counted: int
    other_share: float
    excluded: Excluded | None = None
    side: Side = "object"
    labels: Labels = field(default_factory=Labels, repr=False, compare=False)

    @property
    def query(self) -> Query:
        """What `fact` is an answer to: p(a, ?) or p(?, b), p(?) for a unary predicate."""
        names: list[str | None] = list(self.fact.arguments)
        names[1 if len(names) == 2 and self.side == "object" else 0] = None
        return Query(self.fact.predicate.name, tuple(names))

    def to_dict(self) -> dict[str, Any]:
        """For JSON: names of the data, and beside them `label`, the same for people."""
        return {
            "fact": fact_text(self.fact),
            "label": self.labels.fact(self.fact),
            "predicate": self.fact.predicate.name,
            "arguments": list(self.fact.arguments),
            "query": str(self.query),
            "known": self.known,
            "score": self.score,
            "num_fired": self.num_fired,
            "num_counted": self.num_counted,
            "other_share": self.other_share,
            "excluded": None
            if self.excluded is None
            else {
                "by": fact_text(self.excluded.by),
                "label": self.labels.fact(self.excluded.by),
                **self.excluded.exclusion.to_dict(),
            },
            "supports": [self._support(s) for s in self.supports],
            "misses": [self._miss(m) for m in self.misses],
        }

    def _support(self, support: Support) -> dict[str, Any]:
        return {
            **self._rule(support),
            "share": support.share,
            "value": support.value,
            "num_groundings": support.num_groundings,
            "groundings": [grounding_document(g, support.rule.distinct, self.labels) for g in support.groundings],
        }

    def _rule(self, item: Support | Miss) -> dict[str, Any]:
        return {
            "rule": str(item.rule),
            "label": self.labels.rule(item.rule),
            "weight": item.weight,
            **item.stats.to_dict(),
        }

    def _miss(self, miss: Miss) -> dict[str, Any]:
        return {
            **self._rule(miss),
            "statement": formula_text(miss.statement, miss.rule.distinct),
            "reached": miss.reached,
            "at": list(miss.at),
            "missing": [str(query) for query in miss.missing],
            "missing_labels": [self.labels.query(query) for query in miss.missing],
        }

    # for people -----------------------------------------------------------------------------------

    def outline(self) -> Item:
        from .outline import outline  # it lays out this type

        return outline(self)
