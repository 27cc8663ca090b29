"""phi, psi and the connectives on numbers small enough to check by eye."""

from __future__ import annotations

import torch

from nlil.kernel.calculus import phi, psi, ranges, segment_sum, soft_and, soft_not, soft_or, unique_pairs


def test_ranges_are_concatenated_in_order():
    row, position = ranges(torch.tensor([5, 0, 2]), torch.tensor([7, 0, 3]))
    assert row.tolist() == [0, 0, 2]
    assert position.tolist() == [5, 6, 2]


def test_pairs_are_told_apart_whether_one_key_holds_them_or_not():
    first, second = torch.tensor([3, 0, 3, 0, 3]), torch.tensor([1, 5, 0, 5, 1])
    for shift in (0, 2**40):  # times 10^8 this is beyond 63 bits
        pairs = unique_pairs(first + shift, second, 10**8)
        assert torch.stack(pairs, 1).tolist() == [[shift, 5], [3 + shift, 0], [3 + shift, 1]]


def test_phi_hands_values_along_edges():
    value, row = torch.tensor([1.0, 0.5]), torch.tensor([0, 1, 1])
    assert phi(value, row, torch.tensor([1.0, 0.5, 1.0])).tolist() == [1.0, 0.25, 0.5]
    assert phi(value, row, None).tolist() == [1.0, 0.5, 0.5]


def test_psi_adds_and_clamps():
    assert psi(torch.tensor([1.0, 1.0, 0.25, 0.5]), torch.tensor([0, 0, 2, 2]), 4).tolist() == [1.0, 0.0, 0.75, 0.0]


def test_a_run_has_the_same_bits_whatever_stands_beside_it():
    torch.manual_seed(0)
    runs = [torch.rand(n, dtype=torch.float64) for n in (1, 7, 0, 30, 2, 13)]
    together = segment_sum(torch.cat(runs), torch.tensor([len(r) for r in runs]))
    alone = torch.cat([segment_sum(r, torch.tensor([len(r)])) for r in runs])
    assert torch.equal(together, alone)
    assert torch.allclose(together, torch.stack([r.sum() for r in runs]))


def test_gradients_flow():
    value = torch.tensor([0.2, 0.3, 0.1], dtype=torch.float64, requires_grad=True)
    psi(phi(value, torch.tensor([0, 1, 2]), None), torch.tensor([0, 0, 1]), 2).sum().backward()
    assert value.grad.tolist() == [1.0, 1.0, 1.0]


def test_connectives():
    a, b = torch.tensor([0.0, 0.5, 1.0]), torch.tensor([1.0, 0.5, 1.0])
    assert soft_not(a).tolist() == [1.0, 0.5, 0.0]
    assert soft_and(a, b).tolist() == [0.0, 0.25, 1.0]
    assert soft_or(a, b).tolist() == [1.0, 0.75, 1.0]
