"""The counting search: rules found by counting, with exact statistics.   [docs/architecture.md]

Parameters that mean the same everywhere here: `kb` is the base of training facts, and ids are its ids; `graph` has the
facts that bodies may use; `task` has both, the targets and the options; `options` are the settings of the search;
`targets` are predicate ids; `steps` are rows of step codes, one for each chain; `length` is a number of steps;
`progress` receives reports of progress; `min_support` is the least support of a rule.
"""
