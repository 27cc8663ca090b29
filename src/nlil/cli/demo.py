"""nlil demo: the whole pipeline, from facts to an explanation and a report, on a built-in genealogy."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .session import Session, Written

if TYPE_CHECKING:
    from ..data.dataset import Dataset
    from ..evaluation.metrics import Metrics
    from ..learning.run import Learned

SHOWN_TARGETS = ("aunt", "grandmother", "husband", "sister")
TARGET = "aunt"


def demo(session: Session, data: str = "kin", *, out: Annotated[Path | None, Written()] = None) -> None:
    """Learn, evaluate, explain and report on a built-in data set.

    Args:
        session: The common options.
        data ([DATA]): The data to learn from.
        out (FILE.html): The report to write. Default: in a new temporary folder.
    """
    from ..config import LearnerConfig
    from ..datasets import summarise
    from ..explanation.why import explain
    from ..learning.learner import Learner
    from ..learning.opening import Applied
    from .ahead import compile_ahead
    from .evaluate import views
    from .report import check_page_name
    from .theory import COLUMNS_MEAN

    if out is not None:
        check_page_name(out)
    compile_ahead()
    config = session.configure(LearnerConfig())
    dataset = session.read_data(data, config.seed)
    with session.progress() as progress:
        learned = Learner(config).fit(dataset.kb, list(dataset.targets), dataset.splits, progress=progress)
        metrics = Applied(learned.rules, dataset, config).evaluate("test", progress)
    fact = example(learned, dataset)
    explanation = explain(learned.rules, dataset.kb, fact)
    summary = summarise(dataset)
    theory_size = 0 if learned.theory is None else len(learned.theory.chosen(learned.rules))
    page = demo_report(session, learned, dataset, metrics, out)
    document = {
        "data": dataset.name,
        "facts": summary.num_facts,
        "num_rules": len(learned.rules),
        "theory": theory_size,
        "metrics": metrics.to_dict(),
        "explanation": explanation.to_dict(),
        "seconds": learned.seconds,
        "report": None if page is None else str(page),
    }
    session.show(
        document,
        heading(
            f"1. Facts: {summary.num_facts:,} about {summary.num_entities:,} people, "
            f"{summary.num_predicates:,} predicates"
        ),
        *fact_lines(dataset),
        heading(
            f"2. Rules: {len(learned.rules):,} found in {learned.seconds:.1f} s; {theory_size} of them do nearly the "
            "same work. The first rules of a few predicates:"
        ),
        first_rules_table(learned),
        f"{COLUMNS_MEAN}.",
        heading("3. Quality: held-out facts, predicted from the others"),
        views(metrics, dataset, "test")[0],
        heading(f"4. Why: {fact}, a held-out fact"),
        explanation,
        heading("5. Everything on one page"),
        f"  {page}" if page is not None else "  needs one more package: pip install 'nlil[report]'",
        "\nNext: nlil learn kin --out runs/kin, then nlil theory runs/kin. Your own facts: nlil learn FILE --out RUN",
    )


def demo_report(
    session: Session, learned: Learned, dataset: Dataset, metrics: Metrics, out: Path | None
) -> Path | None:
    """Write the report with these `metrics`; return None if jinja2 is not installed."""
    import tempfile

    from ..errors import MissingExtra, require
    from ..learning.folder import versions
    from ..report import make_report, write_report

    try:
        require("jinja2", "report", "the report")
    except MissingExtra:
        return None
    with session.progress() as progress:
        report = make_report(
            learned,
            dataset,
            figures={"test": metrics.to_dict()},
            versions=versions(),
            progress=progress,
        )
    return write_report(report, out or Path(tempfile.mkdtemp(prefix="nlil-demo-")) / "report.html")


def heading(text: str) -> Any:
    """Return `text` as a heading of the demo."""
    from rich.text import Text

    return Text(f"\n{text}", style="bold")


def fact_lines(dataset: Dataset, count: int = 4) -> list[str]:
    """Return `count` training facts of the target."""
    from ..logic.text import fact_text

    kb = dataset.kb
    facts = kb.facts.of(kb.predicate_id(chosen_target(dataset)))[:count]
    return [
        f"  {fact_text(kb.fact(int(p), int(s), int(o)))}"
        for p, s, o in zip(facts.predicate, facts.subject, facts.object)
    ]


def chosen_target(dataset: Dataset) -> Any:
    """Return the predicate that the demo explains."""
    named = [p for p in dataset.targets if p.name == TARGET]
    return named[0] if named else dataset.targets[0]


def first_rules_table(learned: Learned) -> Any:
    """Return the first two rules of the theories of a few targets, as a table."""
    from ..logic.labels import Labels
    from .theory import first_rules, theory_table

    rules = learned.rules
    wanted = [p for p in rules.targets if p.name in SHOWN_TARGETS] or list(rules.targets[:4])
    return theory_table(first_rules(learned, wanted, 2), Labels.of(rules))


def example(learned: Learned, dataset: Dataset) -> str:
    """Return a held-out fact of the target that the rules predict; else a training fact."""
    from ..evaluation.prediction import predict
    from ..logic.text import fact_text

    kb, target = dataset.kb, chosen_target(dataset)
    for facts in (dataset.splits.test, kb.facts):
        own = facts.of(kb.predicate_id(target))
        for p, s, o in list(zip(own.predicate, own.subject, own.object))[:20]:
            fact = kb.fact(int(p), int(s), int(o))
            if target.arity == 1:
                return fact_text(fact)
            query = fact_text(fact).rpartition(",")[0] + ", ?)"
            if any(a.entity == fact.arguments[1] for a in predict(learned.rules, kb, query, top=3)):
                return fact_text(fact)
    return fact_text(kb.fact(int(kb.facts.predicate[0]), int(kb.facts.subject[0]), int(kb.facts.object[0])))
