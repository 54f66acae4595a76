"""The records of what holds instances, and of the pools that these are in.

Attempts, warm pools, rogue jobs and reservations hold instances; pools have sizes, pauses, training plans, idle
instances and spot placement scores. These records may be made of those of jobs, which know nothing of them.
"""
