"""Forgets a person: what the table has of their jobs, and the sums under their name."""
