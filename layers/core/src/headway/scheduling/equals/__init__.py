"""Jobs that preempt equals: what is left of their limits, and when one of them gives way to another."""
