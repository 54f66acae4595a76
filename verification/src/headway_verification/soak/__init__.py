"""A soak test of the service: its real code on virtual time, many invocations at once, and every fault there is.

One seed decides everything: the scheduling of invocations, the users' requests, the faults. What is simulated
and checked: `docs/explanation/reliability.md`.
"""
