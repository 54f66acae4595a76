"""What do scenarios run? Long queues, bursts of submissions, cold starts and a replay, each measured once.

Imported by scenarios, by :mod:`bench.report`, and by tests.
"""
