"""What has a training job written?

Imported by `botocore_hooks` and the layers above.
"""
