"""Facts in: readers, built-in sets, the catalogue; KnowledgeBase and Dataset. Numbers inside, names at the border.

load, folder: the way in.  delimited, tables, rdf, prolog: readers.  columns, builder: names to ids.
scene, scene_files, visual_genome, vrd, hico: scene graphs.  options, merging, refining: as the user wants the facts.
even, kin, street: built-in sets.  catalog, download: real sets.  convert, write, summary: other ways in and out.
"""

from .builtin import builtin_names
from .catalog import CatalogEntry, find, list_catalog
from .dataset import Dataset
from .download import download
from .facts import NO_OBJECT, Facts, Splits
from .kb import KnowledgeBase
from .load import load, load_dataset
from .numbers import with_numbers
from .options import DataOptions
from .summary import Summary, summarise
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
    "Summary",
    "Vocabulary",
    "builtin_names",
    "download",
    "find",
    "list_catalog",
    "load",
    "load_dataset",
    "summarise",
    "with_numbers",
    "write_facts",
]
