"""What will the decisions do next, if nothing unknown happens?

Pure. The decisions do not depend on it.
"""
