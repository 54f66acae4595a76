"""Checks pinned requirements for known vulnerabilities with pip-audit, and distinguishes a result from none.

    python -m deploy.audit FILE...

Exit 0: none known. 1: some known, which are printed. 3: the database could not be read, or not for all. pip-audit
itself ends with 1 in the last two cases alike.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from typing import Any

UNKNOWN = 3
_PIP_AUDIT = (
    *(sys.executable, "-m", "pip_audit", "--require-hashes", "--disable-pip", "--format", "json"),
    *("--progress-spinner", "off", "--timeout", "10"),
)


def main(paths: Sequence[str] | None = None) -> int:
    """Check the pins in the named files for known vulnerabilities."""
    requirements = [part for path in paths or sys.argv[1:] for part in ("--requirement", path)]
    # Arguments of our own, no shell.
    done = subprocess.run([*_PIP_AUDIT, *requirements], capture_output=True, text=True, check=False)  # noqa: S603
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        why = (done.stderr.strip().splitlines() or ["pip-audit printed nothing"])[-1]
        print(f"The result is unknown: the database could not be read ({why})", file=sys.stderr)
        return UNKNOWN
    return report(answer["dependencies"])


def report(dependencies: Sequence[dict[str, Any]]) -> int:
    """Print pip-audit's result for each package; return the exit status."""
    found = [(package, flaw) for package in dependencies for flaw in package.get("vulns", [])]
    skipped = [package for package in dependencies if "skip_reason" in package]
    for package, flaw in found:
        fixed = ", ".join(flaw["fix_versions"]) or "no version"
        print(f"{package['name']} {package['version']}: {flaw['id']}, fixed in {fixed}")
    for package in skipped:
        print(f"{package['name']}: nothing is known ({package['skip_reason']})", file=sys.stderr)
    print(f"{len(dependencies) - len(skipped)} packages looked up, {len(found)} vulnerabilities known")
    if found:
        return 1
    return UNKNOWN if skipped or not dependencies else 0


if __name__ == "__main__":
    sys.exit(main())
