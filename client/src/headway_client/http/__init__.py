"""How does the client call the queue?

Imported by `logs` and the layers above.
"""
