"""Rules as values. Pure Python: no torch, no numpy, no files.

predicate, formula, rule: the values.   simplify: equivalent rules become equal values.
text, parse, query: rules and queries as text; parse_rule(rule_text(rule)) == rule.
"""
