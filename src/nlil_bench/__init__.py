"""Benchmarks and baselines. May import every package of nlil, which never imports this one.

registry: the benches by name.  command: `nlil bench`.  job: one measurement in a separate process.
results: the figures of a measurement, and the files that store them.  published: figures quoted from papers.
tables: the tables in README.md and docs, written from the result files.  cells: what tables and pictures share.
baselines: other methods with one interface.  All other modules are one bench each, or used by one.
"""
