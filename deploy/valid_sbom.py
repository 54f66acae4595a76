"""Checks bills of materials by CycloneDX's own schema: python -m deploy.valid_sbom FILE..."""

from __future__ import annotations

import sys
from pathlib import Path

# They are in .envs/audit only, which mypy does not see.
from cyclonedx.schema import SchemaVersion  # type: ignore[import-not-found]
from cyclonedx.validation.json import JsonStrictValidator  # type: ignore[import-not-found]


def main() -> int:
    """Exit 1 where a file is not as the schema has it."""
    validator = JsonStrictValidator(SchemaVersion.V1_6)
    problems = {path: validator.validate_str(Path(path).read_text(encoding="utf-8")) for path in sys.argv[1:]}
    for path, problem in problems.items():
        print(f"{path}: {problem or 'valid'}")
    return 1 if any(problems.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
