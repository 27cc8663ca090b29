"""Rules to and from other systems: one module per language, all writing the same Rule.

Executable: Prolog, Datalog, SQL, SPARQL, Cypher. `facts(kb, language)` writes the facts that such a program runs on.
What a language cannot express raises `ExportError`; it is never approximated.

Parameters with the same meaning everywhere here: `rule` is the rule to write, `options` say how; `kb` is the base whose
facts are written; `name` is a name of the data, an entity or a predicate.
"""

from .programs import EXECUTABLE, LANGUAGES, facts, program, rule_text

__all__ = ["EXECUTABLE", "LANGUAGES", "facts", "program", "rule_text"]
