"""nlil check RUN"""

from __future__ import annotations

from typing import Annotated

import typer

from .session import Run, Session


def check(
    session: Session,
    run: Run,
    top: Annotated[int, typer.Option(min=1, help="So many facts, worst first.")] = 20,
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Check these facts.")] = None,
) -> None:
    """Find facts that the rules dispute, worst first."""
    from ..explanation.disputes import check as check_facts
    from ..explanation.outline import grounding_line
    from .render import cells, plain_table, short_text

    opened = session.open_run(run, data)
    with session.progress() as progress:
        threads, memory = opened.config.threads, opened.config.memory
        disputes = check_facts(opened.rules, opened.base, top=top, threads=threads, memory=memory, progress=progress)
    if not disputes:
        session.show({"disputes": []}, "no fact is disputed")
        return
    table = plain_table("fact", "own score", "the rules prefer", "score", "because", right=("own score", "score"))
    for d in disputes:
        because = ""
        if d.reasons:
            ways = d.evidence[0] if d.evidence else ()
            facts = [grounding_line(way, d.reasons[0].rule.distinct, d.labels) for way in ways[:1]]
            lines = [short_text(d.reasons[0].rule, d.labels.rule), *(f"  {line}" for line in facts if line)]
            because = "\n".join(lines)
        table.add_row(
            *cells(d.labels.fact(d.fact), d.own_score, d.labels.fact(d.competitor), d.competitor_score, because)
        )
    session.show({"disputes": [dispute.to_dict() for dispute in disputes]}, table)
