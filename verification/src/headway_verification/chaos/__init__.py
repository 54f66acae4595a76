"""A queue on the sandbox, over real HTTP, while processes are killed and messages repeat.

The soak (`headway_verification.soak`) makes many runs on virtual time; this is one run with real processes, the real
handlers and the emulated services, including a restart.
"""
