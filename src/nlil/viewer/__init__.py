"""The viewer: a run in the browser, served from this machine. May import: every room but cli.

address ──routes──▶ pages ──▶ a document (plain data) ──▶ HTML by a template, or the same as JSON
                      │
                    PageData: the run, its base, and what was computed once for many queries

Parameters that mean the same everywhere here: `data` is the PageData of the run, `guard` says who may ask and write;
`request` is that of a browser, `parameters` are what stands behind the question mark of its address, and `number` the
number in it (0: none); `explainer` answers for the rules at `rows` of the run; `row` is one of these, `id` that of a
predicate or an entity; `fact` is a fact by name.
"""
