"""What does the table hold, and which writes belong together?

Imported by the layers above.
"""
