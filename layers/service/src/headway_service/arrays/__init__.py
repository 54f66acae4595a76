"""When do the members of an array become jobs, enter the queue, and follow what was asked of the array?

A tick does it, before it decides. What was interrupted, the next tick finishes.
"""
