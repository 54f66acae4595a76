"""When is there something to advise? One rule in each module; its thresholds are on the page on advice.

Imported by `advise`, which runs them all.
"""
