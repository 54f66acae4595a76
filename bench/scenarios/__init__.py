"""The measurements: each module measures one thing, prints its figures and writes them.

Imported by :mod:`bench.suite`, by :mod:`bench.report` for goals and sizes, and by tests.
"""
