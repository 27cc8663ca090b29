"""Figures of a peer from the candidates that it wrote: filtered, both directions, by one function.

A peer lists its best candidates only. An answer that it lists has the mean rank of the candidates with its score; the
same is counted once more in the peer's own order, which may tell equal scores apart (maxplus compares further rules,
then frequency). An answer that it does not list has the mean rank of all that are not listed.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from nlil.data.facts import Facts
from nlil.errors import DataError

HEAD, TAIL = "head", "tail"
DIGITS = 9
"""Scores are rounded so before they are compared, as ours are."""
HITS = (1, 3, 10)


class Query(NamedTuple):
    """p(?, entity) for `head`, p(entity, ?) for `tail`."""

    direction: str
    predicate: int
    entity: int


Candidates = Sequence[tuple[int, float]]


def candidate_ranks(candidates: Candidates, answer: int, known: set[int], num_entities: int) -> tuple[float, float]:
    """The rank of `answer` by score, ties by their mean, and in the order of the list; other `known` are left out.

    >>> candidate_ranks([(4, 0.9), (1, 0.5), (2, 0.5)], 2, {2, 4}, 10)
    (1.5, 2.0)
    >>> candidate_ranks([(4, 0.9), (1, 0.5)], 2, {2, 4}, 10)
    (5.5, 5.5)
    """
    listed = [(entity, round(score, DIGITS)) for entity, score in candidates if entity == answer or entity not in known]
    place = next((i for i, (entity, _) in enumerate(listed) if entity == answer), None)
    if place is None:
        competing = num_entities - len(known - {answer})
        rest = len(listed) + (competing - len(listed) + 1) / 2
        return rest, rest
    own = listed[place][1]
    above = sum(score > own for _, score in listed)
    tied = sum(score == own for _, score in listed)
    return above + (tied + 1) / 2, float(place + 1)


def figures(candidates: Mapping[Query, Candidates], facts: Facts, known: Facts, num_entities: int) -> dict[str, float]:
    """MRR and hits of binary `facts`, both directions; `own_order` beside a name: in the order of the list."""
    answers = answers_of(known)
    tied: list[float] = []
    ordered: list[float] = []
    for query, answer in queries_of(facts):
        by_score, by_order = candidate_ranks(candidates.get(query, ()), answer, answers[query], num_entities)
        tied.append(by_score)
        ordered.append(by_order)
    return {**_means(tied, ""), **_means(ordered, "_own_order"), "num_queries": len(tied)}


def _means(ranks: Sequence[float], ending: str) -> dict[str, float]:
    size = max(len(ranks), 1)
    found = {f"mrr{ending}": sum(1 / rank for rank in ranks) / size}
    return found | {f"hits@{k}{ending}": sum(rank <= k for rank in ranks) / size for k in HITS}


def queries_of(facts: Facts) -> Iterable[tuple[Query, int]]:
    """Both questions that each binary fact answers."""
    binary = facts[~facts.is_unary]
    columns = (binary.predicate.tolist(), binary.subject.tolist(), binary.object.tolist())
    for predicate, subject, object_ in zip(*columns):
        yield Query(HEAD, predicate, object_), subject
        yield Query(TAIL, predicate, subject), object_


def answers_of(facts: Facts) -> Mapping[Query, set[int]]:
    answers: defaultdict[Query, set[int]] = defaultdict(set)
    for query, answer in queries_of(facts):
        answers[query].add(answer)
    return answers


def read_candidates(path: Path) -> dict[Query, Candidates]:
    """What the peer wrote: direction, relation, entity, then candidate and score in turn."""
    found: dict[Query, Candidates] = {}
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, start=1):
            direction, *words = line.rstrip("\n").split("\t")
            try:
                relation, entity, *rest = words
                pairs = [(id_of(name), float(score)) for name, score in zip(rest[::2], rest[1::2], strict=True)]
                # Below 0: what stands for a unary predicate, and is no entity of ours.
                real = [pair for pair in pairs if pair[0] >= 0]
                found[Query(direction, id_of(relation), id_of(entity))] = real
            except ValueError:
                raise DataError(
                    f"expected direction, relation, entity, then candidates with scores, got {line[:80]!r}",
                    path,
                    number,
                ) from None
    return found


def id_of(name: str) -> int:
    """
    >>> id_of("e17")
    17
    """
    return int(name[1:])
