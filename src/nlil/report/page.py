"""A report as one HTML page, without network access or other files. Autoescape is on; only our own SVG bypasses it."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..data.files import replacing
from ..errors import require
from ..evaluation.metrics import COLUMNS
from ..explanation.brief import chance
from ..explanation.rule_card import Instance
from ..logic.english import rule_sentence
from ..logic.figures import cell_text, number
from ..logic.parse import parse_rule
from ..logic.predicate import Fact
from ..scene.canvas import FORBIDDEN
from ..theory.listing import adds_text, ties_sentence
from .contents import Report, main_figures
from .factor_graph import factor_graph, short

if TYPE_CHECKING:
    from jinja2 import Environment

FOLDER = Path(__file__).parent
HEAD_VARIABLES = ("X", "Y")
STYLES = ("page.css", "attentions.css")
NOT_FIGURES = ("per_predicate", "notes", "seconds", "peak_memory_mb")


def render(report: Report) -> str:
    """Return the whole page as text."""
    require("jinja2", "report", "the report")
    script = (FOLDER / "page.js").read_text(encoding="utf-8")
    overall, theory = _overall(report), report.learned.theory
    # Only this exact script may run; the browser refuses a name from the data that looks like a script.
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    page = environment().get_template("page.html")
    text = page.render(
        report=report,
        s=report.summary,
        style="".join((FOLDER / name).read_text(encoding="utf-8") for name in STYLES),
        script=script,
        script_digest=digest,
        overall=overall,
        columns=_columns(report),
        rows=_rows(report),
        top_predicates=top_predicates(report),
        num_theory_rules=0 if theory is None else len(theory.chosen(report.learned.rules)),
        ties=None if theory is None else ties_sentence(theory, report.learned.targets),
        figure_names=list(dict.fromkeys(key for figures in overall.values() for key in figures)),
    )
    return FORBIDDEN.sub("\ufffd", text)  # control characters are not allowed in a page, escaped or not


@cache
def environment() -> Environment:
    """Return the Jinja environment of this package; its templates are compiled once."""
    found = templates(FOLDER)
    found.filters |= {"figure": cell_text, "short": short}
    found.globals |= {"because": because, "label": label, "tuple_text": tuple_text}
    found.globals |= {"adds_text": adds_text, "factor_graph": factor_graph, "rule_sentence": rule_sentence}
    found.globals |= {"rule_text": rule_text}
    return found


def write_report(report: Report, path: str | Path) -> Path:
    """Write the page to `path`, atomically."""
    path = Path(path)
    text = render(report)
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
    return path


def templates(folder: Path) -> Environment:
    """Return a Jinja environment for the templates of `folder` and those that packages share.

    Undefined names are errors, and values are escaped.
    """
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    found = Environment(
        loader=FileSystemLoader([folder, FOLDER]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    found.filters |= {"number": number, "chance": chance, "count": lambda value: f"{value:,}"}
    return found


def entity_text(name: str, report: Report) -> str:
    """Return the label of the entity `name`; for an object of a scene also its class, since its name is a number."""
    label = report.labels.entities.get(name, name)
    return f"{label} ({report.classes[name]})" if name in report.classes else label


def tuple_text(fact: Fact, report: Report) -> str:
    """Return the arguments of `fact`; the predicate is shown above already."""
    return " → ".join(entity_text(name, report) for name in fact.arguments)


def label(name: str | None, report: Report) -> str:
    """Return the label of the predicate `name`; "" for None."""
    return "" if name is None else report.labels.predicates.get(name, name)


def rule_text(text: str, report: Report) -> str:
    """Return the rule that reads `text`, with labels in place of names and without its inequalities."""
    return report.labels.short_rule(parse_rule(text))


def because(instance: Instance, report: Report) -> str:
    """Return the bindings of the body variables in `instance`, and the answers of the data."""
    parts = []
    if instance.grounding is not None:
        found = [
            f"{name} = {entity_text(entity, report)}"
            for name, entity in instance.grounding.bindings
            if name not in HEAD_VARIABLES
        ]
        parts += [f"with {', '.join(found)}"] if found else []
    if instance.known:
        others = ", ".join(entity_text(name, report) for name in instance.known)
        more = instance.num_known - len(instance.known)
        parts.append(f"the data has {others}" + (f" and {more:,} more" if more else ""))
    return "; ".join(parts)


def top_predicates(report: Report) -> list[tuple[str, int]]:
    """Return the most frequent predicates by label; a name with two arities is shown with its arity."""
    names = [shown.rpartition("/")[0] for shown, _ in report.summary.top_predicates]
    return [
        (shown if names.count(name) > 1 else label(name, report), count)
        for name, (shown, count) in zip(names, report.summary.top_predicates)
    ]


def _overall(report: Report) -> dict[str, dict[str, Any]]:
    """Return the figures by split, without those of the machine."""
    return {
        split: {key: value for key, value in figures.items() if key not in NOT_FIGURES}
        for split, figures in sorted(report.figures.items())
    }


def _columns(report: Report) -> list[str]:
    rows = main_figures(report.figures).get("per_predicate", {}).values()
    return [key for key in COLUMNS if any(key in row for row in rows)]


def _rows(report: Report) -> list[tuple[str, dict[str, Any]]]:
    """Return a row per predicate, those with the most queries first."""
    rows = main_figures(report.figures).get("per_predicate", {})
    order = sorted(rows, key=lambda name: (-rows[name]["num_queries"], name))
    return [(label(name.rpartition("/")[0], report), rows[name]) for name in order]
