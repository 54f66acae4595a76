"""What is measured of the queue and of running jobs?

Imported by `bootstrap`.
"""
