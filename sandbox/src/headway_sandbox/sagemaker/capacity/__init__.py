"""Which instances does a training job get?

The account's quotas, its warm pools and its training plans.
"""
