"""A real Ray cluster of this machine: the same results as on threads, whatever happens to its workers."""

from __future__ import annotations

import os
import signal
import socket
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from commandline import Nlil
from nlil.errors import ConfigError, DataError
from nlil.kernel.cluster import cluster
from nlil.kernel.pool import Pool, workers
from nlil.progress import Stop

ray = pytest.importorskip("ray", reason="the extra `cluster` is not installed: NOTHING of --cluster is tested")
pytestmark = pytest.mark.filterwarnings("ignore")  # Ray's own

NUM_WORKERS = 3


@pytest.fixture(scope="module")
def connected() -> Iterator[None]:
    """One cluster for all tests of this file: starting it takes longer than they do."""
    ray.init("local", num_cpus=NUM_WORKERS, include_dashboard=False, log_to_driver=False, logging_level="error")
    yield
    ray.shutdown()


def same_files(one: Path, other: Path) -> None:
    names = sorted(file.name for file in one.iterdir() if file.name != "journal.json")
    assert names == sorted(file.name for file in other.iterdir() if file.name != "journal.json")
    for name in names:
        assert (one / name).read_bytes() == (other / name).read_bytes(), name


def test_a_run_is_the_same_to_the_byte(nlil_command: Nlil, connected: None, tmp_path: Path) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for run, options in ((here, ()), (there, ("--cluster", "ray"))):
        # Every kind of rule, one length of chains that is tried, theories, conjunctions and weights; no training.
        assert nlil_command("learn", "kin:60", "--out", run, "--set", "search=count", *options).code == 0
        assert nlil_command("evaluate", run, *options).code == 0
    same_files(here, there)


def test_facts_are_the_same_to_the_byte(
    nlil_command: Nlil, connected: None, plain_run: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("nlil.kernel.stratum.SHARD_ROWS", 50)
    for name, options in (("here.tsv", ()), ("there.tsv", ("--cluster", "ray"))):
        out = tmp_path / name
        assert nlil_command("materialize", plain_run, "--out", out, "--min-confidence", ".5", *options).code == 0
    assert (tmp_path / "here.tsv").read_bytes() == (tmp_path / "there.tsv").read_bytes()


def test_results_come_in_order_and_share_what_they_were_given(connected: None) -> None:
    large = np.arange(100_000)
    with cluster("ray"):
        pool = workers(lambda: large[:3].copy())
        assert type(pool) is not Pool
        found = pool.map(lambda scratch, i: (os.getpid(), int(scratch[2] + large[i]), large), range(200))
    assert [value for _, value, _ in found] == [2 + i for i in range(200)]
    assert all(array is large for *_, array in found)  # the caller's own, not copies
    processes = {process for process, *_ in found}
    assert len(processes) > 1
    assert os.getpid() not in processes
    assert type(workers(lambda: None)) is Pool  # after the block


def test_a_killed_worker_changes_nothing(connected: None, tmp_path: Path) -> None:
    victim = tmp_path / "victim"

    def work(_: None, i: int) -> int:
        if i == 37 and not victim.exists():
            victim.write_text(str(os.getpid()))
            os.kill(os.getpid(), signal.SIGKILL)
        return i * i

    with cluster("ray"):
        assert workers(lambda: None).map(work, range(100)) == [i * i for i in range(100)]
    assert int(victim.read_text()) != os.getpid()


def test_an_error_is_that_of_the_function(connected: None) -> None:
    def fail(_: None, i: int) -> int:
        raise DataError("a wrong fact", "facts.tsv", i)

    with cluster("ray"), pytest.raises(DataError, match="a wrong fact"):
        workers(lambda: None).map(fail, range(5))


def test_a_stop_leaves_the_rest_out_and_says_so(connected: None) -> None:
    def wait(_: None, i: int) -> int:
        import time

        time.sleep(0.2)
        return i

    stop = Stop(0.7)
    with cluster("ray"):
        found = workers(lambda: None).map(wait, range(60), stop=stop)
    assert len(found) < 60
    assert stop.cut
    assert found == sorted(found)


def test_an_address_that_means_nothing_is_refused(nlil_command: Nlil, tmp_path: Path) -> None:
    outcome = nlil_command("learn", "kin:60", "--out", tmp_path / "run", "--cluster", "spark")
    assert outcome.code == 2
    assert "expected ray or ray://HOST:PORT, got 'spark'" in outcome.complaint
    assert not (tmp_path / "run").exists()
    with pytest.raises(ConfigError, match="HOST:PORT"), cluster("ray://"):
        pass


def test_a_cluster_that_does_not_answer_is_said_at_once(nlil_command: Nlil, tmp_path: Path) -> None:
    with socket.socket() as free:  # bound, but nobody listens
        free.bind(("127.0.0.1", 0))
        address = f"ray://127.0.0.1:{free.getsockname()[1]}"
        outcome = nlil_command("learn", "kin:60", "--out", tmp_path / "run", "--cluster", address)
    assert outcome.code == 2
    assert f"{address}: no cluster answers there" in outcome.complaint
    assert not (tmp_path / "run").exists()
