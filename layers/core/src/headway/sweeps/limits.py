"""How large a sweep may be."""

from __future__ import annotations

MAX_MEMBERS = 10_000
"""Members of an array."""

MAX_PARAMETERS = 100
"""Hyperparameters of a training job (API reference, CreateTrainingJob: HyperParameters)."""

MAX_NAME_CHARACTERS = 256
"""Characters of the name of a hyperparameter (API reference, CreateTrainingJob: HyperParameters)."""

MAX_VALUE_CHARACTERS = 2_500
"""Characters of the value of a hyperparameter (API reference, CreateTrainingJob: HyperParameters)."""
