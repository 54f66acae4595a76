"""Verification that the functions' policies are sufficient and minimal, by comparing grants with recorded calls.

`make iam-proof`, or `python -m headway_verification.least_privilege`.
"""
