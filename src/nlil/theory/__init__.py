"""Theories: a few rules for each predicate that together say what the many say.

Parameters that mean the same everywhere here: `pool` are all rules, the theories are made of some; `theory` has its
rows in that; `kb` is the base of training facts, and ids are its ids; `surveyed` is what an author knows of one target;
`proposals` are what the rules of a target, `num_rules` of them, propose for a sample of its facts; `ranker` has the
rules, `sample` the facts that they are tried on, `walk` is scratch; `labels` are words for people in place of names;
`random` is the only source of chance; `path` is that of a file.
"""
