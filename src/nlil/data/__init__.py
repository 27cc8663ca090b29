"""Facts as columns: KnowledgeBase, Dataset, their options, readers and writers. Everything inside is an id.

kb, facts, vocabulary, arrays: the facts by column.  dataset, refining, numbers: a data set, changed by its options.
delimited, prolog, rdf, tables: readers.  builder: names to ids.  write: facts to files.  catalog: public data sets.
`nlil.datasets` finds the reader of a file, a folder or a name; `nlil.scene` reads scene graphs.
"""
