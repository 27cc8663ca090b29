"""Learning: the learner, its decisions on validation facts, and run folders.

Parameters that mean the same everywhere here: `kb` is the base of training facts, and ids are its ids; `rules` are a
RuleSet in these ids; `targets` are predicates to learn, by id or by name; `splits` are the facts of all splits (None:
only training facts); `config` has every setting; `progress` receives reports of progress; `stop` ends the work early
(None: never); `path` is that of a run folder or of a file in it; `random` is the only source of randomness.
"""
