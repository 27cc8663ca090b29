"""The generator: distributions for every shape, members that do not see each other or their padding, gradients."""

from __future__ import annotations

import pytest
import torch

from nlil.config import LearnerConfig
from nlil.errors import ConfigError, RunError
from nlil.neural.generator import GENERATED_SHARE, Attention, Generator, Stack, draw, make_stack
from nlil.neural.space import Attentions, Masks, Shape

KINDS = ("transformer", "free")
SHAPE = Shape(operators=6, predicates=3, starts=3, steps=2, heads=2, instances=2, widths=(3, 2))
SHAPES = (
    SHAPE,
    Shape(operators=4, predicates=2, starts=2, steps=0),
    Shape(operators=5, predicates=3, starts=2, steps=1, widths=(2,)),
    Shape(operators=5, predicates=3, starts=1, steps=2),
    Shape(operators=7, predicates=4, starts=3, steps=3, heads=4, instances=2, widths=(4, 3)),
    Shape(operators=1, predicates=1, starts=1, steps=3, heads=3, widths=(1, 1)),
)


def masks_of(shape: Shape, *sizes: tuple[int, int, int]) -> Masks:
    """One member for each (operators, predicates, starts) that exist; the last of several starts has no paths."""
    rows = []
    for operators, predicates, starts in sizes:
        arguments = torch.zeros(shape.starts, shape.slots, dtype=torch.bool)
        arguments[:starts] = True
        if starts > 1:
            arguments[starts - 1, 1:] = False
        rows.append(
            (
                torch.arange(shape.operators) < operators,
                (torch.arange(shape.predicates) < predicates).repeat(shape.instances),
                arguments,
                torch.tensor(False),
            )
        )
    return Masks(*(torch.stack(column) for column in zip(*rows)))


def full(shape: Shape) -> tuple[int, int, int]:
    return shape.operators, shape.predicates, shape.starts


def stack_of(shape: Shape, seeds: list[int], kind: str = "transformer", **settings) -> Stack:
    return make_stack(kind, masks_of(shape, *[full(shape)] * len(seeds)), shape, seeds, **settings)  # type: ignore


def chosen(attentions: Attentions, masks: Masks) -> list[torch.Tensor]:
    """What the first member attends to, without the entries that are padding."""
    operators, statements, arguments = masks.operators[0], masks.statements[0], masks.arguments[0]
    a = attentions.map(lambda t: t[0])
    signed = torch.cat([statements, statements])
    rest = torch.ones(len(a.output) - len(signed), dtype=torch.bool)
    levels = [t[:, signed] if level == 0 else t for side in (a.first, a.second) for level, t in enumerate(side)]
    return [
        a.operators[..., operators],
        a.left[statements][:, arguments],
        a.right[statements][:, arguments],
        *levels,
        a.output[torch.cat([signed, rest])],
    ]


def assert_same(some: Attentions, others: Attentions, **tolerance: float) -> None:
    for name, tensor in some.tensors().items():
        assert torch.allclose(tensor, others.tensors()[name], **tolerance), name


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_attentions_are_distributions(kind, shape):
    masks = masks_of(shape, full(shape), (1, 1, 1), (max(1, shape.operators - 1), shape.predicates, 1))
    attentions = make_stack(kind, masks, shape, [1, 2, 3]).attentions(0.5)
    N, P, S = shape.starts, shape.slots, shape.statements
    assert attentions.operators.shape == (3, shape.heads, shape.steps, shape.operators)
    assert attentions.left.shape == attentions.right.shape == (3, S, N, P)
    assert [t.shape for t in attentions.first] == [t.shape for t in attentions.second]
    assert [t.shape[1:] for t in attentions.first] == [(c, 2 * p) for c, p in zip(shape.widths, shape.levels)]
    assert attentions.output.shape == (3, shape.outputs)
    for rows in attentions.distributions():
        assert torch.allclose(rows.sum(-1), torch.ones(rows.shape[:-1]), atol=1e-6)
    for member in range(3):
        assert (attentions.operators[member][..., ~masks.operators[member]] == 0).all()
        assert (attentions.left[member][:, ~masks.arguments[member]] == 0).all()
        assert (attentions.right[member][:, ~masks.arguments[member]] == 0).all()
        absent = torch.cat([~masks.statements[member]] * 2)
        assert (attentions.output[member][: len(absent)][absent] == 0).all()
        assert all((side[0][member][:, absent] == 0).all() for side in (attentions.first, attentions.second) if side)


@pytest.mark.parametrize("kind", KINDS)
def test_a_member_does_not_see_the_others(kind):
    together, alone = stack_of(SHAPE, [3, 1, 4], kind), stack_of(SHAPE, [1], kind)
    assert_same(together.logits()[1:2], alone.logits(), atol=1e-5)
    before = together.logits()
    with torch.no_grad():
        for value in together.parameters():
            value[0] += 1
    assert_same(together.logits()[1:], before[1:], atol=1e-5)


