"""`make refusals`: what each state costs in which AWS says no, and goes on saying it, played on virtual time.

The states are played through the handlers, the fake SageMaker and the published metrics only, so that the same command
runs on code before and after a change.
"""
