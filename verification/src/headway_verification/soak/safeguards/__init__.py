"""Which safeguards the service has, and which trial or run detects that one is missing."""
