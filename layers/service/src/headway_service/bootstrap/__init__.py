"""Puts the parts together on AWS, once per function process: a container for each function, with what it needs.

Each client is made when it is first needed. A function loads the modules of its own container only, as a cold start
compiles or reads all of them.
"""
