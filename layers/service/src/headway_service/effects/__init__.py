"""What would a configuration do if it were in force?

Imported by `api` and `bootstrap`.
"""
