"""The viewer: a run in the browser, served from this machine. May import: every package but cli.

address ──routes──▶ pages ──▶ a document (plain data) ──▶ HTML by a template, or the same as JSON
                      │
                    PageData: the run, its base, and what was computed once for many queries

Parameters with the same meaning everywhere here: `data` is the PageData of the run; `guard` checks access; `request` is
that of a browser, `parameters` are its query parameters, and `number` is the number in its path (0: none); `explainer`
explains by the rules at `rows` of the run; `row` is one of these, `id` that of a predicate or an entity; `fact` is a
fact by name.
"""
