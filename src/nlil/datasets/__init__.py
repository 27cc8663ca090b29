"""Data sets by name or path: built-in sets, catalogue names, folders, files; and what is in them, in numbers."""

from .builtin import builtin_names
from .load import load, load_dataset
from .summary import Summary, summarise

__all__ = ["Summary", "builtin_names", "load", "load_dataset", "summarise"]
