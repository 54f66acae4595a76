"""What does the command `headway` do?

The top layer of the client: nothing imports it.
"""
