"""A soak test of the service: its real code on virtual time, with interleaved invocations and injected faults.

One seed determines everything: the order of the calls, the requests of users, and the faults. What is simulated and
checked: `docs/explanation/reliability.md`.
"""
