"""How is a decision carried out?

Imported by `monitoring` and `bootstrap`.
"""
