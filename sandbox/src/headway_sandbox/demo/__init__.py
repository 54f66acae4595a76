"""What does a queue look like at work?

The top layer, beside `simulator`.
"""
