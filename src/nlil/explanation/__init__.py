"""Why a fact scores what it scores, what it lacks, what a rule rests on, and which facts the rules dispute.

May import: evaluation and the rooms before.

Parameters that mean the same everywhere here: `kb` is the base that bodies look at, and ids are its ids; `rule` is a
rule over its names; `fact` is a fact by name, `query` the same or its text; `x` and `y` are the ids of its arguments,
`y` is None for a unary one; `side` says whether the object or the subject of a binary fact is the answer that is
explained; `labels` are words for people in place of names; `explainer` has the rules, and is kept for many queries;
`distinct` is that of the rule; with `hide` the fact itself is invisible.
"""
