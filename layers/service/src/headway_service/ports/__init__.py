"""What does the service need of the outside world?

Protocols and their values. Imports nothing of the service but errors.
"""
