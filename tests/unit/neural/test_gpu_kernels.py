"""Products of a GPU are those of a CPU and repeat to the bit. Kernels run where there is a GPU, cutting anywhere."""

from __future__ import annotations

from dataclasses import fields, replace
from itertools import pairwise

import numpy as np
import pytest
import torch
from torch import Tensor

from nlil.data.facts import NO_OBJECT, Facts
from nlil.data.kb import KnowledgeBase
from nlil.data.vocabulary import Vocabulary
from nlil.logic.predicate import Predicate
from nlil.neural.paths import QueryPaths, attention_graph, build_paths
from nlil.neural.products import Products, Rounds, multiply_add
from nlil.neural.sampling import LabelledQueries
from nlil.neural.soft import scores
from nlil.neural.space import Attentions, Kind, Masks, Shape, Space, Start, operators_of, softmax_attentions

DEVICE = "cuda"
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU here: learning on CUDA is not tested")
EXACT = {torch.float32: 1e-5, torch.float64: 1e-10}

# entries, segments, rows of a, rows of b, columns
PRODUCTS = {
    "nothing": (0, 0, 0, 0, 3),
    "no entries": (0, 5, 4, 3, 2),
    "one": (1, 1, 1, 1, 1),
    "small": (50, 7, 9, 3, 4),
    "mostly empty segments": (300, 5000, 20, 3000, 8),
    "long": (3000, 40, 700, 5, 12),
    "two rounds of pieces": (40000, 1, 300, 2, 3),
    "three rounds of pieces": (2**14 + 2000, 2, 1, 40, 1),
    "many columns": (4000, 100, 60, 300, 150),
}


def indices(random: np.random.Generator, size: int, top: int) -> Tensor:
    """Skewed, as in data: half of the entries go to row 0."""
    drawn = random.integers(0, max(top, 1), size)
    return torch.from_numpy(np.where(random.random(size) < 0.5, 0, drawn).astype(np.int32))


def products(entries: int, segments: int, left: int, right: int, weighted: bool) -> Products:
    random = np.random.default_rng(entries)
    segment, _ = torch.sort(indices(random, entries, segments))
    weight = torch.from_numpy(random.random(entries).astype(np.float32)) if weighted else None
    return Products(
        segment, indices(random, entries, left), indices(random, entries, right), weight, segments, left, right
    )


def moved(lists):
    """The same lists on the device."""
    tensors = {f.name: getattr(lists, f.name) for f in fields(lists)}
    return replace(lists, **{name: t.to(DEVICE) for name, t in tensors.items() if isinstance(t, Tensor)})


def draw(*size: int, dtype: torch.dtype) -> Tensor:
    return torch.randn(*size, dtype=dtype, generator=torch.Generator().manual_seed(1))


def assert_close(device: Tensor, host: Tensor) -> None:
    """Relative to the largest value: entries that cancel have no digits of their own.

    `host` is in float64 where sums are long: one by one in float32 they are less exact than in pieces.
    """
    assert device.shape == host.shape
    scale = float(host.abs().max()) if host.numel() else 1.0
    exact = EXACT[device.dtype]
    torch.testing.assert_close(device.cpu(), host.to(device.dtype), rtol=exact, atol=exact * scale)


@pytest.mark.parametrize("piece", [2, 3, 128])
@pytest.mark.parametrize("lengths", [[], [0], [1, 0, 0, 5], [2, 127, 128, 129, 0, 257], [40000, 1, 0, 700]])
def test_rounds_add_every_entry_once(lengths: list[int], piece: int) -> None:
    pointer = torch.tensor([0, *np.cumsum(lengths)], dtype=torch.int64)
    sums = Rounds.of(pointer, piece)
    entry = torch.arange(1, int(pointer[-1]) + 1)
    out = torch.full((sums.num_rows,), -1)
    for number, part in enumerate(sums.rounds):
        source = (out if number else entry).clone()
        for begin, end, row in zip(part.begin.tolist(), part.end.tolist(), part.row.tolist()):
            assert end - begin <= piece
            assert out[row] == -1, "written twice"
            assert (source[begin:end] != -1).all(), "read before it was written"
            out[row] = source[begin:end].sum()
    wanted = [int(entry[low:high].sum()) for low, high in pairwise(pointer.tolist())]
    assert out[: sums.num_segments].tolist() == wanted
    assert -1 not in out


def with_gradients(a: Tensor, b: Tensor, gradient: Tensor, entries: Products) -> list[Tensor]:
    """The products and both gradients."""
    a, b = a.detach().requires_grad_(), b.detach().requires_grad_()
    out = multiply_add(a, b, entries)
    return [out.detach(), *torch.autograd.grad(out, (a, b), gradient)]


SLOTS = pytest.mark.parametrize("slots", [(), (1,), (3,)], ids=["", "one slot", "three slots"])


@needs_gpu
@SLOTS
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products_and_gradients(name: str, weighted: bool, dtype: torch.dtype, slots: tuple[int, ...]) -> None:
    *sizes, columns = PRODUCTS[name]
    entries = products(*sizes, weighted)
    a, b = (draw(rows, *slots, columns, dtype=dtype) for rows in (entries.num_left, entries.num_right))
    gradient = draw(entries.num_segments, columns, dtype=dtype)
    there = moved(entries)
    device = with_gradients(*(t.to(DEVICE) for t in (a, b, gradient)), there)
    for one, other in zip(device, with_gradients(a.double(), b.double(), gradient.double(), entries)):
        assert_close(one, other)
        assert one.dtype == dtype


