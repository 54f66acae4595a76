"""Verification of the queue's guarantees when AWS fails, is slow or answers late.

Not shipped: it runs from a checkout, on the sandbox, the service and the client.
"""
