"""Why a fact has its score, what it lacks, what a rule is based on, and which facts the rules dispute.

May import: evaluation and the packages before it.

Parameters with the same meaning everywhere here: `kb` is the base that bodies are evaluated on, and ids are its ids;
`rule` is a rule over its names; `fact` is a fact by name, `query` the same or its text; `x` and `y` are the ids of its
arguments (`y` is None for a unary fact); `side` says whether the object or the subject of a binary fact is the answer
that is explained; `labels` are readable labels in place of names; `explainer` holds the rules and can be reused for
many queries; `distinct` is that of the rule; `hide` hides the fact itself.
"""
