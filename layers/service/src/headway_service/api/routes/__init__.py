"""The calls of the HTTP API, one noun a module: each parses, calls one function of the service, and answers."""
