"""What has a training job logged?

Imported by `botocore_hooks` and the layers above.
"""
