"""Facts as columns: KnowledgeBase, Dataset, their options, readers and writers. Numbers inside, names at the border.

kb, facts, vocabulary, arrays: the facts by column.  dataset, refining, numbers: a data set, as its options want it.
delimited, prolog, rdf, tables: readers.  builder: names to ids.  write: facts to files.  catalog: real sets by name.
`nlil.datasets` finds the reader of a file, a folder or a name; `nlil.scene` reads scene graphs.
"""
