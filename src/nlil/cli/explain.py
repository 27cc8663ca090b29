"""nlil explain RUN "uncle(alice, bob)" """

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from ..errors import ConfigError
from .opening import open_run
from .session import Session


def explain(
    session: Session,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    query: Annotated[str, typer.Argument(metavar="FACT", help="uncle(alice, bob) or person(obj17)")],
    top: Annotated[int | None, typer.Option(min=1, help="Rules shown, strongest first. Default: all that count, up "
                                            "to 20.")] = None,
    side: Annotated[str, typer.Option(metavar="NAME", help="Which answer to explain: object, that to p(a, ?), or "
                                      "subject, that to p(?, b).")] = "object",
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")] = None,
) -> None:
    """Say why: the rules that fire, the facts that make them fire, and where the others fail."""
    from ..explanation import explain as explain_fact
    from ..explanation.why import SIDES
    from ..learning.calibrating import load_calibration
    from .render import number

    if side not in SIDES:
        raise ConfigError(f"--side {side}: choose {' or '.join(SIDES)}", "side")
    opened = open_run(session, run, data)
    explanation = explain_fact(opened.rules, opened.base, query, top=top, side=side, memory=opened.config.memory)
    kept = load_calibration(run)
    probability = None
    if kept is not None:
        probability = kept.probability(explanation.score, explanation.fact.predicate.arity)
    views: list[Any] = [explanation]
    if probability is not None:
        views.append(f"probability {number(probability)}: what this score means for a fact not seen before")
    session.show({**explanation.to_dict(), "probability": probability}, *views)
