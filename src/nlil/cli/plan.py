"""nlil plan [DATA] [--facts N] [--nodes M]"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ConfigError
from .session import Bounds, Session

if TYPE_CHECKING:
    from ..search.cost import Cost, Simulation

GIB = 2**30


def plan(
    session: Session,
    data: str | None = None,
    *,
    facts: float | None = None,
    nodes: Annotated[int | None, Bounds(1)] = None,
    cores: Annotated[int | None, Bounds(1)] = None,
    settings: list[str] | None = None,
) -> None:
    """Estimate what learning will take, before anything runs: memory, time, paths, rules.

    Args:
        session: The common options.
        data ([DATA]): The data to learn from.
        facts (N): Without data: a generated graph of this many facts, such as 1e9.
        nodes (M): Simulate this many machines.
        cores (N): Cores of each machine; default: those of this one.
        settings (--set KEY=VALUE): A setting such as constants=off.
    """
    import os

    from ..learning.learner import least_confidence
    from ..search.cost import Size, check_memory, cost, simulate
    from .learn import resolve

    if (data is None) == (facts is None):
        raise ConfigError("plan needs either data or --facts N")
    config = resolve(session, None, settings or [])
    if data is not None:
        dataset = session.read_data(data, config.seed, config.data_options())
        kb, least = dataset.kb, config.min_confidence
        size = Size.of(kb, config.min_support, least if least >= 0 else least_confidence(kb), dataset.targets or None)
    else:
        assert facts is not None
        if facts < 1:
            raise ConfigError(f"--facts {facts:g}: expected a number of facts such as 1e9")
        size = Size.generated(facts)
    threads = cores or config.threads or os.cpu_count() or 1
    found = cost(size, config.memory, threads, config.constants)
    several = None if nodes is None else simulate(found, nodes, threads)
    if several is None:
        check_memory(config.memory, int(size.facts))
    session.show(document(found, several, threads, config.memory), *views(found, several, threads, config.memory))


def document(found: Cost, several: Simulation | None, cores: int, memory: int) -> dict[str, Any]:
    """Return what was `found` and the simulation of `several` machines as plain values for JSON.

    `cores` are those of one machine, `memory` is the budget.
    """
    about: dict[str, Any] = {
        "facts": int(found.size.facts),
        "entities": int(found.size.entities),
        "targets": int(found.size.targets),
        "paths": int(found.paths),
        "rules": int(found.rules),
        "budget_mb": memory / 1e6,
        "memory_mb": found.bytes / 1e6,
        "cpu_seconds": found.cpu_seconds,
        "seconds": found.wall_seconds(cores),
        "cores": cores,
        "memory_by_part_mb": {name: value / 1e6 for name, value in found.memory.items()},
        "cpu_seconds_by_part": dict(found.seconds),
    }
    if several is not None:
        about["simulation"] = {
            "nodes": several.nodes,
            "cores": several.cores,
            "node_memory_mb": several.node_bytes / 1e6,
            "moved_mb": several.moved_bytes / 1e6,
            "seconds": several.total_seconds,
            "seconds_by_part": dict(several.seconds),
        }
    return about


def views(found: Cost, several: Simulation | None, cores: int, memory: int) -> list[Any]:
    """Return tables of what was `found` and of the simulation of `several` machines; `cores`, `memory` as above."""
    from ..logic.figures import plural
    from .render import pairs_table, table

    size = found.size
    shared = plural(cores, "core")
    counts = {
        "facts": f"{size.facts:,.0f}",
        "entities": f"{size.entities:,.0f}",
        "targets": f"{size.targets:,.0f}",
        "edges walked": f"about {rounded(found.paths)}",
        "rules": f"about {rounded(found.rules)}",
        "memory": f"about {found.bytes / GIB:.1f} GiB, with --memory {memory / GIB:.3g}GiB",
        "time": f"about {clock(found.wall_seconds(cores))} on {shared} ({clock(found.cpu_seconds)} of one)",
    }
    parts = [(name, "", clock(value)) for name, value in found.seconds.items()]
    parts += [
        (name, f"{value / GIB:.2f} GiB" if value >= 0.005 * GIB else "under 0.01 GiB", "")
        for name, value in found.memory.items()
    ]
    shown: list[Any] = [
        pairs_table(counts, "estimate: a simulation on one machine" if several else "estimate"),
        table(("part", "memory", "time of one core"), parts, right=("memory", "time of one core")),
    ]
    if several is not None:
        rows = {name: clock(value) for name, value in several.seconds.items()}
        rows |= {
            "all": clock(several.total_seconds),
            "memory of the first node": f"{several.node_bytes / GIB:,.0f} GiB",
            "moved": f"{several.moved_bytes / GIB:,.0f} GiB",
        }
        shown.append(pairs_table(rows, f"simulation: {several.nodes:,} nodes of {several.cores} cores"))
    return shown


def rounded(count: float) -> str:
    """Return a large `count` with two digits that count.

    >>> rounded(48_123.0), rounded(7.0), rounded(3.14e12)
    ('48,000', '7', '3,100,000,000,000')
    """
    return f"{float(f'{count:.2g}'):,.0f}"


def clock(seconds: float) -> str:
    """Return `seconds` as a duration with two digits; an estimate of less than a tenth of a second is not said.

    >>> clock(5.26), clock(90), clock(4000), clock(400_000), clock(0.0062)
    ('5.3 s', '1.5 min', '67 min', '4.6 d', 'under 0.1 s')
    """
    for unit, size in (("d", 86_400), ("h", 3_600), ("min", 60)):
        if seconds >= 1.5 * size or (unit == "min" and seconds >= size):
            return f"{seconds / size:.2g} {unit}"
    return f"{seconds:.2g} s" if seconds >= 0.1 else "under 0.1 s"
