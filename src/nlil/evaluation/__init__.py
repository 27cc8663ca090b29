"""How good, and what follows: ranks, metrics, predictions. May import: kernel and the rooms before.

Parameters that mean the same everywhere here: `kb` is the base that bodies look at, and ids are its ids; `rules` are a
RuleSet in these ids; `target` is a predicate id and `direction` 0 for p(a, ?), 1 for p(?, a); `known` are facts whose
answers do not compete; `threads` of 0 are as many as there are cores; `memory` is a number of bytes; `progress` is told
how far the work is; `seed` is the only source of chance; `is_true` marks the facts among candidates. Compiled loops
share more: `graph` has the facts, `plan` the rules of the target; `hidden` says at which entity a query is and which
fact it does not see; a candidate keeps its `top` strongest rules, or with `strongest_only` the best; `extra` has rows
(candidate, evidence) of rules that have no loop (`extra_pointer` says where those of each query begin); `space` is the
scratch of the thread and `touched` the number of candidates that have a rule in it.
"""
