"""How long would the jobs of a trace wait? Simulates the queue on a trace in virtual time.

The top layer, beside `demo`. The decisions come from :func:`headway.scheduling.scheduler.schedule`, the deployed code;
:class:`headway.forecasting.simulation.Simulation` advances the clock. Only the choice of the jobs that write
checkpoints is random, from a seed.
"""
