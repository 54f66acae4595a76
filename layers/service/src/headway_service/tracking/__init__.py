"""What is the status of the attempts in SageMaker, and which training jobs are rogue?

Imported by `scheduling`, `launching`, `jobs` and `bootstrap`.
"""
