"""Scene graphs: readers, generators, geometry, rules for object classes, pictures.   [docs/scenes.md]

Parameters that mean the same everywhere here: `kb` is the base that bodies look at, and ids are its ids; `dataset` is a
data set of scene graphs; `rules` are a RuleSet in these ids; `targets` are class predicates by id; `explanation` is
what `explain` returned; `path` is that of a file; a box is x, y, width, height in pixels; `threads` of 0 are as many as
there are cores; `memory` is a number of bytes; `seed` is the only source of chance.
"""
