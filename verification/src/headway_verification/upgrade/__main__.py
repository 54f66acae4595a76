"""`make deploy-sandbox`: play a release on a separate sandbox.

python -m headway_verification.upgrade [--old COMMIT] [--seed 17] [--short]

Exit code 1 if a job was lost or duplicated, the API was unavailable when it must not be, or a guard failed.
"""

from __future__ import annotations

import argparse
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from random import SystemRandom

from headway_sandbox.errors import SandboxError
from headway_sandbox.local import deployment, manager
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from headway_verification.chaos.run import DURATIONS, SPEED
from headway_verification.upgrade import builds
from headway_verification.upgrade.scenario import Plan, Scenario, Tell
from headway_verification.upgrade.workspace import Workspace


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description="Deploy, update under load, roll back and delete, on this machine.")
    parser.add_argument(
        "--old", metavar="COMMIT", help="update from the sources of this commit (default: the current sources)"
    )
    parser.add_argument("--seed", type=int, help="the random seed of the requests; a new one by default")
    parser.add_argument("--short", action="store_true", help="leave out the rollbacks and the next stack")
    args = parser.parse_args(argv)
    before = signal.signal(signal.SIGTERM, _end)
    seed = SystemRandom().randrange(10**6) if args.seed is None else args.seed
    began = time.monotonic()
    try:
        story = play(old=args.old, seed=seed, short=args.short, tell=_tell)
    finally:
        signal.signal(signal.SIGTERM, before)
    broken = [f"✗ {violation}" for violation in story.violations]
    _tell("\n" + ("\n".join(broken) or "✓ no job lost or duplicated, no resource replaced"))
    _tell(f"{time.monotonic() - began:.0f} s, seed {seed}")
    return 1 if broken else 0


def _end(number: int, _frame: object) -> None:
    """Exit by an exception, as Ctrl-C does, so that the sandbox is stopped."""
    sys.exit(128 + number)


def play(*, old: str | None = None, seed: int = 0, short: bool = False, tell: Tell = print) -> Scenario:
    """Play the scenario.

    Args:
        old: the commit to update from; None for the current sources.
        seed: the random seed of the requests.
        short: leaves out the rollbacks, the stack policy and the next stack.
        tell: called with each line of the report.

    Returns:
        The scenario, with its violations.
    """
    checkout = Checkout.here()
    with tempfile.TemporaryDirectory(prefix="headway-release-") as name:
        folder = Path(name)
        before, after = _builds(checkout, folder, old)
        sources_of_old = folder / "old" if old else None
        plan = Plan(old=before, new=after, folder=folder, seed=seed, short=short, old_sources=sources_of_old)
        # The permissions of another version's functions prove nothing about the current ones.
        sources = replace(checkout, code_name=f"from {old}" if old else "")
        with Sandbox(deploy=False, speed=SPEED, durations=DURATIONS, sources=sources) as sandbox:
            workplace = Workspace(_made(folder / "workplace"), checkout=checkout, info=sandbox.info)
            story = Scenario(sandbox, workplace, plan, tell=tell)
            try:
                story.play()
            except SandboxError as error:
                story.violations.append(str(error))
    return story


def _builds(checkout: Checkout, folder: Path, old: str | None) -> tuple[Path, Path]:
    built = deployment.build(checkout, region=manager.REGION)
    # A copy, as the checkout keeps only the newest builds.
    present = Path(shutil.copytree(built, folder / "present"))
    if old is None:
        return present, builds.changed(present, folder / "new")
    return builds.of_commit(checkout, old, folder=_made(folder / "old"), region=manager.REGION), present


def _made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _tell(line: str) -> None:
    print(line, flush=True)


if __name__ == "__main__":
    sys.exit(main())
