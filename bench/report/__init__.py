"""How are the figures reported? Tables, plots and goals, and the pages that contain them.

Imported by :mod:`bench.suite`, by scenarios that print tables, and by tests.
"""
