"""nlil theory RUN

`theories` are those to show, by target, of the `theory` of a run; `pool` are all its rules.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, DataError
from .rules import FORMATS, chosen_format, write_program, write_prolog
from .session import AppliedRun, Bounds, Run, Session

if TYPE_CHECKING:
    from rich.table import Table

    from ..data.arrays import Longs
    from ..kernel.ruleset import RuleSet
    from ..learning.run import Learned
    from ..logic.labels import Labels
    from ..logic.predicate import Predicate
    from ..theory.listing import TargetTheory, TheoryRule
    from ..theory.theory import Theory

SHOWN_FAMILY = 20
COLUMNS_MEAN = (
    "adds: facts that no earlier rule explains; backs up: facts that one does; "
    "represents: similar rules that are left out"
)


def theory(
    session: Session,
    run: Run,
    *,
    target: str | None = None,
    size: Annotated[int | None, Bounds(1)] = None,
    keep: Annotated[
        float | None,
        typer.Option(
            "--keep", metavar="SHARE", min=0, max=1, help="Use the fewest rules that keep this share of the score."
        ),
    ] = None,
    family: Annotated[int | None, Bounds(1)] = None,
    all_rules: Annotated[bool, typer.Option("--all", help="Show the rules that only back up others, too.")] = False,
    format: Annotated[str, typer.Option("--format", metavar="NAME", help=f"{', '.join(FORMATS)}.")] = "text",
    leave_out: bool = False,
) -> None:
    """Show the theory of a predicate: a small set of rules that does nearly the work of all rules of the run.

    Args:
        session: The common options.
        run: The rules.
        target (P): The theory of this predicate. Default: one line for each predicate.
        size (K): Maximum number of rules per predicate. Default: as learned.
        keep: The fewest rules that keep this share of the pool's score on validation facts.
        family (N): Show the rules that rule N of the target represents.
        all_rules: Show the rules that only back up others, too; --size and --keep do so as well.
        format: One of FORMATS.
        leave_out: Leave out rules that the language cannot express.
    """
    from ..learning.feedback import load_feedback, rejected_note, rows_not_rejected
    from ..learning.run import load_run
    from ..logic.labels import Labels
    from ..theory.listing import scores_sentence, target_theories, theory_document

    chosen = chosen_format(session, format)
    if size is not None and keep is not None:
        raise ConfigError("--size and --keep exclude each other: give a number of rules or a share of the score")
    learned, feedback = load_run(run), load_feedback(run)
    if feedback:
        kept = rows_not_rejected(learned.rules, feedback)
        session.notes(rejected_note(len(learned.rules), len(kept)))
        learned = learned.over(learned.rules.take(kept), kept)
    learned = learned if target is None else learned.for_target(target)
    small = learned.with_theory(size, keep).rules  # raises an error if the run has no theories
    found, pool = learned.theory, learned.rules
    assert found is not None
    numbers = found.chosen(pool, size, keep)
    if family is not None:
        return show_family(session, pool, found, numbers, target, family)
    match chosen:
        case "text" | "json":
            labels = Labels.of(pool)
            theories = target_theories(pool, found, numbers, exclusions=small.exclusions)
            if target is not None:
                theories = with_rank_gains(session, run, theories, small)
            folded = not (all_rules or size or keep)
            shown = target_view(theories, labels) if target is None else rule_view(theories, found, labels, folded)
            if chosen == "text":
                session.note(scores_sentence(found))
            replace(session, as_json=chosen == "json").show(theory_document(theories, found, labels), *shown)
        case "prolog":
            write_prolog(small, len(small), feedback)
        case _:
            opened = cache(lambda: session.open_run(AppliedRun(run, None, True, size)))
            write_program(session, small, len(small), chosen, leave_out, opened)


def with_rank_gains(session: Session, run: Path, theories: list[TargetTheory], rules: RuleSet) -> list[TargetTheory]:
    """Return `theories`, those of `rules`, with what each rule does for the ranks of the training facts of `run`.

    Without the data a theory can still be read: a note then says why the column is missing.
    """
    from ..theory import listing

    try:
        opened = session.open_run(AppliedRun(run))
    except DataError as error:
        session.note(f"rank gained: not measured; {error}")
        return theories
    config = opened.config
    return listing.with_rank_gains(theories, rules, opened.dataset.kb, config.threads, config.memory)


def rule_view(theories: Sequence[TargetTheory], theory: Theory, labels: Labels, folded: bool = False) -> list[Any]:
    """Return the rules of one target, or of the targets that share its name.

    Args:
        theories: The theories of these targets.
        theory: What they are part of.
        labels: Readable labels.
        folded: Show only the rules that add something; the others back them up.
    """
    from ..logic.figures import plural
    from ..theory.listing import adding, ties_sentence
    from .render import exclusion_line

    every = [rule for target in theories for rule in target.rules]
    rules = [rule for target in theories for rule in (adding(target) if folded else target.rules)]
    explained, tried = (sum(getattr(target, name) for target in theories) for name in ("explained", "tried"))
    text = f"{plural(len(rules), 'rule')} explain{'s' * (len(rules) == 1)} {explained:,} of {tried:,} facts. "
    if more := len(every) - len(rules):
        back = f"back{'s' * (more == 1)} them up, in case a fact is missing"
        text += f"{plural(more, 'more rule')} only {back}; --all shows them. "
    text += f"{COLUMNS_MEAN}."
    if any(rule.ranks is not None for rule in rules):
        text += " rank gained: increase of the MRR of training facts, each hidden while it is ranked."
    excluded = [exclusion_line(t.predicate, t.exclusions, labels) for t in theories if t.exclusions]
    ties = ties_sentence(theory, [target.predicate for target in theories])
    numbers = {rule.number: place for place, rule in enumerate(every, start=1)}
    return [theory_table(rules, labels, numbers=numbers), *excluded, text, *([ties] if ties else [])]


def theory_table(
    rules: Sequence[TheoryRule], labels: Labels, title: str | None = None, numbers: Mapping[int, int] | None = None
) -> Table:
    """Return a table of rules with what each adds.

    Args:
        rules: The rules, in the order of the table.
        labels: Readable labels.
        title: Shown above the table.
        numbers: The number to show of each rule, by its position in the theory; None shows none.
    """
    from .render import DISTINCT, table

    rows, is_ranked = [], any(one.ranks is not None for one in rules)
    for one in rules:
        stats, mark = one.scored.stats, DISTINCT if one.scored.rule.distinct else ""
        gained = ("" if one.ranks is None else f"{one.ranks:+.3f}".replace("0.", ".", 1),) if is_ranked else ()
        counts = (one.adds, one.backs_up, *gained, stats.confidence, stats.support, one.num_same)
        own = (labels.short_rule(one.scored.rule), mark, *counts)
        rows.append((str(numbers[one.number]), *own) if numbers else own)
    named = ("adds", "backs up", *(["rank gained"] if is_ranked else []), "confidence", "support", "represents")
    columns = ("rule", DISTINCT, *named)
    return table(("", *columns) if numbers else columns, rows, title, ("", *named))


def first_rules(learned: Learned, targets: Iterable[Predicate], count: int) -> list[TheoryRule]:
    """Return the first `count` rules of the theory of each of `targets`, in their order; none without theories."""
    from ..theory.listing import target_theories

    if (theory := learned.theory) is None:
        return []
    by_target = {one.predicate: one.rules[:count] for one in target_theories(learned.rules, theory)}
    return [rule for target in targets for rule in by_target.get(target, ())]


def target_view(theories: Sequence[TargetTheory], labels: Labels) -> list[Any]:
    """Return one line per target."""
    from .render import table

    rows = [
        (
            labels.predicate(target.predicate.name),
            len(target.rules),
            target.explained / max(target.tried, 1),
            target.num_rules,
            labels.short_rule(target.rules[0].scored.rule),
        )
        for target in theories
    ]
    columns = ("predicate", "rules", "explained", "of all rules", "first rule")
    text = "explained: share of the sampled facts. One theory: nlil theory RUN --target P"
    return [table(columns, rows, right=columns[1:4]), text]


def show_family(
    session: Session, pool: RuleSet, theory: Theory, numbers: Longs, target: str | None, number: int
) -> None:
    """Show the rules that rule `number` of the theory of a `target` represents.

    `numbers` are the positions of the theory's rules as shown.
    """
    from ..logic.figures import plural
    from ..logic.labels import Labels

    if target is None:
        raise ConfigError("--family needs --target P: it is the number of a rule in one theory", "family")
    if number > len(numbers):
        raise ConfigError(f"--family {number}: the theory has {len(numbers)} rules", "family")
    place, labels = int(numbers[number - 1]), Labels.of(pool)
    rules = theory.family_of(pool, place)
    own = pool.rule(int(theory.rows[place]))
    more = f"and {len(rules) - SHOWN_FAMILY:,} more" if len(rules) > SHOWN_FAMILY else ""
    lines = [f"  {labels.short_rule(rule)}" for rule in rules[:SHOWN_FAMILY]]
    session.show(
        {"rule": str(own), "family": [str(rule) for rule in rules]},
        f"{labels.short_rule(own)}\nIt represents {plural(len(rules), 'similar rule')}{':' if len(rules) else '.'}",
        *lines,
        *([more] if more else []),
    )
