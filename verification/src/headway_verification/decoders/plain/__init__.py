"""Decoders that are called by themselves."""
