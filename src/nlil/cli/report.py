"""nlil report RUN --out report.html"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

from ..errors import ConfigError, require
from .session import AppliedRun, Session, Written

ENDINGS = (".html", ".htm")


def report(
    session: Session,
    run: AppliedRun,
    *,
    out: Annotated[Path, Written()] = Path("report.html"),
) -> None:
    """Write one self-contained page: data, figures, rules, surprising predictions, disputed facts.

    Args:
        session: The common options.
        run: The rules.
        out (FILE.html): The page to write.
    """
    from ..logic.figures import plural
    from ..report import make_report, write_report

    check_page_name(out)
    require("jinja2", "report", "the report")
    opened = session.open_run(run)
    learned = opened.active
    with session.progress() as progress:
        made = make_report(
            learned if opened.is_same_data else replace(learned, fidelity=None),
            opened.dataset,
            figures=opened.metrics() if opened.is_same_data else {},  # those of other data say nothing about this
            versions=opened.info.versions,
            threads=opened.config.threads,
            memory=opened.config.memory,
            progress=progress,
        )
    write_report(made, out)
    document = {
        "out": str(out),
        "bytes": out.stat().st_size,
        "num_rules": len(made.learned.rules),
        "num_targets": len(made.learned.targets),
        "num_targets_shown": len(made.targets),
        "num_rules_shown": sum(target.num_shown for target in made.targets),
        "num_surprises": len(made.surprises) + len(made.class_surprises),
        "num_disputes": len(made.disputes),
        "num_pictures": len(made.pictures),
    }
    session.show(
        document,
        f"{document['num_rules_shown']:,} of {plural(len(made.learned.rules), 'rule')} for "
        f"{plural(len(made.targets), 'predicate')} on one page, written to {out}",
    )


def check_page_name(out: Path) -> None:
    """Raise ConfigError for a file name that no browser would open as a page."""
    if out.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{out}: expected a name ending in {' or '.join(ENDINGS)}, got {out.name!r}", "out")
