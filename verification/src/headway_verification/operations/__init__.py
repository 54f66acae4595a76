"""The operator's days on virtual time: states in which an alarm has to ring, and healthy ones in which none may."""
