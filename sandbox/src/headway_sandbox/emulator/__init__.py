"""How is AWS emulated? The only package that imports ministack.

Imported by `server` and the layers above.
"""
