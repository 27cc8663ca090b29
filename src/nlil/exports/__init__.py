"""Rules out to other systems, and in from them: one module per language, all from the same Rule.

Executable: Prolog, Datalog, SQL, SPARQL, Cypher. `facts(kb, language)` writes the facts that such a program runs on.
What a language cannot say is refused with an `ExportError`, never approximated.
"""

from .programs import EXECUTABLE, LANGUAGES, facts, program, rule_text

__all__ = ["EXECUTABLE", "LANGUAGES", "facts", "program", "rule_text"]
