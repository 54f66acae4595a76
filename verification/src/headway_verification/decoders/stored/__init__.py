"""Decoders of what the API takes: through its handler, and what is stored through ticks and all other functions."""
