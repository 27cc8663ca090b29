"""L-BFGS: where the minimum is known, and beside scipy's on a function that is no parabola."""

from __future__ import annotations

import numpy as np
import pytest

from nlil.scene.fitting import minimise


def test_a_narrow_valley() -> None:
    scales = np.logspace(0, 3, 30)
    best = np.linspace(-1, 1, 30)

    def valley(x: np.ndarray) -> tuple[float, np.ndarray]:
        return 0.5 * float((scales * (x - best) ** 2).sum()), scales * (x - best)

    assert minimise(valley, np.zeros(30), 200) == pytest.approx(best, abs=1e-5)


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


def test_few_steps_only_go_down() -> None:
    def bowl(x: np.ndarray) -> tuple[float, np.ndarray]:
        return float((x**4).sum()), 4 * x**3

    values = [bowl(minimise(bowl, np.full(5, 2.0), steps))[0] for steps in (0, 1, 2, 5, 20)]
    assert values == sorted(values, reverse=True)
    assert values[-1] < 1e-3
    assert len(minimise(bowl, np.zeros(0), 5)) == 0
