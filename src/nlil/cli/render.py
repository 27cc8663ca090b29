"""Values as tables for people (labels) and as documents for programs (names of the data)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..kernel.ruleset import RuleSet
    from ..learning.feedback import Feedback
    from ..logic.predicate import Predicate
    from ..logic.rule import Rule, ScoredRule

DISTINCT = "\u2260"
SHOWN_EXCLUSIONS = 6

Reader = Callable[["Rule"], str]


def plain_table(*columns: str, title: str | None = None, right: Sequence[str] = ()) -> Table:
    """A table with a rule under its head and nothing else; `right` columns hold numbers."""
    from rich import box

    table = Table(title=title, title_justify="left", title_style="bold", box=box.SIMPLE_HEAD, pad_edge=False)
    for column in columns:
        if column in right:
            table.add_column(column, justify="right", no_wrap=True)
        else:
            table.add_column(column, overflow="fold")
    return table


def cells(*values: Any) -> list[Text]:
    """Cells as they are: names from data may look like markup."""
    return [Text("" if v is None else v if isinstance(v, str) else number(v)) for v in values]


def number(value: float | int) -> str:
    """
    >>> number(12345), number(0.95), number(1.0)
    ('12,345', '.950', '1.000')
    """
    if isinstance(value, int):
        return f"{value:,}"
    text = f"{value:.3f}"
    return text[1:] if text.startswith("0.") else text


def reader(rules: RuleSet) -> Reader:
    """rule -> text with labels where the data has them."""
    from ..logic.labels import Labels

    return Labels.of(rules).rule


def short_text(rule: Rule, read: Reader) -> str:
    """The rule without its inequalities; whoever shows it says that the variables are distinct."""
    return read(replace(rule, distinct=False))


def rule_document(scored: ScoredRule, read: Reader) -> dict[str, Any]:
    rule = scored.rule
    return {
        "rule": str(rule),
        "label": read(rule),
        "target": rule.target.name,
        "arity": rule.target.arity,
        "length": rule.length,
        "distinct": rule.distinct,
        "weight": scored.weight,
        **scored.stats.to_dict(),
    }


def rule_table(
    scored: Iterable[ScoredRule], read: Reader, title: str | None = None, verdicts: Feedback | None = None
) -> Table:
    """Rules for reading: \u2260 stands for the inequalities of a rule whose variables take different entities.

    What people said of a rule has a column where somebody has said something of one of these.
    """
    numbers = ("weight", "confidence", "PCA", "support", "body")
    scored = list(scored)
    said = [None if verdicts is None else verdicts.get(str(item.rule)) for item in scored]
    extra = ("verdict",) if any(said) else ()
    table = plain_table("rule", DISTINCT, *numbers, *extra, title=title, right=numbers)
    for item, verdict in zip(scored, said):
        s, mark = item.stats, DISTINCT if item.rule.distinct else ""
        text = short_text(item.rule, read)
        last = [verdict.verdict if verdict else ""] if extra else []
        table.add_row(*cells(text, mark, item.weight, s.confidence, s.pca_confidence, s.support, s.body_size, *last))
    return table


def exclusion_lines(rules: RuleSet, targets: Iterable[Predicate]) -> list[str]:
    """For each of the targets one line with what excludes it, what chance speaks most against first."""
    from ..logic.labels import Labels
    from ..logic.text import step_text

    label = Labels.of(rules).predicate
    lines = []
    for target in targets:
        mine = [e for e in rules.exclusions if e.target == target]
        if mine:
            names = [step_text(e.step, label) for e in mine[:SHOWN_EXCLUSIONS]]
            more = f" and {len(mine) - len(names):,} more" if len(mine) > len(names) else ""
            lines.append(f"never with {label(target.name)}(X, Y), {number(len(mine))} in all: {', '.join(names)}{more}")
    return lines


def pairs_table(values: Mapping[str, Any], title: str | None = None) -> Table:
    """Two columns: what, how much."""
    from rich import box

    table = Table(
        title=title, title_justify="left", title_style="bold", box=box.SIMPLE, show_header=False, pad_edge=False
    )
    table.add_column()
    table.add_column(overflow="fold")
    for key, value in values.items():
        table.add_row(*cells(key, value))
    return table


def predicate_label(rules: RuleSet, predicate: Predicate) -> str:
    return rules.predicate_labels.get(predicate.name, str(predicate))


def kinds(rules: RuleSet) -> dict[str, int]:
    """How many rules there are of each kind: chains, paths (of unary heads), anchored, half-anchored, priors, other."""
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
        "other": int(rules.is_program.sum()),
    }
    return {kind: count for kind, count in counts.items() if count}


def listing(counts: Mapping[str, int]) -> str:
    """
    >>> listing({"chains": 1200, "priors": 3})
    '1,200 chains, 3 priors'
    """
    return ", ".join(f"{count:,} {kind}" for kind, count in counts.items())
