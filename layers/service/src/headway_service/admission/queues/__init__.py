"""Whether queues have room for further jobs."""
