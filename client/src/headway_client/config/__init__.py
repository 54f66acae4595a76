"""Which queue is the client connected to, and as whom?

Imported by all layers above `errors`.
"""
