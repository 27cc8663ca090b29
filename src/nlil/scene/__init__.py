"""Scene graphs: readers, generators, geometry, rules for object classes, pictures.   [docs/scenes.md]

Parameters with the same meaning everywhere here: `kb` is the base that bodies are evaluated on, and ids are its ids;
`dataset` is a data set of scene graphs; `rules` is a RuleSet in these ids; `targets` are class predicates by id;
`explanation` is the result of `explain`; `path` is that of a file; a box is x, y, width, height in pixels; `threads` is
the number of threads, 0 for all cores; `memory` is in bytes; `seed` is the seed of all randomness.
"""
