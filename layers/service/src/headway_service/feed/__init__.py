"""Which events were there, in the order in which they were recorded, and how does a reader continue?

Imported by the publisher of events, which appends, and by the HTTP API, which reads.
"""
