"""The viewer: a run in the browser, served from this machine. May import: every room but cli.

address ──routes──▶ pages ──▶ a document (plain data) ──▶ HTML by a template, or the same as JSON
                      │
                    PageData: the run, its base, and what was computed once for many queries
"""
