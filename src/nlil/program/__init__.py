"""Logic programs: the smallest one that covers the positive examples and no negative one.

Predicates may have any number of arguments, so this package has tables of its own (base.py) and joins over them
(joins.py). A candidate clause is found by adding literals (candidates.py), recursive ones are followed from goal to
sub-goal (recursion.py), a cheapest cover picks the clauses (cover.py), and what they derive together, to the fixpoint
(fixpoint.py), is what is reported.

Parameters that mean the same everywhere here: `base` has the facts of the background; `task` is what to learn, and from
what; `bias` says which clauses are allowed; `clauses` form a program, `clause` is one of them; `literal` is an atom of
a body, `symbol` a predicate by name and number of arguments; `names` are the texts of the entities by id; `goals` and
`queries` are tuples of the target, one a row; `rows` are tuples of entities; `path` is that of a file;
`term` is a Prolog term, `sources` are clauses as they were read; `node` is a candidate body; `num_entities` bounds the
ids of entities; `name` is for display; `positive` says which examples are.
"""
