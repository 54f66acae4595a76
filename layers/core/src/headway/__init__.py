"""The decisions of Headway: a pure scheduler for SageMaker training jobs in fixed pools of instances.

Nothing here reads a clock, the environment or a network; every decision is a function of its arguments
(promise 9 in ``docs/reference/semantics.md``). Times are whole milliseconds since the Unix epoch.
"""
