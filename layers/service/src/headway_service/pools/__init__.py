"""Which configuration is in effect, and which pools are paused?

Imported by the layers above.
"""
