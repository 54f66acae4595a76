"""Whether the functions' policies are enough and no more: what the template grants beside what runs asked for.

`make iam-proof`, or `python -m headway_verification.least_privilege`.
"""