def test_restarts_of_a_target_share_weights_and_no_embedding():
    masks = masks_of(SHAPE, *[full(SHAPE)] * 4)
    stack = make_stack("transformer", masks, SHAPE, [1, 2, 3, 4], restarts=2)
    named = dict(zip(stack.state(), stack.parameters()))
    assert {name: len(t) for name, t in named.items() if len(t) != 4}.keys() == {
        name for name in named if name in ("alter", "state", "conclude") or ("." in name and "queries" not in name)
    }
    assert all(len(t) in (2, 4) for t in named.values())
    before = stack.logits()
    with torch.no_grad():
        named["alter"][0] *= -1
    changed = [(one - two).abs().flatten(1).amax(1) > 1e-3 for one, two in zip(tensors_of(before), tensors(stack))]
    assert all(rows.tolist() == [True, True, False, False] for rows in changed)
    alone = make_stack("transformer", masks_of(SHAPE, *[full(SHAPE)] * 2), SHAPE, [3, 4], restarts=2)
    assert_same(stack.logits()[2:], alone.logits(), atol=1e-5)


def test_held_scores_gather_gradients_until_they_are_passed_back():
    """Two steps with held scores give the weights what one pass with the sum of both losses gives them."""
    masks = masks_of(SHAPE, full(SHAPE), full(SHAPE))
    held, plain = (make_stack("transformer", masks, SHAPE, [1, 2], restarts=2, residual=True) for _ in range(2))
    source = torch.Generator().manual_seed(0)
    steps = [[torch.rand(t.shape, generator=source) for t in tensors(plain)] for _ in range(2)]
    for weights in steps:
        for stack in (held, plain):
            attentions = stack.attentions(0.5, held=stack is held).tensors().values()
            sum((w * t).sum() for w, t in zip(weights, attentions)).backward()
    is_residual = [name.startswith("residual.") for name in held.state()]
    assert all((p.grad is not None) == free for p, free in zip(held.parameters(), is_residual))
    held.pass_back()
    for name, one, two in zip(held.state(), held.parameters(), plain.parameters()):
        assert torch.allclose(one.grad, two.grad, atol=1e-6), name
    assert not held.gathered()


def test_what_is_read_meanwhile_is_what_would_be_generated(monkeypatch: pytest.MonkeyPatch):
    """Weights stay as they are until gradients are passed back, so reading costs no pass of the Transformer."""
    masks = masks_of(SHAPE, full(SHAPE), full(SHAPE))
    stack = make_stack("transformer", masks, SHAPE, [1, 2], residual=True)
    stack.attentions(held=True)
    with torch.no_grad():
        for name, value in zip(stack.state(), stack.parameters()):
            if name.startswith("residual."):
                value += 1
        generated = stack._with_residual(stack._generate())
        monkeypatch.setattr(stack, "_generate", lambda: pytest.fail("generated again"))
        assert_same(stack.logits(), generated, atol=1e-6)


def test_the_last_level_is_preferred_at_first():
    """Not by a formula of it, and not so much that it could not be unlearned."""
    for kind in KINDS:
        stack = stack_of(SHAPE, [1, 2, 3], kind)
        assert stack.attentions().output[:, -2 * SHAPE.levels[-1] :].sum(1).max() < 0.7
        stack.deep_score = LearnerConfig().deep_score
        output = stack.attentions().output
        last = output[:, -2 * SHAPE.levels[-1] :]
        assert (last.sum(1) > 0.7).all()
        assert (output > 1e-4).all()
        assert (last < 0.8).all()


