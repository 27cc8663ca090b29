"""What a rule is. Pure Python: no torch, no numpy, no files.

predicate, formula, rule: the values.   simplify: equal rules as equal values.
text, parse, query: rules and questions as text; parse_rule(rule_text(rule)) == rule.
"""
