"""What the users of a sandbox may call besides the queue."""

from __future__ import annotations

import re
from pathlib import Path

import headway_client
from headway_sandbox.local import aws_account

_ACTION = re.compile(r"\b(?:cloudwatch|logs|sagemaker):[A-Z][A-Za-z]+")


def test_a_user_may_call_all_that_the_client_says_it_needs() -> None:
    package = Path(headway_client.__file__).parent
    # `account` has an operator's checks, which only `headway doctor --account` makes, by an operator's role.
    sources = set(package.rglob("*.py")) - set((package / "account").rglob("*.py"))
    needed = {action for path in sources for action in _ACTION.findall(path.read_text(encoding="utf-8"))}
    allowed = {
        action
        for statement in aws_account._USER_POLICY["Statement"]
        if statement["Resource"] == "*"
        for action in statement["Action"]
    }
    assert needed == allowed
