"""How much did each team, owner, pool and tag use? Daily and monthly sums of ended attempts and jobs.

A consumer of the feed keeps them, and the scheduler those of idle time; the API reads them.

Imported by `bootstrap` and `api`.
"""
