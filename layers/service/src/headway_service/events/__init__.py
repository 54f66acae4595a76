"""Which events does a job have, and where are they published?

Imported by `aws` and `bootstrap`.
"""
