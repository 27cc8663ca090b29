"""Benchmarks: the paper's tables with our figures beside them. May import every room before it; uses public functions.

job: one measurement in a process of its own.  record: machine, versions, result files.  published: quoted figures.
kb, stats, scale: the benches of the whole line.  scene, fewshot: object classes.
recovery, es, length, speed: those of the neural search.
tables, kb_tables, scene_tables, search_tables: the result files as README.md and docs show them; plots: as pictures.
cells: what tables share.
"""
