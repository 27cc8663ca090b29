"""The first page: the run, what stands out in it, and its predicates.

It is made from the data of the run and the parameters of its address, as all pages are (`pages.py`); the `number`
in its path is always 0.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..evaluation.completion import NewFact
from ..explanation.disputes import Dispute
from ..report.contents import theory_chart
from .page_data import PageData
from .pages import (
    Document,
    Maker,
    Page,
    Parameters,
    fact_document,
    first_of,
    linked_rule,
    predicate_document,
    theory_summary,
)

TARGETS_PER_PAGE = 30


def home_page(data: PageData, parameters: Parameters, number: int) -> Page:
    """Show the run and its predicates, those with most rules first."""
    targets = data.targets
    part = parameters.part(len(targets), TARGETS_PER_PAGE, "predicates")
    shown = targets[first_of(part) : first_of(part) + TARGETS_PER_PAGE].tolist()
    counts, example = data.kb.predicate_counts, data.example_query
    verdicts = [verdict.verdict for verdict in data.feedback.values()]
    theories = data.theories_of(shown)
    document = {
        **highlights_part(data),
        "run": data.run.path.name,
        "data": data.run.dataset.name,
        "num_rules": len(data.rules),
        "num_facts": len(data.run.dataset.kb.facts),
        "num_entities": data.kb.num_entities,
        "num_predicates": data.kb.num_predicates,
        "num_graphs": data.kb.num_graphs if data.kb.graph_of is not None else None,
        "num_accepted": verdicts.count("accepted"),
        "num_rejected": verdicts.count("rejected"),
        "is_warm": data.is_warm,
        "source": data.run.info.source,
        "partial": data.run.learned.partial,
        "seconds": data.run.learned.seconds,
        "figures": data.run.main_figures(),
        **part,
        "targets": [
            {
                **predicate_document(data, id),
                "num_facts": int(counts[id]),
                "theory": theory_summary(theories.get(id), data.labels),
            }
            for id in shown
        ],
        "num_theory_rules": 0 if data.theory is None else len(data.theory.chosen(data.rules)),
        "curve": [] if data.theory is None else [{"size": c.size, "mrr": c.mrr} for c in data.theory.curve()],
        "pool_mrr": None if data.theory is None else data.theory.pool_score,
        "example": None if example is None else str(example),
        "example_label": None if example is None else data.labels.query(example),
    }
    drawn = None if data.theory is None else theory_chart(data.theory, len(data.rules))
    title = f"{document['run']}: rules of {document['data']}"
    return Page("home.html", title, document, {} if drawn is None else {"sizes": drawn})


def highlights_part(data: PageData) -> Document:
    """Return the most probable new facts and the most disputed ones; None where they are not found yet, or never."""
    found = data.highlights.found
    return {
        "is_searching": data.highlights.is_busy,
        "new_facts": None if found is None else [new_fact_document(data, new) for new in found.new],
        "disputed": None if found is None else [dispute_document(data, one) for one in found.disputed],
    }


def new_fact_document(data: PageData, new: NewFact) -> Document:
    """Return a `new` fact with its links, and the rule that counts most for it."""
    row = None if new.rule is None else int(data.rules.rows_of(new.rule.rule)[0])
    return {
        **fact_document(data, new.fact),
        "score": new.score,
        "probability": new.probability,
        "rule": None if row is None else linked_rule(data, row),
    }


def dispute_document(data: PageData, dispute: Dispute) -> Document:
    """Return the fact of a `dispute` with its links, and what the rules prefer."""
    preferred = None if dispute.competitor is None else fact_document(data, dispute.competitor)
    return {**fact_document(data, dispute.fact), "wrong": dispute.wrong, "preferred": preferred}


HOME_PAGES: Mapping[str, Maker] = {"/": home_page}
"""By address."""
