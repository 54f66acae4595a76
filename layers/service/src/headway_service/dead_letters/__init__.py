"""Which messages could not be processed, and how are they processed again?

Imported by `api` and `bootstrap`.
"""
