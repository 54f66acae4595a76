"""The commands that need no queue."""
