"""Many jobs that run for days: whether each run of the reconciler does all that it is there for."""
