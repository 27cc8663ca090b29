"""nlil theory RUN"""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .rules import FORMATS, write_program, write_prolog
from .session import Bounds, Run, Session

if TYPE_CHECKING:
    from ..data.arrays import Longs
    from ..kernel.ruleset import RuleSet
    from ..theory.theory import Theory

SHOWN_FAMILY = 20


def theory(
    session: Session,
    run: Run,
    *,
    target: str | None = None,
    size: Annotated[int | None, Bounds(1)] = None,
    keep: Annotated[
        float | None,
        typer.Option(metavar="SHARE", min=0, max=1, help="The least rules that keep this share of the score."),
    ] = None,
    family: Annotated[int | None, Bounds(1)] = None,
    format: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(FORMATS)}.")] = "text",
    leave_out: bool = False,
) -> None:
    """Show the theory of a predicate: a few rules that together say what all rules of the run say.

    Args:
        session: The common options.
        run: The rules.
        target (P): The theory of this predicate. Default: one line for each predicate.
        size (K): So many rules a predicate, at most. Default: as learned.
        keep: The least rules that keep this share of what the pool of all rules scores on validation facts.
        family (N): The rules that say the same as rule N of the target.
        format: One of FORMATS.
        leave_out: Leave out what the language cannot say.
    """
    from ..learning.feedback import load_feedback
    from ..learning.run import load_run

    chosen = "json" if session.as_json else format
    if chosen not in FORMATS:
        raise ConfigError(f"--format {chosen}: not available; choose one of {', '.join(FORMATS)}", "format")
    if size is not None and keep is not None:
        raise ConfigError("--size and --keep exclude each other: ask for a number of rules or for a share of the score")
    learned = load_run(run)
    small = learned.with_theory(size, keep).rules  # says so where the run has no theories
    found, pool = learned.theory, learned.rules
    assert found is not None
    numbers = found.chosen(pool, size, keep)
    if target is not None:
        mine = pool.for_target(target)  # says so where nothing has this name
        heads = {int(h) for h in mine.head}
        numbers = numbers[[int(pool.head[found.rows[n]]) in heads for n in numbers]]
        small = small.for_target(target)
    if family is not None:
        return show_family(session, pool, found, numbers, target, family)
    match chosen:
        case "text" | "json":
            shown = rule_view(pool, found, numbers) if target is not None else target_view(pool, found, numbers)
            if chosen == "text":
                session.note(scores_sentence(found))
            replace(session, as_json=chosen == "json").show(as_document(pool, found, numbers), *shown)
        case "prolog":
            write_prolog(small, len(small), load_feedback(run))
        case _:
            opened = cache(lambda: session.open_run(run, None, True))
            write_program(session, small, len(small), chosen, leave_out, opened)


def scores_sentence(theory: Theory) -> str:
    """How the theories do on validation facts, beside all rules."""
    if (pool := theory.pool_score) is None:
        return "no validation facts: how well the theories do beside all rules is not known"
    curve = ", ".join(f"{one.size}: {one.mrr:.3f}" for one in theory.curve())
    return f"mean 1 / rank of validation facts by rules a predicate: {curve}; all rules: {pool:.3f}"


def rule_view(pool: RuleSet, theory: Theory, numbers: Longs) -> list[Any]:
    """The rules of one target."""
    from ..logic.labels import Labels
    from .render import DISTINCT, exclusion_lines, table

    labels, families = Labels.of(pool), theory.family_sizes
    right = ("", "adds", "gain", "confidence", "support", "say the same")
    rows = []
    for count, n in enumerate(numbers.tolist(), start=1):
        scored = pool[int(theory.rows[n])]
        mark = DISTINCT if scored.rule.distinct else ""
        rows.append(
            (
                str(count), labels.short_rule(scored.rule), mark, int(theory.explained[n]), float(theory.gain[n]),
                scored.stats.confidence, scored.stats.support, int(families[n]),
            )
        )  # fmt: skip
    tried = int(theory.tried[numbers[0]]) if len(numbers) else 0
    columns = ("", "rule", DISTINCT, *right[1:])
    explained = int(theory.explained[numbers].sum())
    text = (
        f"{len(rows)} rules explain {explained:,} of {tried:,} facts. adds: facts that no rule above explains; "
        "gain: what it adds to the mean precision of the best rule; say the same: rules that are left out for it."
    )
    targets = {scored.rule.target for scored in (pool[int(theory.rows[n])] for n in numbers[:1])}
    return [table(columns, rows, right=right), *exclusion_lines(pool, targets), text]


