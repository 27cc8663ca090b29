"""Tables for people (with labels) and documents for programs (with names of the data).

`title` is shown above a table, unless it is None.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from ..logic.figures import cell_text, number

if TYPE_CHECKING:
    from ..kernel.exclusion import Exclusion
    from ..kernel.ruleset import RuleSet
    from ..learning.feedback import Feedback
    from ..logic.labels import Labels
    from ..logic.predicate import Predicate
    from ..logic.rule import ScoredRule

DISTINCT = "\u2260"
SHOWN_EXCLUSIONS = 6


def table(
    columns: Sequence[str], rows: Iterable[Sequence[Any]], title: str | None = None, right: Sequence[str] = ()
) -> Table:
    """Return a table of `rows` with a line below its header, the `columns`.

    `right` are the columns with numbers.
    """
    from rich import box

    made = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        is_number = column in right
        made.add_column(column, justify="right" if is_number else "left", no_wrap=is_number, overflow="fold")
    for row in rows:
        made.add_row(*map(cell, row))
    return made


def pairs_table(values: Mapping[str, Any], title: str | None = None) -> Table:
    """Return `values` as a table of two columns."""
    from rich import box

    made = table(("", " "), values.items(), title)
    made.show_header, made.box = False, box.SIMPLE
    return made


def cell(value: Any) -> Text:
    """Return a value as plain text; names from the data may look like markup."""
    return Text(cell_text(value))


def rule_table(
    scored: Iterable[ScoredRule], labels: Labels, title: str | None = None, verdicts: Feedback | None = None
) -> Table:
    """Return a table of the rules of `scored`; \u2260 stands for the inequalities of distinct variables.

    There is a column for `verdicts` if one of these rules has a verdict.
    """
    numbers = ("weight", "confidence", "PCA", "support", "body")
    rows = []
    for item in scored:
        s, mark = item.stats, DISTINCT if item.rule.distinct else ""
        said = None if verdicts is None else verdicts.get(str(item.rule))
        figures = (item.weight, s.confidence, s.pca_confidence, s.support, s.body_size)
        rows.append((labels.short_rule(item.rule), mark, *figures, said.verdict if said else ""))
    if any(row[-1] for row in rows):
        return table(("rule", DISTINCT, *numbers, "verdict"), rows, title, numbers)
    return table(("rule", DISTINCT, *numbers), [row[:-1] for row in rows], title, numbers)


def exclusion_lines(rules: RuleSet, targets: Iterable[Predicate]) -> list[str]:
    """Return one line with the exclusions of each of the `targets`, the most significant first."""
    from ..logic.labels import Labels

    by_target = {target: [e for e in rules.exclusions if e.target == target] for target in targets}
    return [exclusion_line(target, found, Labels.of(rules)) for target, found in by_target.items() if found]


def exclusion_line(target: Predicate, exclusions: Sequence[Exclusion], labels: Labels) -> str:
    """Return a line with the first few `exclusions` of a `target`."""
    from ..logic.text import step_text

    names = [step_text(e.step, labels.predicate) for e in exclusions[:SHOWN_EXCLUSIONS]]
    more = f" and {len(exclusions) - len(names):,} more" if len(exclusions) > len(names) else ""
    name = labels.predicate(target.name)
    return f"never with {name}(X, Y), {number(len(exclusions))} in all: {', '.join(names)}{more}"


def kinds(rules: RuleSet) -> dict[str, int]:
    """Count the rules by kind: chains, paths (of unary heads), anchored, half-anchored, priors, and formulas, whose
    bodies are programs of several lines: conjunctions, disjunctions and negations, counted or trained.
    """
    from ..kernel.bodies import ANY_NODE, Y_NODE

    if not len(rules):
        return {}
    end = rules.bodies.lines.end[rules.line]
    is_line, fixed = ~rules.is_program & ~rules.is_prior, rules.fixed != 0
    chain, constant = is_line & (end == Y_NODE), is_line & (end >= 0)
    counts = {
        "chains": int(chain.sum()),
        "paths": int((is_line & ~fixed & ~chain & ~constant).sum()),
        "anchored": int(constant.sum()),
        "half-anchored": int((is_line & fixed & (end == ANY_NODE)).sum()),
        "priors": int(rules.is_prior.sum()),
        "formulas": int(rules.is_program.sum()),
    }
    return {kind: count for kind, count in counts.items() if count}


def listing(counts: Mapping[str, int]) -> str:
    """Return `counts` by kind as text.

    >>> listing({"chains": 1200, "priors": 3})
    '1,200 chains, 3 priors'
    """
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
