"""How long will a job run, by the jobs that have completed before it? Pure.

An estimate: no promise depends on it, as only limits prove when a job ends. Orders among equals may compare it.
"""
