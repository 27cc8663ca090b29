"""nlil check RUN"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .opening import open_run
from .session import Session


def check(
    session: Session,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    top: Annotated[int, typer.Option(min=1, help="So many facts, worst first.")] = 20,
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Check these facts.")] = None,
) -> None:
    """Find facts that the rules dispute, worst first."""
    from ..explanation import check as check_facts
    from .render import cells, plain_table

    opened = open_run(session, run, data)
    disputes = check_facts(opened.rules, opened.dataset.kb, opened.dataset.splits, top)
    if not disputes:
        session.show({"disputes": []}, "no fact is disputed")
        return
    table = plain_table("fact", "own score", "the rules prefer", "score", right=("own score", "score"))
    for dispute in disputes:
        table.add_row(*cells(str(dispute.fact), dispute.own_score, str(dispute.competitor), dispute.competitor_score))
    session.show({"disputes": [dispute.to_dict() for dispute in disputes]}, table)
