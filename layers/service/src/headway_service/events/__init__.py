"""Who is notified of what happens to a job?

Imported by `aws` and `bootstrap`.
"""
