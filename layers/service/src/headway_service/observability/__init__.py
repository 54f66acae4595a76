"""Where do logs and metrics go?

Imported by all layers above `store`.
"""
