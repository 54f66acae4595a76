"""Measurements, each a script of its own."""
