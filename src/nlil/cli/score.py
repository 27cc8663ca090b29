"""nlil score RUN FACTS --out scored.tsv"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .session import AppliedRun, Session

if TYPE_CHECKING:
    from ..evaluation.prediction import ScoredFacts

COLUMNS = {
    "subject": str,
    "predicate": str,
    "object": str,
    "probability": float,
    "score": float,
    "known": bool,
}
SHOWN = 20


def score(
    session: Session,
    run: AppliedRun,
    facts: Annotated[Path, typer.Argument(metavar="FACTS", help="A file of facts, as in DATA.")],
    *,
    out: Path | None = None,
) -> None:
    """Give the probability of each fact of a file; a known fact is scored as if it were not known.

    Args:
        session: The common options.
        run: The rules.
        facts: The facts.
        out (FILE): Write all of them to a table: .tsv, .csv, .jsonl or .parquet. Default: the first ones are shown.
    """
    from dataclasses import replace

    from ..data.dataset import DataOptions
    from ..data.write_table import check_table_name, table_writer
    from ..datasets.folder import file_batches
    from ..logic.figures import plural

    if out is not None:
        check_table_name(out)
    options = replace(DataOptions(), **session.reading)
    batches = file_batches(facts, options)
    predictor = session.open_run(run).predictor
    total = {"facts": 0, "unknown": 0}

    def scored() -> Iterator[ScoredFacts]:
        for batch in predictor.score_batches(batches, session.notes):
            total["facts"] += len(batch)
            total["unknown"] += batch.num_unknown
            yield batch

    if out is None:
        every = [row for batch in scored() for row in batch.rows()]
        document = {"facts": [dict(zip(COLUMNS, row)) for row in every], **_counts(total)}
        session.show(document, *_view(every))
    else:
        with table_writer(out, COLUMNS) as put, session.progress() as progress:
            for batch in scored():
                put(batch.rows())
                progress("facts", total["facts"], total["facts"])
        session.show({"out": str(out), **_counts(total)}, f"{plural(total['facts'], 'fact')} written to {out}")
    if total["unknown"]:
        session.warn(
            f"no score for {total['unknown']:,} of {plural(total['facts'], 'fact')}: the data does not have one of the "
            "names, or it is the label of several"
        )


def _counts(total: dict[str, int]) -> dict[str, int]:
    return {"num_facts": total["facts"], "num_unknown": total["unknown"]}


def _view(rows: list[tuple[Any, ...]]) -> list[Any]:
    from .render import table

    shown = [(s, p, o, chance, score, "yes" if known else "") for s, p, o, chance, score, known in islice(rows, SHOWN)]
    views: list[Any] = [table(tuple(COLUMNS), shown, None, ("probability", "score"))]
    if len(rows) > SHOWN:
        views.append(f"{SHOWN} of {len(rows):,} facts; --out FILE writes all.")
    return views
