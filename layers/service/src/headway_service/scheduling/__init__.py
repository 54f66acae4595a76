"""What does a tick do?

Imported by `monitoring` and `bootstrap`.
"""
