"""What may a job do, and how does the policy react: rules, retries, failure kinds and utilization?

Pure. May be imported by all above `policy` and `lifecycle`.
"""
