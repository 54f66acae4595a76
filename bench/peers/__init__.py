"""Which schedulers are compared? Slurm, Kueue's own test, the founding article's scheduler, and Headway.

Imported by scenarios, queues, reports and tests.
"""
