"""nlil report RUN --out report.html"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ..errors import ConfigError, require
from .opening import Opened, open_run
from .session import Session

if TYPE_CHECKING:
    from ..learning.learner import Learned
    from ..learning.run import RunInfo

ENDINGS = (".html", ".htm")


def report(
    session: Session,
    run: Annotated[Path, typer.Argument(metavar="RUN", help="A run folder.")],
    out: Annotated[Path, typer.Option(metavar="FILE.html", help="Where the page goes.")] = Path("report.html"),
    data: Annotated[str | None, typer.Option(metavar="DATA", help="Apply the rules to this data.")] = None,
) -> None:
    """Write one page that needs nothing else: data, figures, rules, surprising predictions, disputed facts."""
    from ..explanation.outline import many
    from ..learning.run import load_info
    from ..report import make_report, write_report

    check_page_name(out)
    require("jinja2", "report", "the report")
    info = load_info(run)
    opened = open_run(session, run, data)
    is_same_data = info.checksum == opened.dataset.checksum
    with session.progress() as progress:
        made = make_report(
            as_learned(run, info, opened, is_same_data),
            opened.dataset,
            figures=kept_figures(run, is_same_data),
            versions=info.versions,
            threads=opened.config.threads,
            memory=opened.config.memory,
            progress=progress,
        )
    write_report(made, out)
    document = {
        "out": str(out),
        "bytes": out.stat().st_size,
        "num_rules": made.num_rules,
        "num_targets": made.num_targets,
        "num_targets_shown": len(made.targets),
        "num_rules_shown": sum(len(target.rules) for target in made.targets),
        "num_surprises": len(made.surprises) + len(made.class_surprises),
        "num_disputes": len(made.disputes),
        "num_pictures": len(made.pictures),
    }
    session.show(
        document,
        f"{document['num_rules_shown']:,} of {many(made.num_rules, 'rule')} for "
        f"{many(len(made.targets), 'predicate')} on one page, written to {out}",
    )


def check_page_name(out: Path) -> None:
    if out.suffix.lower() not in ENDINGS:
        raise ConfigError(f"{out}: expected a name ending in {' or '.join(ENDINGS)}, got {out.name!r}", "out")


def as_learned(run: Path, info: RunInfo, opened: Opened, is_same_data: bool) -> Learned:
    """What the folder says was learned, with the rules as they were opened: they may be millions and are read once."""
    from ..evaluation.fidelity import Fidelity
    from ..learning.folder import read_json, read_json_lines
    from ..learning.learner import Learned
    from ..learning.run import FIDELITY, HISTORY

    history = read_json_lines(run / HISTORY) if (run / HISTORY).is_file() else ()
    has_fidelity = is_same_data and (run / FIDELITY).is_file()
    return Learned(
        opened.rules,
        opened.config,
        info.targets,
        info.partial,
        dict(info.missing),
        info.seconds,
        history,
        fidelity=Fidelity.from_dict(read_json(run / FIDELITY)) if has_fidelity else None,
    )


def kept_figures(run: Path, is_same_data: bool) -> dict[str, Any]:
    """What `evaluate` measured, by split; figures of other data say nothing about this."""
    from ..learning.folder import read_json
    from ..learning.run import METRICS

    return read_json(run / METRICS) if is_same_data and (run / METRICS).is_file() else {}
