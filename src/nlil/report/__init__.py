"""report: the results of a run as one self-contained HTML page. May import: learning and the packages before it.

Parameters with the same meaning everywhere here: `report` is the content of a page; `limits` say how much it shows;
`learned` is the run, `kb` the base that its rules are applied to; `explainer` and `cards` work on these; `figures` are
those of `nlil evaluate`, by split; `targets` are predicates; `progress` is called with the progress; `labels` are
readable labels in place of names.
"""

from .contents import Report, make_report
from .page import render, write_report

__all__ = ["Report", "make_report", "render", "write_report"]
