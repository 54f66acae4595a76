"""May this request enter the queue?

Imported by `jobs`, `scheduling` and what is above them.
"""
