"""nlil materialize RUN --out FACTS"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from ..errors import ConfigError
from .session import AppliedRun, Bounds, Session, Written


def materialize(
    session: Session,
    run: AppliedRun,
    *,
    out: Annotated[Path, Written()],
    min_confidence: Annotated[float, Bounds(0, 1)] = 0.95,
    cluster: str | None = None,
) -> None:
    """Write all new facts that the strong rules derive, up to the fixpoint.

    Args:
        session: The common options.
        run: The rules.
        out (FACTS): The file for the new facts: .tsv, .csv, .nt, .pl or .parquet.
        min_confidence: Use rules with at least this confidence.
        cluster (ADDRESS): Work on a Ray cluster: ray (this machine alone) or ray://HOST:PORT. Same facts.
    """
    from ..data.files import ending
    from ..data.write import FORMATS, write_facts
    from ..kernel.materialize import materialize as derive
    from ..logic.figures import plural

    if ending(out) not in FORMATS:
        raise ConfigError(f"{out}: expected a name ending in {', '.join(FORMATS)}, got {out.name!r}", "out")
    opened = session.open_run(run)
    strong = opened.rules.take(opened.rules.confidence >= min_confidence)
    with session.workers(cluster, opened.config.threads), session.progress() as progress:
        # The number of rounds is not known in advance.
        derived = derive(
            opened.dataset.kb,
            strong,
            exclusions=opened.rules.exclusions,
            threads=opened.config.threads,
            progress=lambda rounds, new: progress("rounds", rounds, rounds, f"{new:,} new facts"),
        )
    write_facts(opened.dataset.kb, derived.facts, out, derived.confidence)
    session.show(
        {
            "out": str(out),
            "num_facts": len(derived.facts),
            "num_excluded": derived.num_excluded,
            "num_rules": len(strong),
            "rounds": derived.rounds,
            "min_confidence": min_confidence,
        },
        f"{plural(len(derived.facts), 'new fact')} from {plural(len(strong), 'rule')} in "
        f"{plural(derived.rounds, 'round')}, written to {out}"
        + (f"; {derived.num_excluded:,} more are ruled out by exclusions" if derived.num_excluded else ""),
    )
