"""How long will a job run, by the jobs that have completed before it? Pure.

An estimate for people: no decision and no promise depends on it, as only limits prove when a job ends.
"""
