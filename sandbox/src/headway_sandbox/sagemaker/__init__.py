"""How does SageMaker answer?

Imports nothing of the sandbox but errors. Imported by the layers above.
"""
