"""Evaluation and prediction: scores, ranks, metrics, calibration.

Parameters that mean the same everywhere here: `kb` is the base that bodies use, and ids are its ids; `rules` are a
RuleSet in these ids; `target` is a predicate id and `direction` 0 for p(a, ?), 1 for p(?, a); `known` are facts whose
answers do not compete; `threads` = 0 means all cores; `memory` is a number of bytes; `progress` receives reports of
progress; `seed` is the only source of randomness; `is_true` marks the facts among candidates. In compiled loops,
`graph` has the facts and `plan` the rules of the target; `hidden` is the entity of a query and the fact it may not see;
a candidate keeps its `top` strongest rules, or only the best with `strongest_only`; `extra` has rows (candidate,
evidence) of rules without a loop of their own (`extra_pointer`: where those of each query begin); `space` is the
scratch space of the thread, and `touched` the number of candidates in it.
"""
