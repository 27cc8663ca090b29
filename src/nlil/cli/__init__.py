"""The command line: one command, one file.   [docs/architecture.md]

Parameters that mean the same everywhere here: `session` has the common options, and says where output goes; `opened` is
a run with its data, or a function that opens it; `learned` is what was learned from `dataset`; `rules` are those to
show, at most `count` of them; `labels` are words for people in place of names; `out` is the file or folder to write,
`data` what the user named as data, `settings` the words of `--set`; `split` is train, valid or test; `feedback` has
what people said of rules.
"""
