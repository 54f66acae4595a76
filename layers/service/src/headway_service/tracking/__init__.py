"""What does SageMaker say of the attempts, and which training jobs does the queue not know?

Imported by `scheduling`, `jobs` and `bootstrap`.
"""
