"""Store: facts that grow, as dictionaries. What materialize looks up and adds to, one fact at a time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from ..data.facts import NO_OBJECT
from ..data.kb import KnowledgeBase

FactKey = tuple[int, int, int]
"""(predicate, subject, object); the object of a unary fact is NO_OBJECT."""

EMPTY: dict[int, float] = {}


class Store:
    """Confidence of every fact of some predicates: edges[code][node][neighbour], members[predicate][entity].

    `denied` are the facts that the base gives the weight 0.
    """

    def __init__(self, kb: KnowledgeBase, predicates: Iterable[int]) -> None:
        self.graph_of = None if kb.graph_of is None else kb.graph_of.tolist()
        self.num_entities = kb.num_entities
        self.edges: dict[int, dict[int, dict[int, float]]] = {}
        self.members: dict[int, dict[int, float]] = {}
        self.denied: set[FactKey] = set()
        for predicate in predicates:
            self._load(kb, predicate)

    def _load(self, kb: KnowledgeBase, predicate: int) -> None:
        self.edges[2 * predicate], self.edges[2 * predicate + 1], self.members[predicate] = {}, {}, {}
        facts = kb.facts.of(predicate)
        weights = [1.0] * len(facts) if facts.weight is None else facts.weight.tolist()
        for subject, object_, weight in zip(facts.subject.tolist(), facts.object.tolist(), weights, strict=True):
            if weight > 0.0:
                self.put((predicate, subject, object_), weight)
            else:
                self.denied.add((predicate, subject, object_))

    def put(self, fact: FactKey, confidence: float) -> None:
        predicate, subject, object_ = fact
        if object_ == NO_OBJECT:
            self.members[predicate][subject] = confidence
        else:
            self.edges[2 * predicate].setdefault(subject, {})[object_] = confidence
            self.edges[2 * predicate + 1].setdefault(object_, {})[subject] = confidence

    def confidence(self, fact: FactKey) -> float:
        """0 for what is no fact."""
        predicate, subject, object_ = fact
        if object_ == NO_OBJECT:
            return self.members[predicate].get(subject, 0.0)
        return self.edges[2 * predicate].get(subject, EMPTY).get(object_, 0.0)

    def facts(self, predicate: int) -> Iterator[tuple[FactKey, float]]:
        for entity, confidence in self.members[predicate].items():
            yield (predicate, entity, NO_OBJECT), confidence
        for subject, row in self.edges[2 * predicate].items():
            for object_, confidence in row.items():
                yield (predicate, subject, object_), confidence

    def size(self, predicate: int) -> int:
        """An upper guess of the number of facts: subjects for a binary predicate."""
        return len(self.members[predicate]) + len(self.edges[2 * predicate])

    def graph(self, entity: int) -> int:
        return 0 if self.graph_of is None else int(self.graph_of[entity])

    def entities(self, graph: int | None) -> list[int]:
        """The entities of one graph, or all."""
        if graph is None or self.graph_of is None:
            return list(range(self.num_entities))
        return [entity for entity, own in enumerate(self.graph_of) if own == graph]
