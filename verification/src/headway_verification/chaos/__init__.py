"""A queue on the sandbox, over real HTTP, while processes are killed and messages repeat.

The soak (`headway_verification.soak`) lives many lives on virtual time; this is one, with real processes, the real
handlers and the emulated services, a stop and a start included.
"""
