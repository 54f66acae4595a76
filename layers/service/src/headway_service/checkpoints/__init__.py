"""When were checkpoints of running attempts written, as S3 shows it?

Imported by `tracking` and `bootstrap`.
"""
