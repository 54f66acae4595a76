"""What do requests to SageMaker and its answers look like?

Pure. Imported by the layers above.
"""
