"""The sparse chain model against dense matrices, with every query's own fact taken out of them."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from kbs import even, family, street
from nlil.data.facts import Facts
from nlil.data.kb import KnowledgeBase
from nlil.logic.predicate import Predicate
from nlil.neural.paths import PathLimits
from nlil_bench.baselines import chain_walks
from nlil_bench.baselines.chain_walks import ChainMap, ChainQueries, Walks
from nlil_bench.baselines.neural_lp import UNLIMITED, ChainAttentions, chain_values


def soft_family() -> KnowledgeBase:
    kb = family()
    weight = np.linspace(0.5, 1.0, len(kb.facts)).astype(np.float32)
    return kb.with_facts(Facts(kb.facts.predicate, kb.facts.subject, kb.facts.object, weight))


def ambiguous_street() -> KnowledgeBase:
    """One object with two classes, so that hiding one of them is not enough."""
    kb = street()
    person, car = (kb.predicate_id(Predicate(name, 1)) for name in ("person", "car"))
    extra = Facts(*(np.array([v], np.int32) for v in (car, int(kb.members(person)[0]), -1)))
    return kb.with_facts(kb.facts + extra)


BASES = {"family": family, "soft family": soft_family, "even": even, "street": ambiguous_street}


def all_queries(kb: KnowledgeBase) -> ChainQueries:
    return ChainQueries.of(kb.facts, np.ones(len(kb.facts), bool))


def random_attentions(codes: int, rank: int, steps: int, operators: int) -> list[Tensor]:
    """Logits of a, then of b_1 .. b_(T + 1)."""
    generator = torch.Generator().manual_seed(3)
    sizes = [(codes, rank, steps, operators), *((codes, rank, t) for t in range(1, steps + 2))]
    return [torch.randn(s, generator=generator, dtype=torch.float64).requires_grad_() for s in sizes]


def attentions_of(logits: list[Tensor]) -> ChainAttentions:
    a, *b = (torch.softmax(t, -1) for t in logits)
    return ChainAttentions(a, tuple(b))


def without_own_fact(kb: KnowledgeBase, code: int, known: int, answer: int) -> KnowledgeBase:
    p, facts = code // 2, kb.facts
    if known < 0:
        own = kb.classes if p in kb.classes else {p}
        return kb.with_facts(facts[~(np.isin(facts.predicate, list(own)) & (facts.subject == answer))])
    subject, object = (answer, known) if code % 2 else (known, answer)
    return kb.with_facts(facts[~((facts.predicate == p) & (facts.subject == subject) & (facts.object == object))])


def dense_values(
    kb: KnowledgeBase, operators: np.ndarray, query: tuple[int, int], a: Tensor, b: list[Tensor]
) -> Tensor:
    """(entities, rank): the recurrence with full matrices, for one query. a (R, T, O), b_t (R, t)."""
    known, answer = query
    n = kb.num_entities
    matrices = torch.zeros(len(operators) + 1, n, n, dtype=torch.float64)
    place = {int(code): i for i, code in enumerate(operators)}
    weights = np.ones(len(kb.facts)) if kb.facts.weight is None else kb.facts.weight
    for p, s, o, w in zip(kb.facts.predicate, kb.facts.subject, kb.facts.object, weights):
        if o < 0:
            matrices[place[2 * p], s, s] = float(w)
        else:
            matrices[place[2 * p], s, o] = matrices[place[2 * p + 1], o, s] = float(w)
    matrices[-1] = torch.eye(n)
    start = torch.zeros(n, dtype=torch.float64)
    if known >= 0:
        start[known] = 1
    else:
        inside = np.ones(n, bool) if kb.graph_of is None else kb.graph_of == kb.graph_of[answer]
        start[torch.from_numpy(inside)] = 1 / inside.sum()
    columns = []
    for r in range(a.shape[0]):
        cells = [start]
        for t in range(a.shape[1]):
            read = sum(weight * cell for weight, cell in zip(b[t][r], cells))
            moved = torch.einsum("k,kij,i->j", a[r, t], matrices, read)
            cells.append(moved / moved.sum().clamp(min=1e-20))
        columns.append(sum(weight * cell for weight, cell in zip(b[-1][r], cells)))
    return torch.stack(columns, 1)


def spread(walks: Walks, values: Tensor, query: int, width: int) -> Tensor:
    """The rows of one query as a dense vector."""
    source = int(walks.source_of[query])
    mine = walks.key // width == source
    return torch.zeros(width, values.shape[1], dtype=values.dtype).index_put((walks.key[mine] % width,), values[mine])


@pytest.mark.parametrize("name", BASES)
@pytest.mark.parametrize("steps", [1, 3])
def test_values_and_gradients_are_those_of_dense_matrices(name: str, steps: int) -> None:
    kb = BASES[name]()
    chain_map = ChainMap(kb, steps, UNLIMITED)
    queries = all_queries(kb)
    walks = chain_map.walks(queries)
    logits = random_attentions(len(walks.codes), 2, steps, chain_map.num_operators)
    attentions = attentions_of(logits)
    values = chain_values(walks, attentions)
    dense = []
    for i in range(len(queries)):
        code, known, answer = int(queries.code[i]), int(queries.known[i]), int(queries.answer[i])
        c = int(np.searchsorted(walks.codes, code))
        dense.append(
            dense_values(
                without_own_fact(kb, code, known, answer),
                chain_map.operators,
                (known, answer),
                attentions.operators[c],
                [b[c] for b in attentions.memories],
            )
        )
    sparse = [spread(walks, values, i, kb.num_entities) for i in range(len(queries))]
    torch.testing.assert_close(torch.stack(sparse), torch.stack(dense))
    reached = (walks.answer >= 0).tolist()
    assert [bool((d[a] > 0).any()) for d, a in zip(dense, queries.answer)] == [
        ok and bool((values[row] > 0).any()) for ok, row in zip(reached, walks.answer)
    ]
    mix = torch.randn(torch.stack(dense).shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    ours, theirs = (
        torch.autograd.grad((torch.stack(v) * mix).sum(), logits, retain_graph=True) for v in (sparse, dense)
    )
    for one, other in zip(ours, theirs):
        torch.testing.assert_close(one, other)


def test_parts_and_limits_bound_the_work() -> None:
    kb = family()
    chain_map, queries = ChainMap(kb, 2, UNLIMITED), all_queries(kb)
    work = chain_map.work()
    whole = list(chain_map.parts(queries, work, 2**30))
    small = list(chain_map.parts(queries, work, 4096))
    assert len(whole) == 1
    assert len(small) > 5
    assert np.array_equal(np.concatenate([p.answer for p in small]), queries.answer)
    limited = ChainMap(kb, 2, PathLimits(step_edges=1)).walks(queries)
    assert limited.size < chain_map.walks(queries).size


def test_a_large_world_is_walked_once_for_a_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    kb = even()
    queries = all_queries(kb)
    queries = queries[queries.known < 0]
    monkeypatch.setattr(chain_walks, "SMALL_WORLD", 3)
    walks = ChainMap(kb, 2, UNLIMITED).walks(queries)
    assert len(np.unique(walks.source_of)) == len(np.unique(queries.code)) == 2
