"""nlil program DATA

`task` has the target, the examples and the background; `target` is the name of its predicate; `found` is the program,
`report` its figures.
"""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from .session import Bounds, Session, Source

if TYPE_CHECKING:
    from ..program.bias import Bias
    from ..program.task import Program, Task


def program(
    session: Session,
    data: Source,
    *,
    target: str | None = None,
    max_vars: Annotated[int | None, Bounds(1)] = None,
    max_body: Annotated[int | None, Bounds(1)] = None,
    max_clauses: Annotated[int | None, Bounds(1)] = None,
    invent: bool = False,
    out: Path | None = None,
    force: bool = False,
    time_limit: str | None = None,
) -> None:
    """Find a small logic program for positive and negative examples.

    DATA is a folder with bk.pl, exs.pl and optionally bias.pl, or any other data: the facts of the target are the
    positive examples, given negatives the negative ones. Without negatives, all other tuples count as negative. With
    noise, the result is the program with the least description length.

    Args:
        session: The common options.
        data: Background and examples.
        target (P): The predicate to learn.
        max_vars (N): Maximum number of variables in a clause. Default: that of bias.pl, or 6.
        max_body (N): Maximum number of literals in a body. Default: that of bias.pl, or 6.
        max_clauses (N): Maximum number of clauses. Default: that of bias.pl, or 12.
        invent: Try invented predicates even if a program without them was found.
        out (RUN): Write the program to this run folder, for the commands that read one.
        force: Replace RUN.
        time_limit (TIME): Stop the search after e.g. 60s.
    """
    from ..config import parse_seconds
    from ..program.induce import induce
    from ..program.report import document
    from ..progress import Stop

    if out is not None:
        from ..learning.run import check_writable

        check_writable(out, force)
    began = time.monotonic()
    stop = Stop(parse_seconds(time_limit) if time_limit is not None else 0.0)
    given = {"max_vars": max_vars, "max_body": max_body, "max_clauses": max_clauses, "invention": invent or None}
    task = read_task(session, data, target, {key: value for key, value in given.items() if value is not None})
    session.notes(f"{task.name}: {note}" for note in task.notes)
    found = induce(task, stop)
    report = document(task, found, time.monotonic() - began)
    if out is not None:
        save(session, data, task, report, out)
    session.show(report, *views(task, found, report))


def read_task(session: Session, data: str, target: str | None, bounds: dict[str, Any]) -> Task:
    """Read background and examples; `bounds` override those of a bias file."""
    from ..program.bias import Bias
    from ..program.reading import dataset_task, is_ilp_folder, read_folder

    path = Path(data).expanduser()
    if is_ilp_folder(path):
        task = read_folder(path, target)
        return replace(task, bias=bounded(task.bias, bounds))
    return dataset_task(session.read_data(data, session.seed or 0), target, bounded(Bias(), bounds))


def bounded(bias: Bias, bounds: dict[str, Any]) -> Bias:
    """Return the `bias` with other `bounds`."""
    return replace(bias, **bounds)


def save(session: Session, data: str, task: Task, report: dict[str, Any], out: Path) -> None:
    """Write the program to the run folder `out`; `data` is where it was learned from."""
    from ..datasets.load import lasting_source
    from ..learning.logic_programs import learned_program
    from ..learning.run import save_run

    dataset = session.read_data(data, session.seed or 0)
    target = dataset.kb.predicate(str(task.target))
    learned = learned_program(report["clauses"], dataset, target, report["seconds"])
    save_run(learned, out, lasting_source(data), dataset.checksum, force=True)
    session.note(f"written to {out}; next: nlil theory {out}, nlil explain {out}")


def views(task: Task, found: Program, report: dict[str, Any]) -> list[Any]:
    """Return the program for people: its text, a table of its clauses, test figures, and what it does not cover."""
    from rich.text import Text

    from ..logic.figures import number
    from ..program.report import shortfall
    from .render import table

    texts = report["clauses"]
    lines: list[Any] = [Text("\n".join(texts) if texts else "no clauses")]
    if texts:
        rows = [(text, adds, clause.size) for text, adds, clause in zip(texts, found.adds, found.clauses)]
        lines.append(table(("clause", "adds", "size"), rows, None, ("adds", "size")))
    right = len(task.positives) - len(found.missed), len(task.negatives) - len(found.wrong)
    least = ", the smallest within the bounds" if found.is_least else ""
    lines.append(
        Text(
            f"{right[0]:,} of {len(task.positives):,} positive and {len(found.wrong):,} of {len(task.negatives):,} "
            f"negative examples are derived; size {found.size}{least}; {report['seconds']:.1f} s"
        )
    )
    tested = [f"{name} {number(report[f'test_{name}'])}" for name in ("accuracy", "precision", "recall")
              if report[f"test_{name}"] is not None]  # fmt: skip
    lines += [Text(f"test examples: {', '.join(tested)}")] if tested else []
    return [*lines, *map(Text, shortfall(task, found))]
