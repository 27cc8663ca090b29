"""Weights of patterns: the loss and its slopes against the definition, the same bits for any number of threads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import torch
from scipy import sparse

from nlil.kernel.minimise import minimise
from nlil.scene import device_fitting, fitting
from nlil.scene.device_fitting import device_loss, device_slopes
from nlil.scene.fitting import ClassModel, LabelledObjects, Weights, fit, one_hot, scores, slopes

NUM_PATTERNS, NUM_CLASSES, PENALTY = 7, 4, 0.7
EPSILON = 1e-4


def labelled(num_objects: int = 50, seed: int = 3) -> LabelledObjects:
    """Objects with some of the patterns each, a few with none; the last pattern holds nowhere."""
    random = np.random.default_rng(seed)
    held = random.random((num_objects, NUM_PATTERNS)) < 0.35
    held[:3] = held[:, -1] = False
    label = random.integers(0, NUM_CLASSES, num_objects).astype(np.int32)
    return LabelledObjects(label, sparse.csr_array(held), one_hot(label, NUM_CLASSES))


def some_model(seed: int = 5) -> ClassModel:
    """Pairs given in no order; one pattern has two classes, one class has none."""
    random = np.random.default_rng(seed)
    pattern, target = np.array([4, 0, 2, 4, 6, 1], np.int32), np.array([0, 2, 0, 2, 0, 3], np.int32)
    return ClassModel.of(pattern, target, random.normal(size=len(pattern)), random.normal(size=NUM_CLASSES))


def likelihood(model: ClassModel, data: LabelledObjects) -> float:
    """The definition, over dense tables: the sum of the logarithms of the probabilities of the given classes."""
    weights = np.zeros((NUM_PATTERNS, NUM_CLASSES))
    np.add.at(weights, (model.pattern, model.target), model.weight)
    given = data.held.toarray() @ weights + model.bias
    logarithm = given - np.log(np.exp(given).sum(axis=1, keepdims=True))
    return float(logarithm[np.arange(len(data)), data.label].sum())


def loss_of(model: ClassModel, data: LabelledObjects, monkeypatch: pytest.MonkeyPatch) -> Callable:
    """What `fit` hands to the optimiser."""
    caught = []

    def minimise(loss: Callable, start: np.ndarray, *_: Any) -> np.ndarray:
        caught.append(loss)
        return start

    with monkeypatch.context() as patch:
        patch.setattr(fitting, "minimise", minimise)
        fit(model, data, PENALTY, 1, 1)
    return caught[0]


def test_the_loss_and_its_gradient(monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = labelled(), some_model()
    monkeypatch.setattr(fitting, "BLOCK", 16)
    loss = loss_of(model, data, monkeypatch)
    at = np.concatenate((model.weight, model.bias))
    value, gradient = loss(at)
    expected = (-likelihood(model, data) + 0.5 * PENALTY * model.weight @ model.weight) / len(data)
    assert value == pytest.approx(expected, rel=1e-12)
    for i in range(len(at)):
        step = np.zeros(len(at))
        step[i] = EPSILON
        assert gradient[i] == pytest.approx((loss(at + step)[0] - loss(at - step)[0]) / (2 * EPSILON), abs=1e-8), i


def test_fitted_weights_are_a_minimum() -> None:
    data = labelled()
    found = fit(some_model(), data, PENALTY, 200, 1)

    def penalised(model: ClassModel) -> float:
        return -likelihood(model, data) + 0.5 * PENALTY * float(model.weight @ model.weight)

    least = penalised(found)
    assert least < penalised(some_model())
    random = np.random.default_rng(0)
    for _ in range(20):
        moved = replace(
            found,
            weight=found.weight + random.normal(size=len(found)) * 0.05,
            bias=found.bias + random.normal(size=NUM_CLASSES) * 0.05,
        )
        assert penalised(moved) > least - 1e-6
    assert found.weight[found.pattern == NUM_PATTERNS - 1] == pytest.approx(0, abs=1e-3), "it holds for no object"


def test_slopes_of_every_pair() -> None:
    data, model = labelled(), some_model()
    gradient, curvature = slopes(model, data, 2)
    middle, step = likelihood(model, data), 1e-3
    for p in range(NUM_PATTERNS):
        for c in range(NUM_CLASSES):
            up, down = (
                likelihood(
                    ClassModel.of(
                        np.append(model.pattern, p), np.append(model.target, c), np.append(model.weight, w), model.bias
                    ),
                    data,
                )
                for w in (step, -step)
            )
            assert gradient[p, c] == pytest.approx((up - down) / (2 * step), abs=1e-4), (p, c)
            assert curvature[p, c] == pytest.approx(-(up - 2 * middle + down) / step**2, abs=1e-4), (p, c)


def test_threads_change_no_bit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fitting, "BLOCK", 16)
    data, model = labelled(500), some_model()
    one = fit(model, data, PENALTY, 30, 1)
    expected = slopes(one, data, 1)
    for threads in (2, 3):
        other = fit(model, data, PENALTY, 30, threads)
        assert (other.weight.tobytes(), other.bias.tobytes()) == (one.weight.tobytes(), one.bias.tobytes())
        for a, b in zip(slopes(one, data, threads), expected, strict=True):
            assert a.tobytes() == b.tobytes()


def test_blocks_only_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    data, model = labelled(100), some_model()
    whole, expected = fit(model, data, PENALTY, 10, 1), slopes(model, data, 1)
    monkeypatch.setattr(fitting, "BLOCK", 8)
    assert fit(model, data, PENALTY, 10, 1).weight == pytest.approx(whole.weight, rel=1e-6)
    for a, b in zip(slopes(model, data, 1), expected, strict=True):
        assert a == pytest.approx(b, abs=1e-4)


def test_pairs_are_sorted_and_scores_are_sums() -> None:
    data, model = labelled(), some_model()
    assert list(zip(model.pattern.tolist(), model.target.tolist())) == [(0, 2), (1, 3), (2, 0), (4, 0), (4, 2), (6, 0)]
    given = scores(model, data.held)
    for i in range(len(data)):
        mine = data.held[[i]].indices
        expected = model.bias.copy()
        for p, c, w in zip(model.pattern, model.target, model.weight):
            expected[c] += w * (p in mine)
        assert given[i] == pytest.approx(expected)


def test_only_patterns_with_weights_are_read() -> None:
    data, model = labelled(), some_model()
    used, weights = [0, 1, 2, 4, 6], Weights.of(model, data)
    for i in range(len(data)):
        mine = data.held[[i]].indices.tolist()
        read = weights.column[weights.pointer[i] : weights.pointer[i + 1]].tolist()
        assert read == [used.index(p) for p in mine if p in used]
    nothing = Weights.of(model.take(np.zeros(0, np.int64)), data)
    assert (len(nothing.column), nothing.pointer.tolist()) == (0, [0] * (len(data) + 1))


@pytest.mark.parametrize("num_objects", [0, 1])
def test_hardly_any_object(num_objects: int) -> None:
    label = np.zeros(num_objects, np.int32)
    data = LabelledObjects(label, sparse.csr_array((num_objects, 1), dtype=bool), one_hot(label, 2))
    nothing = np.zeros(0, np.int32)
    model = fit(ClassModel.of(nothing, nothing, np.zeros(0), np.zeros(2)), data, PENALTY, 5, 1)
    assert np.isfinite(model.bias).all()
    assert slopes(model, data, 2)[0].tolist() == [[0, 0]]


def test_a_part_of_the_objects() -> None:
    data = labelled()
    chosen = np.array([4, 7, 8, 49])
    part = data.take(chosen)
    assert part.label.tolist() == data.label[chosen].tolist()
    for mine, whole in ((part.held, data.held), (part.shares, data.shares)):
        assert mine.toarray().tolist() == whole.toarray()[chosen].tolist()


def test_sparse_matrices_give_the_same_loss_and_slopes(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a GPU computes, here by torch on the CPU, in parts of a few objects; shares of classes among them."""
    monkeypatch.setattr(device_fitting, "ROWS", 16)
    data, model = labelled(), some_model()
    other = one_hot((data.label + 1) % NUM_CLASSES, NUM_CLASSES)
    for given in (data, replace(data, shares=0.75 * data.shares + 0.25 * other)):
        loss = device_loss(model, given, PENALTY, "cpu")
        parameters = np.concatenate((model.weight, model.bias))
        value, gradient = loss(parameters)
        expected, slope = loss_of(model, given, monkeypatch)(parameters)
        assert value == pytest.approx(expected, rel=1e-12)
        assert np.allclose(gradient, slope, rtol=1e-10, atol=1e-13)
        found = device_slopes(model, given, "cpu")
        for mine, theirs in zip(found, slopes(model, given, 1)):
            assert np.allclose(mine, theirs, rtol=1e-5, atol=1e-6)