def target_view(pool: RuleSet, theory: Theory, numbers: Longs) -> list[Any]:
    """One line for each target."""
    from ..logic.labels import Labels
    from .render import table

    labels = Labels.of(pool)
    rows = []
    head = pool.head[theory.rows[numbers]]
    for target in dict.fromkeys(head.tolist()):
        mine = numbers[head == target]
        scored, predicate = pool[int(theory.rows[mine[0]])], pool.predicates[target]
        explained = float(theory.explained[mine].sum() / max(int(theory.tried[mine[0]]), 1))
        rows.append(
            (
                labels.predicate(predicate.name),
                len(mine),
                explained,
                int((pool.head == target).sum()),
                labels.short_rule(scored.rule),
            )
        )
    columns = ("predicate", "rules", "explain", "of all rules", "the first one")
    text = "explain: share of the facts that were tried. One theory: nlil theory RUN --target P"
    return [table(columns, rows, right=columns[1:4]), text]


def show_family(
    session: Session, pool: RuleSet, theory: Theory, numbers: Longs, target: str | None, number: int
) -> None:
    """The rules that are left out for one of the theory."""
    from ..logic.labels import Labels

    if target is None:
        raise ConfigError("--family needs --target P: it counts the rules of one theory", "family")
    if number > len(numbers):
        raise ConfigError(f"--family {number}: the theory has {len(numbers)} rules", "family")
    place, labels = int(numbers[number - 1]), Labels.of(pool)
    rules = theory.family_of(pool, place)
    own = pool.rule(int(theory.rows[place]))
    more = f"and {len(rules) - SHOWN_FAMILY:,} more" if len(rules) > SHOWN_FAMILY else ""
    lines = [f"  {labels.short_rule(rule)}" for rule in rules[:SHOWN_FAMILY]]
    session.show(
        {"rule": str(own), "family": [str(rule) for rule in rules]},
        f"{labels.short_rule(own)}\n{len(rules):,} rules say the same:",
        *lines,
        *([more] if more else []),
    )


def as_document(pool: RuleSet, theory: Theory, numbers: Longs) -> dict[str, Any]:
    """All of it for programs."""
    from ..logic.labels import Labels

    labels, families = Labels.of(pool), theory.family_sizes
    rules = []
    for n in numbers.tolist():
        scored = pool[int(theory.rows[n])]
        rules.append(
            {
                "rule": str(scored.rule),
                "label": labels.rule(scored.rule),
                "target": str(scored.rule.target),
                "place": int(theory.place[n]) + 1,
                "explained": int(theory.explained[n]),
                "tried": int(theory.tried[n]),
                "gain": float(theory.gain[n]),
                "family": int(families[n]),
                "weight": scored.weight,
                **scored.stats.to_dict(),
            }
        )
    targets = {scored["target"] for scored in rules}
    exclusions = [e.to_dict() for e in pool.exclusions if str(e.target) in targets]
    return {
        "num_rules": len(rules),
        "atoms": int(pool.lengths[theory.rows[numbers]].sum()),
        "breaks_ties_by_frequency": theory.aggregation.by_frequency,
        "curve": [{"size": one.size, "mrr": one.mrr} for one in theory.curve()],
        "pool_mrr": theory.pool_score,
        "rules": rules,
        "exclusions": exclusions,
    }
