"""report: what a run found, as one HTML page that needs nothing else. May import: learning and the rooms before it.

Parameters that mean the same everywhere here: `report` is all that a page shows; `limits` say how much; `learned` is
the run, `kb` the base that its rules are applied to; `explainer` and `cards` answer for these; `figures` are those of
`nlil evaluate`, by split; `targets` are predicates; `progress` is told how far the work is; `labels` are words for
people in place of names.
"""

from .contents import Report, make_report
from .page import render, write_report

__all__ = ["Report", "make_report", "render", "write_report"]
