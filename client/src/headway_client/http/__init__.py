"""How is the queue called?

Imported by `logs` and the layers above.
"""
