"""report: what a run found, as one HTML page that needs nothing else. May import: learning and the rooms before it."""

from .contents import Report, make_report
from .page import render, write_report

__all__ = ["Report", "make_report", "render", "write_report"]
