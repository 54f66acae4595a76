"""What may users do with their jobs, and what are they shown?

Imported by `forecast`, `api` and `bootstrap`.
"""
