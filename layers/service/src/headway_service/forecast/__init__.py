"""When will a job start, and what would change that?

Imported by `api` and `bootstrap`.
"""
