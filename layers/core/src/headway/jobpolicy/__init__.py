"""What may a job do, and what is done about it: rules, retries, failure kinds and utilization?

Pure. May be imported by all above `policy` and `lifecycle`.
"""
