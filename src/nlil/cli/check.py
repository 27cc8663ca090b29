"""nlil check RUN"""

from __future__ import annotations

from typing import Annotated

from .session import AppliedRun, Bounds, Session


def check(
    session: Session,
    run: AppliedRun,
    *,
    target: list[str] | None = None,
    top: Annotated[int, Bounds(1)] = 20,
    threshold: Annotated[float, Bounds(0, 1)] = 0.0,
) -> None:
    """Find facts that are probably wrong, by the rules, worst first.

    Args:
        session: The common options.
        run: The rules.
        target (P): Only facts of this predicate; may be repeated. Default: every target of the run.
        top: The number of facts, worst first.
        threshold (P): Only facts that are wrong with at least this probability; where there are too few facts to tell
            it, only those whose competitor is more probable by this much.
    """
    from ..explanation.brief import chance, probability_text
    from ..explanation.outline import grounding_line
    from .render import table

    opened = session.open_run(run)
    with session.progress() as progress:
        disputes = opened.check(top, target or None, progress)
    disputes = [d for d in disputes if (d.margin if d.wrong is None else d.wrong) >= threshold]
    if not disputes:
        session.show({"disputes": []}, "no fact is disputed")
        return
    columns = ("fact", "wrong", "by the rules", "they prefer", "by the rules", "because")
    rows = []
    for d in disputes:
        because = [d.labels.short_rule(scored.rule) for scored in d.reasons[:1]]
        ways = [(scored.rule, ways[0]) for scored, ways in zip(d.reasons[:1], d.evidence) if ways]
        facts = [grounding_line(way, rule.distinct, d.labels) for rule, way in ways]
        text = "\n".join(because + [f"  {line}" for line in facts if line])
        own, other = (
            "\n".join(part.removesuffix("; ") for part in probability_text(*figures) if part)
            for figures in ((d.own_probability, d.own_score), (d.competitor_probability, d.competitor_score))
        )
        preferred = ("nothing", "") if d.competitor is None else (d.labels.fact(d.competitor), other)
        rows.append((d.labels.fact(d.fact), "" if d.wrong is None else chance(d.wrong), own, *preferred, text))
    shown = table(columns, rows)
    session.show({"disputes": [dispute.to_dict() for dispute in disputes]}, shown)
