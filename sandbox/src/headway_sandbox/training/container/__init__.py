"""The container of a training job: namespaces, a root folder of its own, and processes without privileges.

Python's standard library only, as these modules run as the first processes of the namespaces.
"""
