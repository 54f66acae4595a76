"""A soak test of the service: its real code on virtual time, many invocations at once, and every fault there is.

One seed decides everything: who is let go on, what people ask for, what goes wrong. What is simulated
and checked: `docs/explanation/reliability.md`.
"""
