"""What is the status of the attempts in SageMaker, and which training jobs are unmanaged?

Imported by `scheduling`, `launching`, `jobs` and `bootstrap`.
"""
