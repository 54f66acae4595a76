"""Which jobs start, which attempts are preempted, and why does every other job wait?

Pure. Nothing in the core imports it.
"""
