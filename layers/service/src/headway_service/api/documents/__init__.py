"""The documents of the HTTP API, made of what the service found; `docs/reference/api.md` describes them."""
