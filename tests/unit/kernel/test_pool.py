"""Pool: results in order, scratch per thread, progress, early ends and failures."""

from __future__ import annotations

import threading
import time
from typing import NamedTuple

import numpy as np
import pytest

from nlil.kernel.pool import SCRATCH_SHARE, Pool, scratch_bytes, threads_that_fit, workers
from nlil.progress import Stop


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_results_come_in_the_order_of_the_tasks_whatever_ends_first(threads: int) -> None:
    def slow_first(_: list[int], task: int) -> int:
        time.sleep(0.002 * (10 - task))
        return task * task

    assert Pool(list, threads).map(slow_first, range(10)) == [n * n for n in range(10)]


def test_no_two_threads_use_a_scratch_at_once_and_later_maps_use_it_again() -> None:
    made = []

    def make() -> list[str]:
        made.append([])
        return made[-1]

    def use(scratch: list[str], task: int) -> bool:
        scratch.append("in use")
        time.sleep(0.001)
        scratch.pop()
        return not scratch

    pool = Pool(make, 4)
    assert all(pool.map(use, range(50)))
    assert all(pool.map(use, range(50)))
    assert 1 <= len(made) <= 4


def test_a_failure_is_raised_and_the_rest_left_out_and_its_scratch_not_used_again() -> None:
    seen, made = [], []

    def make() -> list[int]:
        made.append([])
        return made[-1]

    def fail(scratch: list[int], task: int) -> int:
        scratch.append(task)
        seen.append(task)
        if task == 3:
            raise ValueError("three")
        scratch.clear()
        return task

    pool = Pool(make, 1)
    with pytest.raises(ValueError, match="three"):
        pool.map(fail, range(1000))
    assert seen == [0, 1, 2, 3]
    assert pool.map(lambda scratch, task: len(scratch), range(2)) == [0, 0]
    assert len(made) == 2


def test_of_several_failures_the_first_task_s_is_raised() -> None:
    barrier = threading.Barrier(2)

    def fail(_: None, task: int) -> int:
        barrier.wait(5)
        raise ValueError(f"task {task}")

    with pytest.raises(ValueError, match="task 0"):
        Pool(lambda: None, 2).map(fail, range(2))


def test_after_stop_only_what_was_begun_comes_back() -> None:
    stop = Stop()

    def work(_: None, task: int) -> int:
        if task == 4:
            stop.set()
        return task

    assert Pool(lambda: None, 1).map(work, range(100), stop=stop) == [0, 1, 2, 3, 4]
    assert stop.cut


def test_progress_reaches_the_number_of_tasks() -> None:
    told = []
    Pool(lambda: None, 3).map(
        lambda _, task: time.sleep(0.005) or task,
        range(40),
        "stage",
        lambda stage, done, total, note="": told.append((stage, done, total)),
    )
    assert told[-1] == ("stage", 40, 40)
    assert told == sorted(set(told))


def test_nothing_to_do() -> None:
    assert Pool(lambda: None, 3).map(lambda _, task: task, []) == []


def test_no_more_threads_than_have_room_for_their_scratch() -> None:
    """Arrays are counted wherever they stand in the scratch; one thread works however little room there is."""

    class Scratch(NamedTuple):
        large: np.ndarray
        pair: tuple[np.ndarray, np.ndarray]

    class Counter:
        def __init__(self) -> None:
            self.shared = np.zeros(10**6, np.int64)
            self.arrays = make()

    def make() -> Scratch:
        return Scratch(np.zeros(600, np.int8), (np.zeros(50, np.int64), np.zeros((0, 3))))

    assert scratch_bytes(make()) == scratch_bytes(Counter()) == 1_000
    for made in (make, Counter):
        fitting = [threads_that_fit(made, 16, round(k * 1_000 / SCRATCH_SHARE) + 1) for k in (0, 1, 5, 16, 20)]
        assert fitting == [1, 1, 5, 16, 16]
    assert workers(make, 16, round(3_000 / SCRATCH_SHARE) + 1).threads == 3
    assert workers(make, 16).threads == 16
