"""nlil rules RUN"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, ExportError, UnknownName
from ..exports import EXECUTABLE, LANGUAGES
from .session import AppliedRun, Bounds, Session, Written, json_text, write_text

if TYPE_CHECKING:
    from ..kernel.ruleset import RuleSet
    from ..learning.feedback import Feedback
    from ..learning.opening import OpenedRun
    from ..learning.run import Learned
    from ..logic.rule import ScoredRule

FORMATS = ("text", *LANGUAGES, "json")
DEFAULT_TOP = 20
DEFAULT_FORMULAS = 10
THEORY_HINT = "Rules of theories come first: nlil theory RUN shows what each adds, and how many rules it represents."


def rules(
    session: Session,
    run: AppliedRun,
    *,
    target: str | None = None,
    top: Annotated[int | None, Bounds(0)] = None,
    format: Annotated[
        str,
        typer.Option("--format", metavar="NAME", help=f"{', '.join(FORMATS)}. text is for reading, prolog is exact."),
    ] = "text",
    facts: Annotated[Path | None, Written()] = None,
    examples: Annotated[int, Bounds(0)] = 0,
    formulas: Annotated[int | None, Bounds(1)] = None,
    leave_out: bool = False,
    min_support: Annotated[int, Bounds(0)] = 0,
    min_confidence: Annotated[float, Bounds(0, 1)] = 0.0,
    contains: str | None = None,
    length: str | None = None,
    kind: str | None = None,
) -> None:
    """List the rules of a run, best first, and what never holds together with their targets.

    If the run has theories, their rules come first, in the order of what each adds; then all others by weight.

    Args:
        session: The common options.
        run: The rules.
        target (P): Only rules for this predicate.
        top: The number of rules, best first; 0: all. Default: 20 as text, otherwise all.
        format: One of FORMATS.
        facts (FILE): Also write the facts that the program runs on, in the language of --format.
        examples (N): Show this many examples, counterexamples and predictions that are not in the data below each rule.
        formulas (K): Show one formula for each class: the disjunction of up to K bodies with the best F1.
        leave_out: Leave out rules that the language cannot express.
        min_support (N): Only rules that explain at least this many facts.
        min_confidence (SHARE): Only rules with at least this confidence, 0 to 1.
        contains (NAME): Only rules with this predicate in the body, or with this entity.
        length (N-M): Only rules with this many body atoms, such as 2 or 1-2.
        kind (NAME): Only rules with this construct: chain, constant, type, prior, conjunction, disjunction, negation,
            unanchored.
    """
    from ..data.prefixes import full_name
    from ..learning.feedback import load_feedback, rejected_note, without_rejected
    from ..learning.run import load_run

    chosen = chosen_format(session, format)
    criteria: dict[str, Any] = {
        "min_support": min_support,
        "min_confidence": min_confidence,
        "contains": contains or "",
        "length": None if length is None else length_range(length),
        "kind": kind or "",
    }
    opened = cache(lambda: session.open_run(run))  # the rules can be listed without the data
    if examples:
        if chosen not in ("text", "json"):
            raise ConfigError(f"--examples: {format} has no examples; leave out --format, or use --json", "examples")
        return show_cards(session, opened(), target, criteria, DEFAULT_TOP if top is None else top, examples)
    if formulas is not None:
        if chosen not in ("text", "json"):
            raise ConfigError(f"--formulas: not available as {format}; leave out --format, or take --json", "formulas")
        return show_formulas(session, opened(), target, DEFAULT_FORMULAS if top is None else top, formulas)
    if facts is not None:
        write_facts(session, chosen, facts, opened)
    learned, feedback = load_run(run.folder), load_feedback(run.folder)
    learned = learned.with_theory(run.size) if run.theory else learned
    try:
        found = chosen_rules(learned, target, criteria)
    except UnknownName:
        kb = opened().dataset.kb  # only the data has prefixes
        full = full_name(contains or "", kb.prefixes)
        if full not in kb.entities:
            raise
        found = chosen_rules(learned, target, {**criteria, "contains": full})
    limit = (DEFAULT_TOP if chosen == "text" else 0) if top is None else top
    count = min(limit, len(found)) if limit else len(found)
    match chosen:
        case "prolog":
            write_prolog(found, count, feedback)
        case "json":
            write_json(found, count, feedback)
        case "text":
            show_text(session, found, count, feedback)
            if learned.theory is not None and not run.theory:
                session.show(None, THEORY_HINT)
        case _:
            # These formats cannot mark rejected rules, so they are left out.
            kept = without_rejected(found, feedback)
            session.notes(rejected_note(len(found), len(kept)))
            write_program(session, kept, count, chosen, leave_out, opened)


def chosen_format(session: Session, format: str) -> str:
    """Return the format to write: json with --json, else `format`, that of --format."""
    chosen = "json" if session.as_json else format
    if chosen not in FORMATS:
        raise ConfigError(f"--format {chosen}: not available; choose one of {', '.join(FORMATS)}", "format")
    return chosen


def length_range(text: str) -> tuple[int, int]:
    """Return the fewest and the most body atoms that `text` allows, such as 2 or 1-2."""
    low, dash, high = text.partition("-")
    if not all(end.isdecimal() and len(end) < 10 for end in ((low, high) if dash else (low,))):
        raise ConfigError(f"--length: expected a number such as 2, or a range such as 1-2, got {text!r}", "length")
    return int(low), int(high) if dash else int(low)


def chosen_rules(learned: Learned, target: str | None, criteria: dict[str, Any]) -> RuleSet:
    """Return the rules of a `target` (None: of all) that fit the `criteria` (`matching_rows`), in reading order."""
    from ..kernel.constructs import matching_rows

    chosen = learned if target is None else learned.for_target(target)
    if any(criteria.values()):
        rows = matching_rows(chosen.rules, **criteria)
        chosen = chosen.over(chosen.rules.take(rows), rows)
    return chosen.best_first()


def show_cards(
    session: Session, opened: OpenedRun, target: str | None, criteria: dict[str, Any], count: int, examples: int
) -> None:
    """Show the cards of the `count` best rules of a `target` (None: of all) that fit the `criteria`.

    Each card has this many `examples`, counterexamples and predictions that are not in the data.
    """
    from ..explanation.rule_card import RuleCards

    rules = chosen_rules(opened.active, target, criteria)
    splits = opened.dataset.splits
    cards = RuleCards(rules, opened.dataset.kb, splits.all(), splits.negatives.get("train"), opened.config.memory)
    shown = [cards.card(int(row), examples=examples) for row in rules.order()[: count or len(rules)]]
    size = f"{len(shown):,} of {len(rules):,} rules."
    note = "Facts are the training facts; a prediction that is not among them need not be false."
    session.show({"num_rules": len(rules), "cards": [card.to_dict() for card in shown]}, *shown, f"{size} {note}")


def show_formulas(session: Session, opened: OpenedRun, target: str | None, count: int, most: int) -> None:
    """Show one formula of up to `most` bodies for a `target`, or for the `count` most frequent classes (0: all)."""
    from ..logic.labels import Labels
    from ..scene.class_formulas import class_formulas
    from .render import table

    learned = opened.active if target is None else opened.active.for_target(target)
    kb, rules, config = opened.dataset.kb, learned.rules, opened.config
    counts = kb.predicate_counts
    targets = sorted((t for t in rules.targets if t.arity == 1), key=lambda t: -int(counts[kb.predicate_id(t)]))
    if not targets:
        raise ConfigError(
            "--formulas: expected rules of classes, p(X), got none; nlil theory shows a few rules of other targets",
            "formulas",
        )
    shown = targets[:count] if count else targets
    with session.progress() as progress:
        found = class_formulas(rules, kb, shown, most, config.threads, config.memory, progress)
    labels = Labels.of(rules)
    figures = ("precision", "recall", "f1")
    rows = [(labels.short_rule(one.rule), *(getattr(one, name) for name in figures)) for one in found]
    document = [
        {
            "rule": str(one.rule),
            "label": labels.rule(one.rule),
            "target": one.rule.target.name,
            "num_bodies": one.num_bodies,
            "length": one.rule.length,
            **{name: getattr(one, name) for name in (*figures, "support", "body_size", "head_size")},
            "adds": list(one.adds),
        }
        for one in found
    ]
    text = (
        f"{len(found):,} of {len(targets):,} classes, the most frequent first. The class is that of every object for "
        "which one of the bodies holds; variables stand for different entities. Counted on the training facts."
    )
    view = table(("formula", *figures), rows, right=figures)
    session.show({"num_classes": len(targets), "formulas": document}, view, text)


def show_text(session: Session, rules: RuleSet, count: int, feedback: Feedback) -> None:
    """Show the best rules as a table, and the exclusions of their targets."""
    from rich.text import Text

    from ..logic.labels import Labels
    from .render import DISTINCT, exclusion_lines, rule_table

    shown = rules.top(count)
    targets = dict.fromkeys(scored.rule.target for scored in shown)
    views: list[Any] = [rule_table(shown, Labels.of(rules), verdicts=feedback)]
    views += map(Text, exclusion_lines(rules, targets))
    if count < len(rules):
        size = f"{count:,} of {len(rules):,} rules; --top 0 shows all."
    else:
        size = f"{len(rules):,} rules."
    session.show(
        None, *views, f"{size} {DISTINCT}: variables stand for different entities; --format prolog writes this in full."
    )


def write_prolog(rules: RuleSet, count: int, feedback: Feedback) -> None:
    """Write one rule or exclusion per line, exactly: parse_program reads it back.

    The verdict on a rule is a comment.
    """
    for row in rules.order()[:count]:
        text = str(rules.rule(int(row)))
        said = f"  % {feedback[text].verdict}" if text in feedback else ""
        write_text(f"{text}{said}\n")
    for exclusion in rules.exclusions:
        write_text(f"{exclusion}\n")


def write_json(rules: RuleSet, count: int, feedback: Feedback) -> None:
    """Write one document, rule by rule, since there may be millions. Judged rules have a `verdict`."""
    from ..exports.tree import rule_tree
    from ..logic.labels import Labels

    labels = Labels.of(rules)
    sys.stdout.write(f'{{"num_rules": {len(rules)}, "rules": [')
    separator = "\n"
    for row in rules.order()[:count]:
        scored = rules[int(row)]
        rule, text = scored.rule, str(scored.rule)
        document: dict[str, Any] = {
            "rule": text,
            "label": labels.rule(rule),
            "target": rule.target.name,
            "arity": rule.target.arity,
            "length": rule.length,
            "distinct": rule.distinct,
            "weight": scored.weight,
            **scored.stats.to_dict(),
            "tree": rule_tree(rule),
        }
        if text in feedback:
            document["verdict"] = asdict(feedback[text])
        sys.stdout.write(separator + json_text(document))
        separator = ",\n"
    exclusions = ",\n".join(json_text(e.to_dict()) for e in rules.exclusions)
    sys.stdout.write(f'\n], "exclusions": [\n{exclusions}\n]}}\n')


# other languages -----------------------------------------------------------------------------------


def write_program(
    session: Session, rules: RuleSet, count: int, language: str, leave_out: bool, opened: Callable[[], OpenedRun]
) -> None:
    """Write all rules in a `language`, or nothing: an inexpressible rule is an error unless `leave_out`."""
    from ..exports import programs
    from ..logic.labels import Labels

    scored = rules.top(count)
    refused: list[ExportError] = []
    denials = [(e.target, e.step) for e in rules.exclusions] if programs.language(language).answers_only else []
    refuse = refused.append if leave_out else None
    graphs = has_graphs(language, scored, opened)
    pieces = list(programs.program(scored, language, graphs, denials, Labels.of(rules), refuse))
    if refused:
        session.warn(f"{len(refused):,} of {len(scored):,} rules are left out; the first: {refused[0]}")
    if rules.exclusions and not denials:
        session.warn(
            f"{len(rules.exclusions):,} exclusions are left out: as {language} the rules stand alone "
            "and may derive what an exclusion rules out; sparql, sql, cypher, prolog and json have them"
        )
    for piece in pieces:
        write_text(piece)


def has_graphs(language: str, rules: list[ScoredRule], opened: Callable[[], OpenedRun]) -> bool:
    """Return whether the facts consist of many graphs.

    The data is opened only if that changes the meaning of a rule in an executable `language`.
    """
    from ..exports.language import depends_on_graph

    if language not in EXECUTABLE or not any(depends_on_graph(item.rule) for item in rules):
        return False
    return opened().dataset.kb.graph_of is not None


def write_facts(session: Session, language: str, out: Path, opened: Callable[[], OpenedRun]) -> None:
    """Write the facts in an executable `language` to a file."""
    from ..data.files import replacing
    from ..exports import facts as fact_pieces

    if language not in EXECUTABLE:
        raise ConfigError(
            f"--facts: {language} programs do not run on facts; choose --format {', '.join(EXECUTABLE)}", "facts"
        )
    base = opened().base
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8", newline="\n") as stream:
        stream.writelines(fact_pieces(base, language))
    session.note(f"facts: {out}")
