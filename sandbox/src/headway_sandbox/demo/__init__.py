"""How does the queue behave in a live demonstration?

The top layer, beside `simulator`.
"""
