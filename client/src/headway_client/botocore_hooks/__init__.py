"""How do calls of a boto3 client reach the queue?

Imported by `sagemaker_sdk` and `cli`.
"""
