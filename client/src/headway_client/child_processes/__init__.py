"""How do the child processes of ``python -m headway_client`` reach the queue?

Imported by `headway_client.__main__`, and by each child process at its start.
"""
