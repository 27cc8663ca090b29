"""Logic programs: the smallest program that covers the positive examples and no negative one.

Predicates may have any number of arguments, so this package has its own tables (base.py) and joins (joins.py).
Candidate clauses are found by adding literals (refinement.py), recursive clauses are followed from goal to sub-goal
(recursion.py), a cheapest cover chooses clauses (cover.py), and the reported result is what these derive together, up
to the fixpoint (fixpoint.py).

Parameters that mean the same everywhere here: `base` has the facts of the background; `task` has the target, the
examples and the background; `bias` says which clauses are allowed; `clauses` form a program, `clause` is one of them;
`literal` is an atom of a body, `symbol` a predicate by name and arity; `names` are the texts of the entities by id;
`goals` and `queries` are tuples of the target, one per row; `rows` are tuples of entities; `path` is that of a file;
`term` is a Prolog term, `sources` are clauses as read; `node` is a candidate body; `num_entities` bounds the ids of
entities; `name` is for display; `positive` marks the positive examples.
"""
