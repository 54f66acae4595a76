"""Which queue is measured? One in this process, on virtual or on real time, or one deployed to a sandbox.

Imported by scenarios, peers and tests.
"""
