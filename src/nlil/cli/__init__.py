"""The command line: one command, one file.   [docs/architecture.md]

Parameters with the same meaning everywhere here: `session` holds the common options and writes output; `opened` is a
run with its data, or a function that opens it; `learned` is what was learned from `dataset`; `rules` are those to show,
at most `count` of them; `labels` are readable labels in place of names; `out` is the file or folder to write, `data`
the data that the user named, `settings` the values of `--set`; `split` is train, valid or test; `feedback` holds the
verdicts on rules.
"""
