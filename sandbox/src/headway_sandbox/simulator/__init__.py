"""The simulator: a trace of jobs, played through the decisions of the queue on virtual time.

What decides is :func:`headway.scheduling.scheduler.schedule`, the code that is deployed;
:class:`headway.scheduling.simulation.Simulation` advances the clock.
Nothing is drawn at random but which jobs write checkpoints, and that from a seed.
"""
