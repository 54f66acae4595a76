"""Which figures does advice on a job rest on? Read with the caller's own AWS credentials (decision 81).

Imported by the command line.
"""
