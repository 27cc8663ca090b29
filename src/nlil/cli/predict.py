"""nlil predict RUN "uncle(alice, ?)", nlil predict RUN --queries FILE --out FILE.tsv"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from ..errors import ConfigError, DataError, NlilError
from .session import AppliedRun, Bounds, Session, Written

if TYPE_CHECKING:
    from ..data.kb import KnowledgeBase
    from ..evaluation.prediction import Answer, Predictor


def predict(
    session: Session,
    run: AppliedRun,
    query: str | None = None,
    *,
    top: Annotated[int, Bounds(1)] = 10,
    queries: Path | None = None,
    out: Annotated[Path | None, Written()] = None,
) -> None:
    """Rank the answers to a query; known facts are marked.

    Args:
        session: The common options.
        run: The rules.
        query ([QUERY]): A query such as uncle(alice, ?) or uncle(?, bob).
        top: Answers per query.
        queries (FILE): Many queries, one per line.
        out (FILE.tsv): The file for the answers to --queries.
    """
    if (query is None) == (queries is None) or (queries is None) != (out is None):
        raise ConfigError('predict needs a query such as "uncle(alice, ?)", or --queries FILE with --out FILE.tsv')
    predictor = session.open_run(run).predictor
    if query is not None:
        answers = predictor.predict(query, top)
        session.show(
            {"query": query, "answers": [a.to_dict() for a in answers]}, view(labelled(query, predictor.kb), answers)
        )
    elif queries is not None and out is not None:
        answer_all(session, predictor, queries, out, top)


def answer_all(session: Session, predictor: Predictor, queries: Path, out: Path, top: int) -> None:
    """Write one line for each answer to the `queries` of a file.

    The fields are: query, rank, entity, score, 1 if the fact is known, and the probability if the run has a
    calibration. `predictor` finds at most `top` answers to each query.
    """
    from ..data.files import lines, replacing

    listed = [(number, text.strip()) for number, text in lines(queries)]
    if not listed:
        raise ConfigError(f"{queries}: no queries, expected one per line, such as uncle(alice, ?)")
    written = 0
    with replacing(out) as temporary, temporary.open("w", encoding="utf-8") as stream, session.progress() as progress:
        stream.write("query\trank\tentity\tscore\tknown\tprobability\n")
        for done, (number, text) in enumerate(listed, start=1):
            try:
                found = predictor.predict(text, top)
            except NlilError as error:
                raise NlilError(f"{queries}:{number}: {error}") from error
            for rank, item in enumerate(found, start=1):
                if re.search(r"[\t\r\n]", item.entity):
                    expected = f"{queries}:{number}: expected answers without tabs and line ends"
                    raise DataError(f"{expected}, got {item.entity!r}; ask for them with --json, one by one")
                probability = "" if item.probability is None else f"{item.probability:.9g}"
                stream.write(f"{text}\t{rank}\t{item.entity}\t{item.score:.9g}\t{int(item.known)}\t{probability}\n")
            written += len(found)
            progress("queries", done, len(listed))
    session.show(
        {"queries": len(listed), "answers": written, "out": str(out)},
        f"{written:,} answers to {len(listed):,} queries written to {out}",
    )


def labelled(query: str, kb: KnowledgeBase) -> str:
    """Return the `query` as typed, followed by its labels in `kb` if they differ."""
    from ..logic.labels import Labels
    from ..logic.query import parse_query

    parsed = parse_query(query)
    meaning = Labels.of(kb).query(parsed)
    return query if meaning == str(parsed) else f"{query}: {meaning}"


def view(query: str, answers: list[Answer]) -> Any:
    """Return the `answers` to `query` as a table."""
    from .render import table

    if not answers:
        return f"{query}: no rule gives an answer"
    # Columns without values are left out; the probability comes first.
    columns: tuple[str, ...] = ("score",)
    if any(a.probability is not None for a in answers):
        columns = ("probability", "from", "to", "score") if answers[0].probability_low else ("probability", "score")
    rows = []
    for rank, a in enumerate(answers, start=1):
        shown = a.entity if a.label == a.entity else f"{a.label} ({a.entity})"
        figures = {"probability": a.probability, "from": a.probability_low, "to": a.probability_high, "score": a.score}
        rows.append((rank, shown, *(figures[name] for name in columns), "yes" if a.known else ""))
    return table(("", "answer", *columns, "known"), rows, query, ("", *columns))
