"""What does the HTTP API take and answer?

The top layer: only the Lambda handler imports it.
"""
