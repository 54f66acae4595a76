"""How do clients reach the sandbox over HTTP?

Imported by `local`.
"""
