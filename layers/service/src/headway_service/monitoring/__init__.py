"""Which metrics of the queue and of running jobs are published?

Imported by `bootstrap`.
"""
