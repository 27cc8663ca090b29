"""Rules out to other systems, and in from them: one module per language, all from the same Rule.

Executable: Prolog, Datalog, SQL, SPARQL, Cypher. `facts(kb, language)` writes the facts that such a program runs on.
What a language cannot say is refused with an `ExportError`, never approximated.

Parameters that mean the same everywhere here: `rule` is the rule to write, `options` say how; `kb` is the base whose
facts are written; `name` is a name of the data, an entity or a predicate. What cannot be written raises `ExportError`.
"""

from .programs import EXECUTABLE, LANGUAGES, facts, program, rule_text

__all__ = ["EXECUTABLE", "LANGUAGES", "facts", "program", "rule_text"]
