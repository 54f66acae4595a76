"""How do clients reach the sandbox over HTTP?

Imported by `local` and the layers above.
"""
