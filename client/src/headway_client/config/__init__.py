"""To which queue does the client connect, and with which credentials?

Imported by all layers above `errors`.
"""
