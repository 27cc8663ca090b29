"""Data sets by name or path: built-in sets, catalogue names, folders, files; and their summary.

`size` is the number after the colon of a built-in set; `seed` is the only source of randomness; `source` is what a user
names: a built-in set, a set of the catalogue, a file or a folder.
"""

from .builtin import builtin_names
from .load import load, load_dataset
from .summary import Summary, summarise

__all__ = ["Summary", "builtin_names", "load", "load_dataset", "summarise"]