@needs_gpu
def test_runs_repeat_to_the_bit() -> None:
    """A second block with the same lists, so that nothing kept from the first can help."""
    entries = products(400_000, 3000, 20_000, 50, True)
    given = [draw(rows, 8, dtype=torch.float32).to(DEVICE) for rows in (20_000, 50, 3000)]
    first = with_gradients(*given, moved(entries))
    for _ in range(3):
        assert all(torch.equal(one, other) for one, other in zip(first, with_gradients(*given, moved(entries))))


@SLOTS
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", ["nothing", "no entries", "one", "small", "long"])
def test_the_loop_adds_up_what_plain_torch_does(name: str, weighted: bool, slots: tuple[int, ...]) -> None:
    *sizes, columns = PRODUCTS[name]
    entries = products(*sizes, weighted)
    a, b = (draw(rows, *slots, columns, dtype=torch.float64) for rows in (entries.num_left, entries.num_right))
    gradient = draw(entries.num_segments, columns, dtype=torch.float64)
    a, b = a.requires_grad_(), b.requires_grad_()
    both = a[entries.left.long()] * b[entries.right.long()]
    both = both.sum(1) if slots else both
    weight = torch.ones(len(entries)) if entries.weight is None else entries.weight
    out = torch.zeros(entries.num_segments, columns, dtype=torch.float64)
    out = out.index_add(0, entries.segment.long(), both * weight[:, None])
    wanted = [out.detach(), *torch.autograd.grad(out, (a, b), gradient)]
    for one, other in zip(with_gradients(a, b, gradient, entries), wanted):
        torch.testing.assert_close(one, other)


def base(weighted: bool, graphs: bool) -> KnowledgeBase:
    random = np.random.default_rng(7)
    predicates = (*(Predicate(f"r{i}", 2) for i in range(3)), Predicate("u0", 1), Predicate("u1", 1))
    predicate = random.integers(0, 5, 500).astype(np.int32)
    subject, object = random.integers(0, 40, (2, 500)).astype(np.int32)
    object = np.where(predicate > 2, NO_OBJECT, subject // 20 * 20 + object % 20).astype(np.int32)
    weight = random.random(500).astype(np.float32) if weighted else None
    graph_of = (np.arange(40) // 20).astype(np.int32) if graphs else None
    facts = Facts(predicate, subject, object, weight).unique()
    return KnowledgeBase(Vocabulary(tuple(f"e{i}" for i in range(40))), predicates, facts, graph_of)


def spaces_and_queries(kb: KnowledgeBase) -> tuple[list[Space], Shape, LabelledQueries]:
    every = np.arange(5, dtype=np.int32)
    starts = (Start(Kind.X), Start(Kind.Y), Start(Kind.UNARY, 3), Start(Kind.ANY))
    spaces = [Space(target, 2, operators_of(kb, every), every, starts) for target in (0, 1)]
    facts = [kb.facts.of(target)[:30] for target in (0, 1)]
    x, y = (np.stack([getattr(f, side) for f in facts]).astype(np.int64) for side in ("subject", "object"))
    queries = LabelledQueries(x, y, np.ones(x.shape, np.float32), np.ones(x.shape, bool))
    return spaces, Shape(len(spaces[0].operators), 5, 4, steps=2, heads=2, instances=2, widths=(3,)), queries


def tensors(lists) -> dict[str, Tensor]:
    return {f.name: getattr(lists, f.name) for f in fields(lists) if isinstance(getattr(lists, f.name), Tensor)}


def parts(paths: QueryPaths) -> dict[str, Tensor]:
    found = tensors(paths)
    for name in ("left", "right", "meets"):
        found |= {f"{name}.{key}": t for key, t in tensors(getattr(paths, name)).items()}
    for t, move in enumerate(paths.moves):
        found |= {f"moves.{t}.{key}": value for key, value in tensors(move).items()}
    return found


@needs_gpu
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("graphs", [False, True])
def test_plans_scores_and_gradients_are_the_same(weighted: bool, graphs: bool) -> None:
    kb = base(weighted, graphs)
    spaces, shape, queries = spaces_and_queries(kb)
    host, device = (build_paths(kb, attention_graph(kb, place), spaces, shape, queries) for place in ("cpu", DEVICE))
    one, other = parts(host), parts(device)
    assert one.keys() == other.keys()
    assert host.size == device.size > 0
    for name, tensor in one.items():
        if name == "meets.weight":  # sums of weights
            torch.testing.assert_close(other[name].cpu(), tensor)
        else:
            assert torch.equal(other[name].cpu(), tensor), name
    assert_same_learning(host, device, spaces, shape)


def assert_same_learning(host: QueryPaths, device: QueryPaths, spaces: list[Space], shape: Shape) -> None:
    masks = Masks.of(spaces, shape, restarts=3)
    levels, members = shape.levels, len(masks.operators)
    argument = (members, shape.statements, shape.starts, shape.slots)
    formula = (draw(members, levels[1], 2 * levels[0], dtype=torch.float32),)
    soft = softmax_attentions(
        Attentions(
            draw(members, shape.heads, shape.steps, shape.operators, dtype=torch.float32),
            draw(*argument, dtype=torch.float32),
            -draw(*argument, dtype=torch.float32),
            formula,
            (-formula[0],),
            draw(members, shape.outputs, dtype=torch.float32),
        ),
        masks,
        shape,
    )
    results = []
    for paths, place in ((host, "cpu"), (device, DEVICE)):
        attentions = soft.map(lambda t, place=place: t.detach().to(place).requires_grad_())
        score = scores(paths, attentions, torch.tanh)  # no kink where the two could part
        score.square().sum().backward()
        results.append([score.detach(), *(t.grad for t in attentions.tensors().values())])
    for here, there in zip(*results):
        assert here.abs().max() > 0
        assert_close(there, here)
