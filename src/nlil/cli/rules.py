"""nlil rules RUN"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError
from .session import Session

if TYPE_CHECKING:
    from ..rules import RuleSet

FORMATS = ("text", "prolog", "json")
SHOWN = 20


def rules(
    session: Session,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    target: Annotated[str | None, typer.Option(metavar="P", help="Only rules for this predicate.")] = None,
    top: Annotated[int | None, typer.Option(min=0, help=f"So many, best first; 0: all. Default: {SHOWN} as text, "
                                            "else all.")] = None,
    format: Annotated[str, typer.Option(metavar="NAME", help=f"{', '.join(FORMATS)}. text is for reading, prolog is "
                                        "exact.")] = "text",
) -> None:
    """List the rules of a run, best first, and what never holds together with their targets."""
    from ..learning.run import load_run

    chosen = "json" if session.as_json else format
    if chosen not in FORMATS:
        raise ConfigError(f"--format {chosen}: not available; choose one of {', '.join(FORMATS)}", "format")
    found = load_run(run).rules
    if target is not None:
        found = found.for_target(target)
    limit = (SHOWN if chosen == "text" else 0) if top is None else top
    count = min(limit, len(found)) if limit else len(found)
    match chosen:
        case "prolog":
            write_prolog(found, count)
        case "json":
            write_json(found, count)
        case _:
            show_text(session, found, count)


def show_text(session: Session, rules: RuleSet, count: int) -> None:
    from rich.text import Text

    from .render import DISTINCT, exclusion_lines, reader, rule_table

    shown = rules.top(count)
    targets = dict.fromkeys(scored.rule.target for scored in shown)
    views: list[Any] = [rule_table(shown, reader(rules)), *map(Text, exclusion_lines(rules, targets))]
    if count < len(rules):
        size = f"{count:,} of {len(rules):,} rules; --top 0 shows all."
    else:
        size = f"{len(rules):,} rules."
    session.show(None, *views, f"{size} {DISTINCT}: variables take different entities; --format prolog spells it out.")


def write_prolog(rules: RuleSet, count: int) -> None:
    """One rule or exclusion per line, exact: parse_program reads it back."""
    for row in rules.order()[:count]:
        sys.stdout.write(f"{rules.rule(int(row))}\n")
    for exclusion in rules.exclusions:
        sys.stdout.write(f"{exclusion}\n")


def write_json(rules: RuleSet, count: int) -> None:
    """One document, written rule by rule: there may be millions."""
    from .render import reader, rule_document

    read = reader(rules)
    sys.stdout.write(f'{{"num_rules": {len(rules)}, "rules": [')
    separator = "\n"
    for row in rules.order()[:count]:
        sys.stdout.write(separator + json.dumps(rule_document(rules[int(row)], read), ensure_ascii=False))
        separator = ",\n"
    exclusions = ",\n".join(json.dumps(e.to_dict(), ensure_ascii=False) for e in rules.exclusions)
    sys.stdout.write(f'\n], "exclusions": [\n{exclusions}\n]}}\n')
