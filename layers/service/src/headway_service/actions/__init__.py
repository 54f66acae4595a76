"""What have operators done to the queue, and who was it?

Imported by `api`, `dead_letters`, `events`, `jobs` and `pools`.
"""
