"""Fit: configuration, the learner, run folders. May import every room before it.

Parameters that mean the same everywhere here: `kb` is the base of training facts, and ids are its ids; `rules` are a
RuleSet in these; `targets` are predicates to learn, by id or by name; `splits` are the facts of all splits, None where
there are only training facts; `config` has every setting; `progress` is told how far the work is; `stop` ends it early,
None: never; `path` is that of a run folder or of a file in it; `random` is the only source of chance.
"""