@pytest.mark.skipif(not torch.cuda.is_available(), reason="no GPU")
def test_a_gpu_fits_what_a_cpu_fits() -> None:
    data, model = labelled(2000), some_model()
    on_gpu, on_cpu = (fit(model, data, PENALTY, 100, 1, device) for device in ("cuda", "cpu"))
    assert np.allclose(on_gpu.weight, on_cpu.weight, atol=1e-4)
    for mine, theirs in zip(slopes(on_cpu, data, 1, "cuda"), slopes(on_cpu, data, 1)):
        assert np.allclose(mine, theirs, rtol=1e-4, atol=1e-3)


def test_a_narrow_valley() -> None:
    scales = np.logspace(0, 3, 30)
    best = np.linspace(-1, 1, 30)

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float((scales * (x - best) ** 2).sum()), scales * (x - best)

    assert minimise(valley, np.zeros(30), 200) == pytest.approx(best, abs=1e-5)


def test_a_scale_makes_a_narrow_valley_round() -> None:
    curvature = np.logspace(0, 6, 30)
    best = np.linspace(-1, 1, 30)

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float((curvature * (x - best) ** 2).sum()), curvature * (x - best)

    assert minimise(valley, np.zeros(30), 8, 1 / np.sqrt(curvature)) == pytest.approx(best, abs=1e-5)
    assert valley(minimise(valley, np.zeros(30), 8))[0] > 0.1


