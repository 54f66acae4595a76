"""What do the figures say? Tables, plots and goals, and the pages that hold them.

Imported by :mod:`bench.suite`, by scenarios that print tables, and by tests.
"""
