"""How do the calls of boto3 clients reach the queue?

Imported by `sagemaker_sdk` and `cli`.
"""
