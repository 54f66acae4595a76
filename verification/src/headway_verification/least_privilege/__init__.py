"""Are the functions' policies sufficient and minimal? Compares the template's grants with recorded calls.

`make iam-proof`, or `python -m headway_verification.least_privilege`.
"""
