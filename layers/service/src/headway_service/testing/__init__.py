"""How does a test run the service without AWS?

Imported by tests, by the sandbox and by benchmarks.
"""
