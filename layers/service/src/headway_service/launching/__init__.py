"""How is a plan carried out?

Imported by `scheduling` and `bootstrap`.
"""
