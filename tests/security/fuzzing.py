"""Calls the API on a sandbox with requests that conform to its OpenAPI document or violate it: a part of ``make fuzz``.

schemathesis generates the calls from ``docs/openapi.json``, signs and sends them, and checks that no answer is a server
error and that each conforms to the document: status, schema, headers, content type. The other part feeds each decoder
(``headway_verification.decoders``).
"""

from __future__ import annotations

import argparse
import os
import secrets
import subprocess
import sys
from pathlib import Path

from botocore.credentials import Credentials

from headway_client.http.api import HeadwayApi
from headway_client.sweeps import with_sweep
from headway_sandbox.local.checkout import Checkout
from headway_sandbox.local.sandbox import Sandbox
from tests.security.fuzz_queue import ARRAYS, JOBS, POOLS, request
from tests.security.stage_limits import limits, settings

ROOT = Checkout.here().root
SCHEMATHESIS = ROOT / ".envs" / "fuzz" / "bin" / "schemathesis"
CONFIGURATION = Path(__file__).with_name("schemathesis.toml")

GRACE_S = 60
"""The time allowed for the last calls of a run."""


def fuzz(sandbox: Sandbox, *, seconds: int, seed: int) -> subprocess.CompletedProcess[str]:
    """Call a sandbox's API for a time, and return schemathesis's report.

    Args:
        sandbox: a sandbox whose queue is used by this run only.
        seconds: the duration, s.
        seed: the random seed of the calls.
    """
    info = sandbox.info
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(sandbox.state_dir),
        "PYTHONPATH": str(ROOT),
        "SCHEMATHESIS_HOOKS": "tests.security.fuzz_hooks",
        "AWS_ACCESS_KEY_ID": info.access_key,
        "AWS_SECRET_ACCESS_KEY": info.secret_key,
        "AWS_REGION": info.region,
        "FUZZ_ROLE_ARN": info.role_arn,
    }
    command = [
        str(SCHEMATHESIS), "--config-file", str(CONFIGURATION), "--no-color", "run",
        str(ROOT / "docs" / "openapi.json"), "--url", sandbox.endpoint, "--max-time", str(seconds), "--seed", str(seed),
        # Nothing is kept: the sandbox is deleted after the run.
        "--generation-database", "none", "--continue-on-failure", "--no-shrink",
    ]  # fmt: skip
    _fill(sandbox)
    # Calls have to reach functions: API Gateway's refusals do not test them.
    with limits(sandbox, dict.fromkeys(settings(sandbox), (10_000, 5_000))):
        return subprocess.run(
            command,
            env=environment,
            cwd=sandbox.state_dir,
            capture_output=True,
            text=True,
            timeout=seconds + GRACE_S,
            check=False,
        )


def _fill(sandbox: Sandbox) -> None:
    """Submit some jobs, so that calls concern existing ones from the beginning."""
    info = sandbox.info
    api = HeadwayApi(sandbox.endpoint, region=info.region, credentials=Credentials(info.access_key, info.secret_key))
    api.put_config({"pools": POOLS}, force=True)
    for name in JOBS:
        api.submit(request(name, info.role_arn))
    for name in ARRAYS:
        api.submit(with_sweep(request(name, info.role_arn), {"grid": {"rate": ["1", "2"]}}))


def main() -> int:
    """Fuzz a separate sandbox; return schemathesis's exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=int, default=300, help="for how long (default: %(default)s)")
    parser.add_argument("--seed", type=int, default=secrets.randbelow(2**32), help="draws the calls; by default, any")
    args = parser.parse_args()
    with Sandbox(speed=100) as sandbox:
        run = fuzz(sandbox, seconds=args.seconds, seed=args.seed)
    print(run.stdout, run.stderr, sep="\n")
    print(f"seed {args.seed}")
    return run.returncode


if __name__ == "__main__":
    sys.exit(main())
