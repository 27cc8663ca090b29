"""KnowledgeBase: facts by id, and the names of the ids.

Every binary predicate p has two step codes, 2p (subject to object) and 2p + 1 (its inverse);
a unary predicate p has the code 2p (a filter). `kernel.graph.Graph` indexes the facts.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import islice
from typing import Any

import numpy as np

from ..errors import MANY_NAMES, DataError, UnknownName
from ..logic.predicate import Fact, Predicate, Step, Symbol
from ..logic.query import Query
from .arrays import Floats, Ids, Longs, Mask, counted, offsets
from .facts import NO_OBJECT, Facts
from .prefixes import full_name
from .vocabulary import Vocabulary
from .wide import Wide, count_wide

MOST_IDS = 2**31 - 1
"""The most entities of a base, and the most step codes: ids have 32 bits. Facts and counts have no such limit."""

SHOWN_NAMES = 8
"""Names with the same label that an error lists."""
PlainFact = tuple[str, str] | tuple[str, str, str] | tuple[str, str, str, float]


@dataclass(frozen=True, eq=False)
class KnowledgeBase:
    """Entities, predicates and facts (each once, sorted). Build it with `build` or `from_facts`.

    `graph_of` is the graph of each entity if many small graphs are joined; `classes` are the ids of the unary
    predicates that form the exclusive class group of scene graphs. `boxes` (entities x 4: x, y, w, h in pixels) and
    `graph_sizes` (graphs x 2: width, height) say where objects are, NaN if unknown. Facts that are made from boxes are
    ordinary facts (`geometry` has the ids of their predicates). `entity_labels` and `predicate_labels` map names to
    labels, which are for display and never serve as keys; `prefixes` (prefix -> namespace) shorten names that are IRIs;
    `graph_names` are the names of the graphs, None if they have none. `wide` facts have three or more arguments; they
    are not among `facts`, and rules do not use them.
    """

    entities: Vocabulary
    predicates: tuple[Predicate, ...]
    facts: Facts
    graph_of: Ids | None = None
    classes: frozenset[int] = frozenset()
    entity_labels: Mapping[str, str] = field(default_factory=dict)
    predicate_labels: Mapping[str, str] = field(default_factory=dict)
    boxes: Floats | None = None
    graph_sizes: Floats | None = None
    graph_names: Vocabulary | None = None
    geometry: frozenset[int] = frozenset()
    prefixes: Mapping[str, str] = field(default_factory=dict)
    wide: Wide = field(default_factory=dict)

    @classmethod
    def from_facts(cls, facts: Iterable[PlainFact | Fact]) -> KnowledgeBase:
        """Make a base from `facts`: tuples in the order of the TSV format, or `Fact` values.

        (entity, predicate) is unary, (subject, predicate, object) binary, a fourth item is the weight; a weighted unary
        fact has an empty third item.

        >>> kb = KnowledgeBase.from_facts([("ann", "mother", "bob"), ("ann", "female")])
        >>> kb.num_entities, [str(p) for p in kb.predicates]
        (2, ['female/1', 'mother/2'])
        """
        from .builder import FactCollector, fact_row

        collector = FactCollector()
        collector.add_rows(map(fact_row, facts))
        return collector.finish().knowledge_base()

    @classmethod
    def from_numpy(cls, array: Any) -> KnowledgeBase:
        """Make a base from an `array` of names, one fact in each row, with 2 to 4 columns as in `from_facts`."""
        from .tables import from_numpy

        return from_numpy(array)

    @classmethod
    def from_pandas(cls, frame: Any, columns: str | Mapping[str, Any] | None = None) -> KnowledgeBase:
        """Make a base from a DataFrame; a missing value is an error.

        Args:
            frame: one fact in each row; the object of a unary fact is an empty text.
            columns: which column has which role, as a mapping or as text: `{"subject": "source", "object": "target"}`.
                Others are found by name (head/relation/tail, subject/predicate/object, source/type/target, ...,
                weight), else by position.
        """
        from .tables import from_pandas

        return from_pandas(frame, columns)

    @classmethod
    def from_arrow(cls, table: Any, columns: str | Mapping[str, Any] | None = None) -> KnowledgeBase:
        """Make a base from a pyarrow `table`; `columns` as in `from_pandas`; a null object marks a unary fact."""
        from .tables import from_arrow

        return from_arrow(table, columns)

    @classmethod
    def from_networkx(cls, graph: Any, **options: Any) -> KnowledgeBase:
        """Make a base from a DiGraph or MultiDiGraph.

        Args:
            graph: Its edges become facts.
            options: `predicate`, the edge attribute that names the predicate (default: predicate, relation, type,
                label or a similar one, else the edge's key); `unary`, the node attribute with the names of unary facts
                (default "type"); `weight`, an edge attribute in [0, 1] (default: none).
        """
        from .tables import from_networkx

        return from_networkx(graph, **options)

    @classmethod
    def from_pykeen(cls, factory: Any) -> KnowledgeBase:
        """Make a base from a PyKEEN TriplesFactory; entity ids are those of `factory`."""
        from .tables import from_pykeen

        return from_pykeen(factory)

    @classmethod
    def from_pyg(cls, data: Any) -> KnowledgeBase:
        """Make a base from the edges of `data`, a Data or HeteroData of PyTorch Geometric (see data/pyg.py)."""
        from .pyg import from_pyg

        return from_pyg(data)

    def __repr__(self) -> str:
        counts = f"{self.num_facts:,} facts, {self.num_entities:,} entities, {self.num_predicates:,} predicates"
        return f"<KnowledgeBase: {counts}>"

    def named(self, facts: Facts | None = None) -> Iterator[Fact]:
        """Yield `facts` by name; default: all of this base.

        >>> [str(f) for f in KnowledgeBase.from_facts([("ann", "mother", "bob")]).named()]
        ['mother(ann, bob)']
        """
        facts = self.facts if facts is None else facts
        columns = (column.tolist() for column in (facts.predicate, facts.subject, facts.object))
        return (self.fact(*ids) for ids in zip(*columns))

    def to_pandas(self, facts: Facts | None = None) -> Any:
        """Return `facts` (default: all of this base) as a DataFrame: subject, predicate, object and weight."""
        from .tables import to_pandas

        return to_pandas(self, self.facts if facts is None else facts)

    @property
    def num_facts(self) -> int:
        """The number of facts of any arity."""
        return len(self.facts) + count_wide(self.wide)

    @property
    def num_entities(self) -> int:
        """The number of entities, with or without facts."""
        return len(self.entities)

    @property
    def num_predicates(self) -> int:
        """The number of predicates, with or without facts."""
        return len(self.predicates)

    @property
    def num_codes(self) -> int:
        """The number of step codes, two for each predicate."""
        return 2 * len(self.predicates)

    @property
    def num_graphs(self) -> int:
        """The number of graphs that were joined; 1 for a plain base."""
        return 1 if self.graph_of is None else int(self.graph_of.max(initial=-1)) + 1

    # names to ids ---------------------------------------------------------------------------------

    @cached_property
    def _predicate_ids(self) -> dict[Predicate, int]:
        return {p: i for i, p in enumerate(self.predicates)}

    def predicate_id(self, predicate: Predicate) -> int:
        """Return the id of a predicate. Raises UnknownName if the base does not have it."""
        try:
            return self._predicate_ids[predicate]
        except KeyError:
            other = Predicate(predicate.name, 2 if predicate.arity == 1 else 1)
            if other in self._predicate_ids:
                takes = "one argument" if other.arity == 1 else "two arguments"
                raise UnknownName("predicate", str(predicate), (), f"{other} takes {takes}") from None
            hint = self._hint_of_wide(predicate.name)
            raise UnknownName("predicate", predicate.name, [p.name for p in self.predicates], hint) from None

    def entity_id(self, name: str) -> int:
        """Return the id of the entity with this `name` (a prefix may stand for its namespace), else with this label.

        Raises UnknownName if there is none, or several with this label.
        """
        found = self._find_entity(name)
        if found is not None:
            return found
        if not self.entity_labels:
            return self.entities.id(name)
        labelled = self._labelled_entities.get(name.casefold(), [])
        raise unclear_name("entity", name, labelled, self.entities.similar(name), self.entity_labels)

    def entity_ids(self, names: Vocabulary) -> Ids:
        """Return the id of each of `names`, as `entity_id` finds it; -1 where that raises UnknownName."""
        ids = self.entities.ids_of(names).copy()
        if self.prefixes or self.entity_labels:
            for i in np.flatnonzero(ids < 0).tolist():
                found = self._find_entity(names.name(i))
                ids[i] = -1 if found is None else found
        return ids

    def _find_entity(self, name: str) -> int | None:
        found = self.entities.find(name)
        if found is None and self.prefixes:
            found = self.entities.find(full_name(name, self.prefixes))
        if found is None and self.entity_labels:
            labelled = self._labelled_entities.get(name.casefold(), [])
            found = self.entities.id(labelled[0]) if len(labelled) == 1 else None
        return found

    @cached_property
    def _labelled_entities(self) -> dict[str, list[str]]:
        return _by_label((name, label) for name, label in self.entity_labels.items() if name in self.entities)

    @cached_property
    def _labelled_predicates(self) -> dict[str, list[str]]:
        labels = self.predicate_labels
        return _by_label((name, labels[name]) for name in {p.name for p in self.predicates} if name in labels)

    def resolved(self, query: Query) -> Query:
        """Return the `query` with names in place of labels. Raises UnknownName for a name that is neither."""
        predicate = self.named_predicate(query.target)
        names = (None if name is None else self.entities.name(self.entity_id(name)) for name in query.arguments)
        return Query(predicate.name, tuple(names))

    def named_predicate(self, predicate: Predicate) -> Predicate:
        """Return the predicate of this base that has the name of `predicate`, its short name or its label.

        Raises UnknownName if there is none, or several with this label.
        """
        found = self.predicates_named(predicate)
        if len(found) > 1:
            raise unclear_name("predicate", predicate.name, [p.name for p in found], (), {})
        return found[0] if found else self.predicates[self.predicate_id(predicate)]

    def predicates_named(self, predicate: Predicate) -> list[Predicate]:
        """Return the predicate with the name of `predicate` or its short name, else those with this label."""
        for one in (predicate, Predicate(full_name(predicate.name, self.prefixes), predicate.arity)):
            if one in self._predicate_ids:
                return [one]
        same = self._labelled_predicates.get(predicate.name.casefold(), [])
        return [p for p in (Predicate(name, predicate.arity) for name in same) if p in self._predicate_ids]

    def predicate(self, text: str) -> Predicate:
        """Return the predicate that `text` names: `name`, or `name/arity` if both arities exist, or its label.

        Raises UnknownName if there is none, or several with this label.
        """
        exact = [p for p in self.predicates if p.name == text]
        if len(exact) == 1:
            return exact[0]
        if len(exact) == 2:
            raise UnknownName("predicate", text, (), f"both arities exist, write {text}/1 or {text}/2")
        name, _, arity = text.rpartition("/")
        for p in self.predicates:
            if p.name == name and str(p.arity) == arity:
                return p
        if (full := full_name(text, self.prefixes)) != text and self._knows(full):
            return self.predicate(full)
        labelled = self._labelled_predicates.get(text.casefold(), [])
        if len(labelled) == 1:
            return self.predicate(labelled[0])
        if not labelled and (hint := self._hint_of_wide(text)):
            raise UnknownName("predicate", text, (), hint)
        raise unclear_name("predicate", text, labelled, [p.name for p in self.predicates], self.predicate_labels)

    def wide_predicate(self, text: str) -> Symbol | None:
        """Return the predicate of three or more arguments that `text` names, as `name` or `name/arity`, or None."""
        return next((symbol for symbol in self.wide if text in (symbol.name, str(symbol))), None)

    def _hint_of_wide(self, text: str) -> str:
        symbol = self.wide_predicate(text)
        return f"it has {symbol.arity} arguments, and only nlil program uses such facts" if symbol else ""

    def _knows(self, text: str) -> bool:
        """Return whether `text` is the name of a predicate, or `name/arity`."""
        return any(text in (p.name, str(p)) for p in self.predicates)

    def code(self, step: Step) -> int:
        """Return the code of a step."""
        return 2 * self.predicate_id(step.predicate) + step.inverse

    def step(self, code: int) -> Step:
        """Return the step of a code."""
        return Step(self.predicates[code >> 1], bool(code & 1))

    def fact(self, predicate: int, subject: int, object: int = NO_OBJECT) -> Fact:
        """Return the fact with the ids `predicate`, `subject` and `object`; without `object` the fact is unary."""
        ids = (subject,) if object == NO_OBJECT else (subject, object)
        return Fact(self.predicates[predicate], tuple(self.entities.name(i) for i in ids))

    def label(self, name: str) -> str:
        """Return the label of an entity name, or the name itself."""
        return self.entity_labels.get(name, name)

    def image_of(self, entity: int) -> str | None:
        """Return the name of the graph (the image) of an entity, or None if graphs have no names."""
        if self.graph_of is None or self.graph_names is None:
            return None
        return self.graph_names.name(int(self.graph_of[entity]))

    # indexes --------------------------------------------------------------------------------------

    @cached_property
    def crisp(self) -> KnowledgeBase:
        """The same base with only the facts of weight .5 or more, as facts of weight 1."""
        return self if self.facts.weight is None else replace(self, facts=self.facts.crisp())

    @cached_property
    def binary(self) -> Facts:
        """The facts of two arguments."""
        is_binary = ~self.facts.is_unary
        return self.facts if is_binary.all() else self.facts[is_binary]

    @cached_property
    def unary(self) -> Facts:
        """The facts of one argument."""
        return self.facts[self.facts.is_unary]

    @cached_property
    def domain(self) -> Mask:
        """The entities of this base: all, or with many graphs those whose graph has a fact here.

        Scene graphs of other splits share the vocabulary, but their objects are not part of this base.
        """
        everyone = np.ones(self.num_entities, bool)
        if self.graph_of is None:
            return everyone
        present = np.zeros(self.num_graphs, bool)
        present[self.graph_of[self.facts.subject]] = True
        return present[self.graph_of]

    @cached_property
    def unary_pointer(self) -> Longs:
        """The offsets of `unary`, which is sorted by predicate: unary_pointer[p] .. unary_pointer[p + 1] for p."""
        return offsets(self.unary.predicate, self.num_predicates)

    def members(self, predicate_id: int) -> Ids:
        """Return the entities of the unary predicate `predicate_id`, ascending."""
        lo, hi = self.unary_pointer[predicate_id : predicate_id + 2]
        return self.unary.subject[lo:hi]

    @cached_property
    def predicate_counts(self) -> Longs:
        """The number of facts of each predicate."""
        return counted(self.facts.predicate, self.num_predicates)

    def with_facts(self, facts: Facts) -> KnowledgeBase:
        """Return a base with the same entities and predicates and other `facts`."""
        return replace(self, facts=facts.unique())

    def without(self, predicate_ids: Sequence[int]) -> KnowledgeBase:
        """Return the base without the facts of `predicate_ids`, with the same names and ids."""
        keep: Mask = ~np.isin(self.facts.predicate, np.asarray(predicate_ids, np.int32))
        return replace(self, facts=self.facts[keep]) if len(predicate_ids) else self

    def only(self, predicate_ids: Sequence[int]) -> KnowledgeBase:
        """Return the base with the facts of `predicate_ids` alone, with the same names and ids."""
        return replace(self, facts=self.facts[np.isin(self.facts.predicate, np.asarray(predicate_ids, np.int32))])

    def __post_init__(self) -> None:
        for what, number, most in (
            ("entities", len(self.entities), MOST_IDS),
            ("predicates", len(self.predicates), MOST_IDS // 2),
        ):
            if number > most:
                raise DataError(f"a base has at most {most:,} {what}, got {number:,}")
        columns = (self.facts.subject, self.facts.object, *self.wide.values())
        top = max(int(ids.max(initial=-1)) for ids in columns)
        if top >= len(self.entities):
            raise DataError(f"entity ids must be below {len(self.entities)}, got {top}")
        if self.boxes is not None and self.boxes.shape != (len(self.entities), 4):
            raise DataError(f"boxes: expected {len(self.entities)} rows of x, y, w, h, got {self.boxes.shape}")


def _by_label(pairs: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return label -> names, ignoring case."""
    found: dict[str, list[str]] = {}
    for name, label in pairs:
        found.setdefault(label.casefold(), []).append(name)
    return found


def unclear_name(
    kind: str, text: str, labelled: Sequence[str], names: Iterable[str], labels: Mapping[str, str]
) -> UnknownName:
    """Return the error for a `text` that is the label of several names, or of none.

    Args:
        kind: what `text` should name, such as "entity".
        text: the text.
        labelled: the names that have it as their label.
        names: names that may have been meant.
        labels: labels that may have been meant, by name.
    """
    if labelled:
        some = ", ".join(sorted(labelled)[:SHOWN_NAMES])
        more = f" and {len(labelled) - SHOWN_NAMES} more" if len(labelled) > SHOWN_NAMES else ""
        return UnknownName(kind, text, (), f"it is the label of {some}{more}; write one of these")
    return UnknownName(kind, text, [*names, *islice(labels.values(), MANY_NAMES)])
