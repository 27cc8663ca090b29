"""nlil complete RUN --top 1000 --out new.tsv"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .session import AppliedRun, Bounds, Session

if TYPE_CHECKING:
    from ..evaluation.completion import NewFacts
    from ..learning.opening import OpenedRun

COLUMNS = {"subject": str, "predicate": str, "object": str, "probability": float, "score": float, "rule": str}


def complete(
    session: Session,
    run: AppliedRun,
    *,
    target: list[str] | None = None,
    top: Annotated[int, Bounds(1)] = 20,
    out: Path | None = None,
) -> None:
    """Find the most probable facts that are not known, over the whole graph.

    Args:
        session: The common options.
        run: The rules.
        target (P): Only facts of this predicate; may be repeated. Default: every target of the run.
        top (N): The number of facts, most probable first.
        out (FILE): Write them to a table: .tsv, .csv, .jsonl or .parquet.
    """
    from ..data.write_table import check_table_name, table_writer
    from ..logic.figures import plural

    if out is not None:
        check_table_name(out)
    opened = session.open_run(run)
    found = new_facts(session, opened, target, top)
    if out is None:
        session.show({"facts": list(found.records())}, *view(found))
        return
    with table_writer(out, COLUMNS) as put:
        put([record[name] for name in COLUMNS] for record in found.records())
    session.show({"num_facts": len(found), "out": str(out)}, f"{plural(len(found), 'new fact')} written to {out}")


def new_facts(session: Session, opened: OpenedRun, targets: list[str] | None, top: int) -> NewFacts:
    """Return the most probable new facts of `targets` (None: of all) of an `opened` run; `top` is their number."""
    with session.progress() as progress:
        return opened.complete(top, targets or None, progress)


def view(found: NewFacts) -> list[Any]:
    """Return the facts that were `found` as a table."""
    from ..logic.labels import Labels
    from .render import table

    if not len(found):
        return ["no rule proposes a fact that is not known"]
    labels = Labels.of(found.kb)
    rows = [
        (
            labels.fact(new.fact),
            new.probability,
            new.score,
            "" if new.rule is None else labels.short_rule(new.rule.rule),
        )
        for new in found
    ]
    note = "The rule is the one that counts most for the fact; --json and --out have its exact text."
    return [table(("new fact", "probability", "score", "rule"), rows, None, ("probability", "score")), note]
