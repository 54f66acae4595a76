"""Checks templates by the rules in deploy/rules.guard: `{name: template}` as input, `{name: broken rules}` as output.

Runs in .envs/template with cfn-guard. The templates have no conditions (conditions.deployed). The exit code is 1 if a
rule is broken.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

RULES = Path(__file__).resolve().parents[2] / "deploy" / "rules.guard"


def is_kept(report: str) -> bool:
    """Return whether a report on one rule has the result pass, or not applicable.

    If a report has more than 8 KB, as only a broken rule produces, cfn_guard_rs 0.3.3 returns its end, which is not
    valid JSON.
    """
    try:
        return json.loads(report)["status"] != "FAIL"
    except json.JSONDecodeError:
        return False


if __name__ == "__main__":
    try:
        from cfn_guard_rs.cfn_guard_rs import run_checks_rs
    except ImportError:
        version = sys.version_info
        print(f"cfn-guard has no wheel for Python {version.major}.{version.minor}: its rules are not checked")
        sys.exit(version < (3, 13))
    text = RULES.read_text(encoding="utf-8")
    variables, *_ = re.split(r"^rule ", text, maxsplit=1, flags=re.MULTILINE)
    whole = re.compile(r"^rule (\w+).*?^}\n", re.MULTILINE | re.DOTALL)
    rules = {each[1]: variables + each[0] for each in whole.finditer(text)}
    found = {
        name: [rule for rule, body in rules.items() if not is_kept(run_checks_rs(json.dumps(part), body, False))]
        for name, part in json.load(sys.stdin).items()
    }
    print(json.dumps(found, indent=1))
    sys.exit(any(found.values()))
