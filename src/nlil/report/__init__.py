"""report: what a run found, as one HTML page that needs nothing else. May import: learning and the rooms before it."""

from .collect import make_report
from .page import render, write_report
from .values import Report

__all__ = ["Report", "make_report", "render", "write_report"]
