"""How does the command line `headway` work?

The top layer of the client: nothing imports it.
"""
