"""Does the queue keep its promises where AWS fails, is slow or answers late?

Not shipped: it runs from a checkout, over the sandbox, the service and the client.
"""
