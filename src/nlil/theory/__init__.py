"""Theories: a few rules per target that together do the work of the whole pool.

Parameters that mean the same everywhere here: `pool` are all rules; `theory` selects rows of it; `kb` is the base of
training facts, and ids are its ids; `surveyed` is the input of an author for one target; `proposals` are the candidates
that the `num_rules` rules of a target propose for a sample of its facts; `ranker` has the rules, `sample` the facts
they are tried on, `walk` is scratch space; `labels` are readable names; `random` is the only source of randomness;
`path` is that of a file.
"""
