"""How are requests to SageMaker built and its responses read?

Pure. Imported by the layers above.
"""
