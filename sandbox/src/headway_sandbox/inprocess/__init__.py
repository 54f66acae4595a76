"""How does a queue run within one process, without a server?

Imported by tests, benchmarks and `headway_verification`.
"""
