"""What is Headway compared with? Slurm, Kueue's own test, the founding article's scheduler, and Headway as their peer.

Imported by scenarios, queues, reports and tests.
"""
