"""Which running members of arrays are stopped, as their metrics are worse than those of others?

The function that watches the use of instances asks this once a minute. It keeps nothing: all that it compares is in
CloudWatch.
"""
