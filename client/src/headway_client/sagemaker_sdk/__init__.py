"""How is a job submitted with the SageMaker Python SDK?

Imported by the package itself and by `cli`.
"""
