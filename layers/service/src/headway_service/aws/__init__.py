"""How are the ports implemented on AWS?

Only `headway_service.bootstrap` imports it.
"""
