"""The commands on jobs, running, waiting and ended."""