@pytest.mark.parametrize("kind", KINDS)
def test_padding_changes_nothing(kind):
    wide = Shape(operators=9, predicates=5, starts=5, steps=2, heads=2, instances=2, widths=(3, 2))
    tight, padded = masks_of(SHAPE, full(SHAPE)), masks_of(wide, full(SHAPE))
    some = chosen(make_stack(kind, tight, SHAPE, [5]).attentions(), tight)
    others = chosen(make_stack(kind, padded, wide, [5]).attentions(), padded)
    for one, other in zip(some, others, strict=True):
        assert torch.allclose(one, other, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_seeds_decide_everything(kind):
    first, again = stack_of(SHAPE, [1, 2], kind), stack_of(SHAPE, [1, 2], kind)
    for name, tensor in first.logits().tensors().items():
        assert torch.equal(tensor, again.logits().tensors()[name])
        assert (tensor[0] - tensor[1]).abs().mean() > 0.2, f"restarts start alike: {name}"


def test_longer_draws_append():
    assert torch.equal(draw(1, "a", 7, 5), draw(1, "a", 40, 5)[:7])
    assert not torch.equal(draw(1, "a", 7), draw(1, "b", 7))


def test_scores_start_diverse_but_not_decided():
    shape = Shape(operators=16, predicates=10, starts=6, steps=2, heads=4, widths=(6, 6))
    sizes = ((8, 16), (8, 10), (8, 6, 9))
    masks = Masks(*(torch.ones(size, dtype=torch.bool) for size in sizes), torch.zeros(8, dtype=torch.bool))
    for rows in make_stack("transformer", masks, shape, range(8)).logits().map(torch.Tensor.detach).distributions():
        assert 0.3 < rows.std(-1).mean() < 1.1
        assert torch.softmax(rows, -1).mean((0, 1)).max() < 3 / rows.shape[-1] + 0.05


def test_gradients_reach_every_parameter():
    """Of every member; and every layer's keys and values, which share one parameter. There are no exceptions but

    rows of padding and, where a single start exists, the keys with which the first step alone looks at it.
    """
    generator = Generator(SHAPE, [1, 2])
    attentions = generator(masks_of(SHAPE, full(SHAPE), full(SHAPE)))
    soft = [rows.softmax(-1) for rows in attentions.distributions()]
    source = torch.Generator().manual_seed(0)
    sum((torch.rand(t.shape, generator=source) * t).sum() for t in soft).backward()
    for name, value in generator.named_parameters():
        assert value.grad is not None, name
        parts = value.grad.split(32, -1) if name.endswith("look") else [value.grad]
        for part in parts:
            assert (part.flatten(1).abs().amax(1) > 1e-7).all(), name
    for name in ("operators", "predicates", "starts"):
        assert (getattr(generator, name).grad.abs().amax(-1) > 1e-7).all(), name


def test_padding_has_no_gradient():
    masks = masks_of(SHAPE, (4, 2, 2))
    stack = make_stack("transformer", masks, SHAPE, [1])
    sum((t**2).sum() for t in chosen(stack.attentions(), masks)).backward()
    named = dict(zip(stack.state(), stack.parameters()))
    for name, exist in (("operators", 4), ("predicates", 2), ("starts", 2)):
        used = named[name].grad[0].abs().amax(-1) > 0
        assert used.tolist() == [row < exist for row in range(len(used))], name


def test_the_target_embedding_alters_everything():
    stack = stack_of(SHAPE, [1])
    before = stack.logits()
    with torch.no_grad():
        dict(zip(stack.state(), stack.parameters()))["target"] += torch.linspace(-2, 2, 32)
    for name, tensor in stack.logits().tensors().items():
        assert (tensor - before.tensors()[name]).abs().amax() > 1e-2, name


@pytest.mark.parametrize(("head", "step"), [(0, 0), (1, 0), (0, 1), (2, 1)])
def test_a_query_decides_its_own_slot(head, step):
    """q^(h, t) moves s^(h, t) and the path of slot 1 + (t - 1) * H + h, and no other."""
    shape = Shape(operators=5, predicates=2, starts=2, steps=2, heads=3)
    generator = Generator(shape, [1])
    bias = torch.zeros(1, 5), torch.zeros(1, 2)
    before = generator._search_operators(generator.operators, *bias)
    with torch.no_grad():
        generator.operator_queries[0, head, step] += torch.linspace(-1, 1, 32)
    after = generator._search_operators(generator.operators, *bias)
    scores, paths = ((one - other).abs().amax(-1)[0] > 1e-4 for one, other in zip(before, after))
    assert scores.nonzero().tolist() == [[head, step]]
    assert paths.nonzero().flatten().tolist() == [step * shape.heads + head]


def test_a_head_chooses_from_its_own_chain():
    shape = Shape(operators=5, predicates=2, starts=2, steps=2, heads=3)
    generator = Generator(shape, [1])
    bias = torch.zeros(1, 5), torch.zeros(1, 2)
    before, _ = generator._search_operators(generator.operators, *bias)
    with torch.no_grad():
        generator.chains[0, 1] += torch.linspace(-3, 3, 32)
    after, _ = generator._search_operators(generator.operators, *bias)
    assert ((before - after).abs().amax(-1)[0] > 1e-4).tolist() == [[False, False], [True, True], [False, False]]


def test_attention_by_hand():
    """One layer, one head: the scores are q . k / sqrt(d) of normalised rows."""
    attention = Attention([7], "hand", copies=1, dim=4, layers=1, heads=2)
    queries, values = draw(1, "q", 1, 1, 1, 2, 4), draw(1, "v", 1, 1, 1, 3, 4)

    def normal(x: torch.Tensor) -> torch.Tensor:
        return (x - x.mean(-1, keepdim=True)) / (x.var(-1, correction=0, keepdim=True) + 1e-5).sqrt()

    (layer,) = attention.layers
    outcome, scores = attention(queries, values, torch.tensor([[0.0, 0.0, -1e9]]))
    q, v = normal(queries[0, 0, 0]), normal(values[0, 0, 0])
    key, value = (v @ attention.look[0, 0]).split(4, -1)
    expected = q @ layer.query[0, 0] @ key.T / 2
    assert torch.allclose(scores[0, 0, 0, :, :2], expected[:, :2], atol=1e-5)
    x = queries[0, 0, 0] + expected[:, :2].softmax(-1) @ value[:2] @ layer.merge[0, 0]
    x = x + (normal(x) @ layer.widen[0, 0]).relu() @ layer.narrow[0, 0]
    assert torch.allclose(outcome[0, 0, 0], x, atol=1e-5)


@pytest.mark.parametrize("kind", KINDS)
def test_attentions_can_concentrate(kind):
    """200 steps of Adam drive every operator choice to a given one."""
    shape = Shape(operators=8, predicates=3, starts=2, steps=2, heads=2)
    stack = stack_of(shape, [1, 2], kind)
    wanted = torch.tensor([[[0, 3], [7, 3]], [[5, 5], [1, 2]]])
    optimiser = torch.optim.Adam(stack.parameters(), lr=0.01 if kind == "transformer" else 0.1)
    for _ in range(200):
        operators = stack.attentions().operators
        if torch.special.entr(operators.detach()).sum(-1).max() < 0.1:
            break
        optimiser.zero_grad()
        (-operators.gather(-1, wanted[..., None]).log().mean()).backward()
        optimiser.step()
    else:
        pytest.fail("still undecided")
    assert torch.equal(operators.argmax(-1), wanted)


@pytest.mark.parametrize("kind", KINDS)
def test_a_state_is_taken_over_in_place(kind):
    stack, other = stack_of(SHAPE, [1, 2], kind), stack_of(SHAPE, [3, 4], kind)
    parameters, saved = stack.parameters(), other.state()
    stack.load(saved)
    assert all(one is other for one, other in zip(parameters, stack.parameters()))
    assert_same(stack.logits(), other.logits(), rtol=0, atol=0)
    with torch.no_grad():
        other.parameters()[0].zero_()
    assert torch.equal(saved[next(iter(saved))], parameters[0]), "a saved state must not change any more"


def test_a_foreign_state_is_refused():
    stack = stack_of(SHAPE, [1, 2])
    with pytest.raises(RunError, match=r"expected 'alter' of shape \(2, 64, 32\), got \(1, 64, 32\)"):
        stack.load(stack_of(SHAPE, [1]).state())
    with pytest.raises(RunError, match="got none; use the settings"):
        stack.load({})


def test_settings_that_cannot_be():
    with pytest.raises(ConfigError, match="a seed for each of 2 members, got 1"):
        make_stack("free", masks_of(SHAPE, full(SHAPE), full(SHAPE)), SHAPE, [1])
    with pytest.raises(ConfigError, match="multiple of heads, got dim 32 and heads 5"):
        stack_of(SHAPE, [1], heads=5)
    with pytest.raises(ConfigError, match="'transformer' or 'free', got 'dense'"):
        stack_of(SHAPE, [1], "dense")


def test_residual_scores_begin_as_free_ones_and_learn_at_their_own_rate():
    masks = masks_of(SHAPE, full(SHAPE), full(SHAPE))
    plain, free = (make_stack(kind, masks, SHAPE, [1, 2]) for kind in ("transformer", "free"))
    stack = make_stack("transformer", masks, SHAPE, [1, 2], residual=True)
    start = [GENERATED_SHARE * one + two for one, two in zip(tensors(plain), tensors(free))]
    assert all(torch.allclose(one, two, atol=1e-6) for one, two in zip(tensors(stack), start))
    weights, scores = stack.rates(0.1, 0.3)
    assert (weights["lr"], scores["lr"]) == (0.1, 0.3)
    assert len(weights["params"]) == len(plain.parameters())
    assert {id(p) for p in stack.parameters()} == {id(p) for p in weights["params"] + scores["params"]}
    optimiser = torch.optim.Adam([scores])
    sum((t**2).sum() for t in stack.attentions().tensors().values()).backward()
    optimiser.step()
    assert all(torch.equal(one, two) for one, two in zip(weights["params"], plain.parameters()))
    moved = [(one - two).abs().max() for one, two in zip(tensors(stack), start)]
    assert min(moved) > 0.1, "every family of scores has residual ones"


def tensors(stack: Stack) -> list[torch.Tensor]:
    return tensors_of(stack.logits())


def tensors_of(attentions: Attentions) -> list[torch.Tensor]:
    return list(attentions.tensors().values())
