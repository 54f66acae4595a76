"""What is left of a sandbox that was killed?

Imported by `emulator` and the layers above.
"""
