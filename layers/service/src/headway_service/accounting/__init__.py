"""How much did each team, owner, pool and tag use? Daily and monthly sums of ended attempts and jobs.

The consumer of the table's stream keeps them, and the scheduler those of idle time; the API reads them.

Imported by `bootstrap` and `api`.
"""
