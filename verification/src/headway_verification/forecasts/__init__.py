"""Forecasts behind arrays: whether jobs start no later than they were told, if every job runs to its limit."""
