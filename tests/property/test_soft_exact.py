"""soft(one_hot(S)) == exact(extract(S)): the rule that is printed is the rule that was scored."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from nlil.data.kb import KnowledgeBase
from nlil.kernel.evaluator import Evaluator
from nlil.neural.extract import AttentionReader
from nlil.neural.paths import PathLimits, attention_graph, build_paths
from nlil.neural.sampling import LabelledQueries
from nlil.neural.soft import clamp, scores
from nlil.neural.space import Attentions, Kind, Masks, Shape, Space, Start, operators_of, softmax_attentions
from property.engine_cases import bases

NO_LIMIT = PathLimits(2**40, 2**40)


def space_of(kb: KnowledgeBase, target: int) -> Space:
    arity = kb.predicates[target].arity
    every = np.arange(kb.num_predicates, dtype=np.int32)
    starts = [Start(Kind.X), *([Start(Kind.Y)] if arity == 2 else [])]
    starts += [Start(Kind.UNARY, p) for p in every.tolist() if kb.predicates[p].arity == 1]
    if kb.graph_of is None:  # a constant of another graph is out of sight
        starts += [Start(Kind.CONSTANT, c) for c in range(2)]
    return Space(target, arity, operators_of(kb, every), every, (*starts, Start(Kind.ANY)))


def random_attentions(shape: Shape, masks: Masks, seed: int) -> Attentions:
    generator = torch.Generator().manual_seed(seed)
    members = len(masks.operators)

    def draw(*size: int) -> torch.Tensor:
        return torch.randn(members, *size, generator=generator, dtype=torch.float64)

    levels = shape.levels
    pairs = [(c, 2 * before) for before, c in itertools.pairwise(levels)]
    logits = Attentions(
        draw(shape.heads, shape.steps, shape.operators),
        draw(shape.statements, shape.starts, shape.slots),
        draw(shape.statements, shape.starts, shape.slots),
        tuple(draw(*p) for p in pairs),
        tuple(draw(*p) for p in pairs),
        draw(shape.outputs),
    )
    return softmax_attentions(logits, masks, shape)


def every_query(kb: KnowledgeBase, target: int) -> LabelledQueries:
    """All head tuples; facts (and, for classes, every object) hide what the engine hides."""
    n = kb.num_entities
    if kb.predicates[target].arity == 1:
        x, y = np.arange(n), np.full(n, -1)
        known = set(kb.facts.of(target).subject.tolist())
        hide = np.array([target in kb.classes or i in known for i in range(n)])
    else:
        x, y = (a.ravel() for a in np.meshgrid(np.arange(n), np.arange(n), indexing="ij"))
        if kb.graph_of is not None:
            same = kb.graph_of[x] == kb.graph_of[y]
            x, y = x[same], y[same]
        facts = kb.facts.of(target)
        known = set(zip(facts.subject.tolist(), facts.object.tolist()))
        hide = np.array([(a, b) in known for a, b in zip(x.tolist(), y.tolist())], bool)
    return LabelledQueries(
        x[None].astype(np.int64), y[None].astype(np.int64), np.zeros((1, len(x)), np.float32), hide[None]
    )


def within_graphs(kb: KnowledgeBase) -> KnowledgeBase:
    """Without facts that cross graphs: a scene graph is its own world."""
    if kb.graph_of is None:
        return kb
    facts = kb.facts
    inside = (facts.object < 0) | (kb.graph_of[facts.subject] == kb.graph_of[facts.object])
    return kb.with_facts(facts[inside])


@pytest.mark.parametrize("linked", [False, True])
@settings(max_examples=120, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(kb=bases().map(within_graphs), data=st.data())
def test_one_hot_scores_are_those_of_the_extracted_rule(linked: bool, kb: KnowledgeBase, data: st.DataObject) -> None:
    target = data.draw(st.integers(0, kb.num_predicates - 1))
    linked = linked and kb.predicates[target].arity == 2
    space = space_of(kb, target)
    levels = data.draw(st.integers(0, 2))
    shape = Shape(
        len(space.operators),
        len(space.predicates),
        len(space.starts),
        data.draw(st.integers(1, 3)),
        data.draw(st.integers(1, 2)),
        data.draw(st.integers(1, 2)),
        (3,) * levels,
    )
    restarts = 4
    masks = Masks.of([space.padded(shape)], shape, restarts)
    hard = random_attentions(shape, masks, data.draw(st.integers(0, 2**31))).one_hot()
    queries = every_query(kb, target)
    paths = build_paths(kb, attention_graph(kb), [space], shape, queries, NO_LIMIT, linked)
    soft = scores(paths, hard, clamp)[0].numpy()
    evaluator = Evaluator(kb)
    y = queries.y[0] if kb.predicates[target].arity == 2 else None
    for member in range(restarts):
        rule = AttentionReader(kb, space, shape, hard, member, linked).argmax()
        exact = evaluator.values(rule, queries.x[0], y, hide=True)
        np.testing.assert_allclose(soft[:, member], exact, atol=1e-6, err_msg=str(rule))
