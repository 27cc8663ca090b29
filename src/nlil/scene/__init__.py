"""Scene graphs: readers, generators, geometry, rules for object classes, pictures.   [docs/scenes.md]"""
