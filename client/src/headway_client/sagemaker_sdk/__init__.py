"""How do users submit jobs with the SageMaker Python SDK?

Imported by the package itself and by `cli`.
"""
