"""How is the stack deployed to the emulator and kept running?

Imported by `demo`.
"""
