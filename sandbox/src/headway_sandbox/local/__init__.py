"""How is the stack deployed to the emulator and kept running?

Imported by `demo` and the layers above.
"""