def test_a_fit_of_rare_and_common_patterns_takes_few_steps() -> None:
    random = np.random.default_rng(3)
    share = np.array([0.5] * 6 + [0.01] * 6)  # patterns that hold for 2,000 and for 40 objects
    held = random.random((4000, 12)) < share
    truth = np.where(share < 0.1, 2.0, 0.5)
    chance = 1 / (1 + np.exp(-(held @ truth - 2.0)))
    label = (random.random(4000) < chance).astype(np.int32)
    data = LabelledObjects(label, sparse.csr_array(held), one_hot(label, 2))
    pattern = np.arange(12, dtype=np.int32)
    model = ClassModel.of(pattern, np.ones(12, np.int32), np.zeros(12), np.zeros(2))
    few, many = (fit(model, data, 0.5, steps, 1) for steps in (8, 500))
    assert few.weight == pytest.approx(many.weight, abs=0.2)


def test_as_scipy_does() -> None:
    from scipy.optimize import minimize

    random = np.random.default_rng(0)
    points, labels = random.normal(size=(200, 8)), random.integers(0, 2, 200)

    def loss(w: np.ndarray) -> tuple[float, np.ndarray]:
        margin = points @ w
        value = float(np.logaddexp(0, margin).sum() - margin[labels == 1].sum()) + 0.5 * float(w @ w)
        return value / 200, (points.T @ (1 / (1 + np.exp(-margin)) - labels) + w) / 200

    theirs = minimize(loss, np.zeros(8), jac=True, method="L-BFGS-B", options={"gtol": 1e-9}).x
    assert minimise(loss, np.zeros(8), 100) == pytest.approx(theirs, abs=1e-4)


def test_no_step_is_taken_after_one_that_gains_too_little() -> None:
    points = []

    def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
        points.append(x)
        return float((x**4).sum()), 4 * x**3

    minimise(bowl, np.full(5, 2.0), 100)
    all_points = len(points)
    points.clear()
    end = minimise(bowl, np.full(5, 2.0), 100, None, 1e-3)
    assert len(points) < all_points
    assert bowl(end)[0] < 1e-2
    scaled = minimise(bowl, np.full(5, 2.0), 100, np.full(5, 2.0), 1e-3)
    assert bowl(scaled)[0] < 1e-2
    points.clear()
    minimise(bowl, end, 100, None, 1e-3)
    assert len(points) <= 3, "it was settled before"


def test_few_steps_only_go_down() -> None:
    def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float((x**4).sum()), 4 * x**3

    values = [bowl(minimise(bowl, np.full(5, 2.0), steps))[0] for steps in (0, 1, 2, 5, 20)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 1e-3
    assert len(minimise(bowl, np.zeros(0), 5)) == 0
