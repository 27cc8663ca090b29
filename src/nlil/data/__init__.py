"""Facts as columns: KnowledgeBase, Dataset, their options, readers and writers. Numbers inside, names at the border.

delimited, tables, rdf, prolog: readers.  columns, builder: names to ids.  options, merging, refining: as the user wants
the facts.  even, kin, planted: built-in sets.  catalog, download: real sets.  convert, write: other ways in and out.
`nlil.datasets` finds the reader of a file, a folder or a name; `nlil.scene` reads scene graphs.
"""

from .catalog import CatalogEntry, find, list_catalog
from .dataset import DataOptions, Dataset
from .download import download
from .facts import NO_OBJECT, Facts, Splits
from .kb import KnowledgeBase
from .numbers import with_numbers
from .vocabulary import Vocabulary
from .write import write_facts

__all__ = [
    "NO_OBJECT",
    "CatalogEntry",
    "DataOptions",
    "Dataset",
    "Facts",
    "KnowledgeBase",
    "Splits",
    "Vocabulary",
    "download",
    "find",
    "list_catalog",
    "with_numbers",
    "write_facts",
]
