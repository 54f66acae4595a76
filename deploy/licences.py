"""Under which licences the packages are that are deployed, and which may be."""

from __future__ import annotations

from importlib.metadata import Distribution

# Each lets a company run the code and pass it on without giving away its own. MPL-2.0 (certifi, in the client only)
# requires only that changes of its own files are published.
ALLOWED = frozenset({"Apache-2.0", "BSD-3-Clause", "MIT", "MIT-0", "MPL-2.0", "PSF-2.0"})
# What packages write where they name no SPDX expression (PEP 639).
_SPDX = {
    "Apache License 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD License": "BSD-3-Clause",
    "MIT License": "MIT",
}


def licence(distribution: Distribution) -> str:
    """A distribution's licence as an SPDX expression; empty if it names none that is known here."""
    metadata = distribution.metadata
    expression = next((metadata[key] for key in ("License-Expression", "License") if key in metadata), "")
    expression = _SPDX.get(expression, expression)
    if set(expression.split(" OR ")) <= ALLOWED:
        return expression
    classified = [
        value.rpartition(" :: ")[2] for value in metadata.get_all("Classifier") or [] if "License ::" in value
    ]
    return " OR ".join(sorted(_SPDX[name] for name in classified)) if set(classified) <= _SPDX.keys() else ""
