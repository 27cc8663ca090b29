"""Soft evaluation: the dense formulas of the paper, gradients, direction, what is hidden, graphs, effort."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
import torch
from soft_cases import (
    Chosen,
    attend,
    dense_counts,
    dense_score,
    paths_of,
    predicate_id,
    queries_of,
    random_logits,
    shape_of,
    space_of,
)

from nlil.data.kb import KnowledgeBase
from nlil.neural import soft
from nlil.neural.sampling import NO_ENTITY, LabelledQueries
from nlil.neural.soft import Lifted, Squash, clamp, scores, sigmoid, statement_counts
from nlil.neural.space import Attentions, Kind, Start

NAMES = "abcdef"


def random_base(seed: int, weighted: bool = True, density: float = 0.4) -> KnowledgeBase:
    """Two binary and one unary predicate, by default dense enough for statements that hold more than once."""
    random = np.random.default_rng(seed)
    facts = [(x, p, y) for p in ("p", "q") for x in NAMES for y in NAMES if random.random() < density]
    facts += [(x, "u", "") for x in NAMES if random.random() < 0.6]
    if not weighted:
        return KnowledgeBase.from_facts([tuple(name for name in fact if name) for fact in facts])  # type: ignore[misc]
    return KnowledgeBase.from_facts([(*fact, float(random.uniform(0.3, 1))) for fact in facts])


def some_queries(kb: KnowledgeBase) -> LabelledQueries:
    """Some facts of p, hidden, and some other pairs."""
    facts = kb.facts.of(predicate_id(kb, "p"))
    pairs = list(zip(facts.subject.tolist(), facts.object.tolist()))
    others = [(x, y) for x in range(kb.num_entities) for y in range(kb.num_entities) if (x, y) not in pairs]
    chosen = [*pairs[::4], *others[::6]]
    x, y = (np.array([column], np.int64) for column in zip(*chosen))
    return LabelledQueries(x, y, np.zeros(x.shape, np.float32), np.array([[pair in pairs for pair in chosen]]))


@pytest.mark.parametrize("squash", [clamp, sigmoid])
@pytest.mark.parametrize("spread", [0.5, 30.0], ids=["spread", "nearly one-hot"])
@pytest.mark.parametrize("seed", range(3))
def test_scores_are_the_dense_formulas(seed: int, spread: float, squash: Squash) -> None:
    kb = random_base(seed)
    space = space_of(kb, "p")
    shape = shape_of(space, steps=2, heads=2, instances=2, widths=(3, 2))
    attentions = attend(space, shape, random_logits(shape, 1, seed, spread))
    queries = some_queries(kb)
    paths = paths_of(kb, space, shape, queries)
    found = scores(paths, attentions, squash)[0, :, 0]
    counts = statement_counts(paths, attentions)[0, :, 0]
    for b, (x, y, hide) in enumerate(zip(queries.x[0].tolist(), queries.y[0].tolist(), queries.hide[0].tolist())):
        expected = dense_counts(kb, space, shape, attentions, x, y, hide)
        torch.testing.assert_close(counts[b], expected, atol=1e-6, rtol=1e-6)
        torch.testing.assert_close(found[b], dense_score(expected, attentions, squash), atol=1e-6, rtol=1e-6)


# gradients -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("squash", [clamp, sigmoid])
@pytest.mark.parametrize("weighted", [False, True], ids=["crisp", "weighted"])
def test_gradients_are_finite_differences(weighted: bool, squash: Squash) -> None:
    kb = random_base(6, weighted, density=0.2)
    space = space_of(kb, "p")
    shape = shape_of(space, steps=2, heads=2, widths=(2,))
    logits = random_logits(shape, 1, 5, 2.0)
    paths = paths_of(kb, space, shape, some_queries(kb))
    counts = statement_counts(paths, attend(space, shape, logits))
    assert (counts - 1).abs().min() > 1e-3, "at the clamp's kink there is no gradient to compare with"
    assert (counts > 1).any()
    assert ((counts > 1e-3) & (counts < 1)).any()
    names = list(logits.tensors())

    def score(*values: torch.Tensor) -> torch.Tensor:
        return scores(paths, attend(space, shape, Attentions.of_tensors(dict(zip(names, values)))), squash)

    inputs = [t.clone().requires_grad_() for t in logits.tensors().values()]
    # fast: one random direction at a time; a wrong entry shows in every one of them
    assert torch.autograd.gradcheck(score, inputs, eps=1e-6, atol=1e-9, rtol=1e-5, fast_mode=True)
    gradients = torch.autograd.grad(score(*inputs).square().sum(), inputs)
    assert all(g.abs().max() > 1e-3 for g in gradients), "each family of attentions must be felt"


def test_two_members_have_gradients_of_their_own() -> None:
    kb = random_base(6)
    space = space_of(kb, "p")
    shape = shape_of(space, steps=2, heads=2, instances=2, widths=(2,))
    logits = random_logits(shape, 3, 4)
    paths = paths_of(kb, space, shape, some_queries(kb))

    def gradients(part: Attentions) -> list[torch.Tensor]:
        leaves = {name: t.clone().requires_grad_() for name, t in part.tensors().items()}
        scores(paths, attend(space, shape, Attentions.of_tensors(leaves))).square().sum().backward()
        return [t.grad for t in leaves.values() if t.grad is not None]

    for one, every in zip(gradients(logits[2:3]), gradients(logits), strict=True):  # members 0 and 2 have one mask
        torch.testing.assert_close(one[0], every[2])


# one rule at a time ----------------------------------------------------------------------------------


def values(
    kb: KnowledgeBase, chosen: Chosen, attentions: Attentions, queries: LabelledQueries, squash: Squash = clamp
) -> list[float]:
    return scores(paths_of(kb, chosen.space, chosen.shape, queries), attentions, squash)[0, :, 0].tolist()


def test_sigmoid_of_one_hot_attentions_by_hand() -> None:
    """h(X) :- p(X, Z), \\+ u(X) before any simplification: sigmoid(2 paths) * (1 - sigmoid(.5))."""
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "p", "c"), ("a", "u", "", 0.5), ("c", "h")])
    space = space_of(kb, "h")
    chosen = Chosen(kb, space, shape_of(space, steps=1, widths=(1,)))
    p = chosen.statement("p", (Kind.X, 0), (Kind.ANY, 0))
    u = chosen.statement("u", right=(Kind.X, 0))
    statements = chosen.shape.statements
    chosen.formula(1, 0, p, statements + u)
    attentions = chosen.output(2 * statements)
    queries = queries_of(kb, ("a",), ("b",))

    def s(count: float) -> float:
        return 1 / (1 + np.exp(-count))

    assert values(kb, chosen, attentions, queries, sigmoid) == pytest.approx([s(2) * (1 - s(0.5)), 0.25], abs=1e-6)
    assert values(kb, chosen, attentions, queries, clamp) == pytest.approx([0.5, 0.0], abs=1e-6)
    assert values(kb, chosen, chosen.output(2 * statements + 1), queries) == pytest.approx([0.5, 1.0], abs=1e-6)


@pytest.mark.parametrize(("inverse", "expected"), [(False, [1.0, 0.0]), (True, [0.0, 1.0])])
def test_phi_moves_from_subject_to_object(inverse: bool, expected: list[float]) -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "u"), ("b", "u"), ("c", "h")])
    space = space_of(kb, "h")
    chosen = Chosen(kb, space, shape_of(space, steps=1)).operator(0, "p", inverse)
    attentions = chosen.output(chosen.statement("u", right=(Kind.X, 1)))
    assert values(kb, chosen, attentions, queries_of(kb, ("a",), ("b",))) == expected


def test_a_statement_reads_from_left_to_right() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("c", "h", "c")])
    space = space_of(kb, "h")
    chosen = Chosen(kb, space, shape_of(space, steps=1))
    queries = queries_of(kb, ("a", "b"), ("b", "a"))
    assert values(kb, chosen, chosen.output(chosen.statement("p", (Kind.X, 0), (Kind.Y, 0))), queries) == [1.0, 0.0]
    assert values(kb, chosen, chosen.output(chosen.statement("p", (Kind.Y, 0), (Kind.X, 0))), queries) == [0.0, 1.0]


def test_the_own_fact_is_hidden_and_nothing_else() -> None:
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("b", "p", "a"), ("a", "q", "b"), ("b", "u"), ("a", "u")])
    space = space_of(kb, "p")

    def value(
        statement: str, left: tuple[Kind, int], right: tuple[Kind, int], hide: bool, inverse: bool = False
    ) -> float:
        chosen = Chosen(kb, space, shape_of(space, steps=1)).operator(0, "p", inverse)
        attentions = chosen.output(chosen.statement(statement, left, right))
        return values(kb, chosen, attentions, queries_of(kb, ("a", "b"), hide=hide))[0]

    x, y, step_x, step_y = (Kind.X, 0), (Kind.Y, 0), (Kind.X, 1), (Kind.Y, 1)
    hidden_ones = [("p", x, y, False), ("u", x, step_x, False), ("u", x, step_y, True)]  # the last walks it backwards
    for statement, left, right, inverse in hidden_ones:
        assert value(statement, left, right, False, inverse) == 1.0
        assert value(statement, left, right, True, inverse) == 0.0
    for statement, left, right, inverse in [
        ("p", y, x, False),
        ("q", x, y, False),
        ("u", x, step_y, False),
        ("u", x, step_x, True),
    ]:
        assert value(statement, left, right, True, inverse) == 1.0, "p(b, a) and q(a, b) stay visible"


@pytest.mark.parametrize("group", [(), ("u", "v")], ids=["fact", "class"])
def test_a_set_does_not_hold_what_is_hidden(group: tuple[str, ...]) -> None:
    """h(X) :- u(Z), p(Z, W), p(X, W): X itself is no such Z when u(X) is asked, or any class of X is."""
    kb = KnowledgeBase.from_facts([("a", "p", "b"), ("a", "u"), ("c", "p", "d"), ("c", "v"), ("e", "u")])
    kb = replace(kb, classes=frozenset(predicate_id(kb, name) for name in group))
    space = space_of(kb, "v" if group else "u", [Start(Kind.X), Start(Kind.UNARY, predicate_id(kb, "u"))])
    chosen = Chosen(kb, space, shape_of(space, steps=1)).operator(0, "p")
    attentions = chosen.output(chosen.statement("p", (Kind.UNARY, 0), (Kind.X, 1)))
    assert values(kb, chosen, attentions, queries_of(kb, ("a",))) == [1.0]
    assert values(kb, chosen, attentions, queries_of(kb, ("a",), hide=True)) == [0.0]


def test_all_classes_of_an_object_are_hidden() -> None:
    kb = KnowledgeBase.from_facts([("a", "bush"), ("b", "tree"), ("b", "near", "a"), ("a", "green")])
    kb = replace(
        kb, classes=frozenset(predicate_id(kb, name) for name in ("bush", "tree")), graph_of=np.zeros(2, np.int32)
    )
    space = space_of(kb, "bush")

    def value(statement: str, slot: int, name: str) -> float:
        chosen = Chosen(kb, space, shape_of(space, steps=1)).operator(0, "near", inverse=True)
        attentions = chosen.output(chosen.statement(statement, right=(Kind.X, slot)))
        return values(kb, chosen, attentions, queries_of(kb, (name,), hide=True))[0]

    assert value("tree", 0, "b") == 0.0, "a class query sees no class of its object"
    assert value("bush", 0, "a") == 0.0
    assert value("green", 0, "a") == 1.0, "attributes stay visible"
    assert value("tree", 1, "a") == 1.0, "classes of other objects stay visible"


def test_a_set_means_the_querys_own_graph() -> None:
    scenes = [
        ("a1", "car"),
        ("a1", "near", "a2"),
        ("a3", "near", "a2"),
        ("b1", "car"),
        ("b2", "car"),
        ("b1", "near", "b2"),
        ("b3", "near", "b2"),
        ("a2", "h"),
        ("b3", "h"),
    ]
    kb = KnowledgeBase.from_facts(scenes)
    graph_of = np.array([name.startswith("b") for name in kb.entities], np.int32)
    joined = replace(kb, graph_of=graph_of)
    space = space_of(joined, "h")
    shape = shape_of(space, steps=2, heads=2, widths=(2,))
    attentions = attend(space, shape, random_logits(shape, 8, 1, 3.0))
    for graph, letter in enumerate("ab"):
        alone = joined.with_facts(joined.facts[graph_of[joined.facts.subject] == graph])
        queries = queries_of(kb, *[(name,) for name in kb.entities if name.startswith(letter)])
        one, two = (scores(paths_of(base, space, shape, queries), attentions) for base in (alone, joined))
        torch.testing.assert_close(one, two)
    # Cars from which an edge leads to X: one in the first scene; a chance draw must not be all that sees the set.
    chosen = Chosen(joined, space, shape_of(space, steps=1))
    found = chosen.output(chosen.statement("near", (Kind.UNARY, 0), (Kind.X, 0)))
    assert values(joined, chosen, found, queries_of(kb, ("a2",), ("b2",), ("a3",))) == [1.0, 1.0, 0.0]


def test_padding_has_no_value() -> None:
    kb = random_base(1)
    space = space_of(kb, "p")
    shape = shape_of(space, steps=1)
    queries = some_queries(kb)
    padded = LabelledQueries(
        *(
            np.concatenate([getattr(queries, name), np.full((1, 2), empty)], 1).astype(getattr(queries, name).dtype)
            for name, empty in (("x", NO_ENTITY), ("y", NO_ENTITY), ("label", 0), ("hide", False))
        )
    )
    attentions = attend(space, shape, random_logits(shape, 2, 2))
    paths = paths_of(kb, space, shape, padded)
    assert paths.real[0].tolist() == [True] * queries.x.shape[1] + [False, False]
    assert (statement_counts(paths, attentions)[:, -2:] == 0).all()
    torch.testing.assert_close(
        scores(paths, attentions)[:, :-2], scores(paths_of(kb, space, shape, queries), attentions)
    )


def test_a_lift_ends_as_the_clamp() -> None:
    count = torch.tensor([0.0, 0.01, 0.04, 3.0])[None, :, None, None]
    torch.testing.assert_close(Lifted(1.0)(count), clamp(count))
    small = count[:, :3]
    lifted = Lifted(1e-4)(small).flatten()
    assert lifted.max() == 1.0
    torch.testing.assert_close(lifted / lifted[1], small.flatten() / 0.01)  # the same proportions


# effort ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [1, 2, 3])
@pytest.mark.parametrize("predicates", [1, 6])
def test_one_sparse_product_per_step(steps: int, predicates: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """T products, one for each argument, one where they meet, however many predicates there are."""
    facts = [(a, f"p{k}", b) for k in range(predicates) for a, b in itertools.pairwise(NAMES)]
    kb = KnowledgeBase.from_facts(facts)
    space = space_of(kb, "p0")
    shape = shape_of(space, steps, heads=3, instances=2, widths=(4, 2))
    calls = []
    product = soft.multiply_add

    def counted(*arguments: object) -> torch.Tensor:
        calls.append(arguments)
        return product(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr(soft, "multiply_add", counted)
    scores(paths_of(kb, space, shape, queries_of(kb, ("a", "b"))), attend(space, shape, random_logits(shape, 2, 0)))
    assert len(calls) == steps + 2 + 1
