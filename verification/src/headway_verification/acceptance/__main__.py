"""`make accept`: prove on a deployment what Headway assumes of AWS, and write a report.

python -m headway_verification.acceptance [--endpoint URL] --bucket NAME --image URI --yes

Exit code 1 if an assumption does not hold, 2 if the run cannot begin.
"""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from dataclasses import fields
from pathlib import Path

from headway.errors import HeadwayError
from headway_verification.acceptance.gathering import requests
from headway_verification.acceptance.run import examine
from headway_verification.acceptance.target import INSTANCE_TYPE, Options, Target, find, report_folder
from headway_verification.acceptance.verdict import Verdict

JOBS = 4
PRICE_USD = 0.115
"""Of an hour of an ml.m5.large for training in us-east-1 (SageMaker pricing page)."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run the acceptance."""
    args = _parser().parse_args(argv)
    options = Options(**{each.name: getattr(args, each.name) for each in fields(Options)})
    before = signal.signal(signal.SIGTERM, _end)
    try:
        with find(options, _tell) as target:
            _tell(cost(target))
            if not target.is_sandbox and not args.yes:
                print("Nothing was created. Give --yes (YES=1) to begin.", file=sys.stderr)
                return 2
            report = examine(target, jobs_s=args.minutes * 60, tell=_tell)
    except HeadwayError as error:
        print(error, file=sys.stderr)
        return 2
    finally:
        signal.signal(signal.SIGTERM, before)
    for each in report.results:
        _tell(f"{each.finding.verdict:>20}  {each.check.name}: {each.finding.answer}")
    markdown, document = report.write(args.out)
    _tell(f"{report.summary}; {markdown}, {document}")
    return 1 if report.counts[Verdict.FALSE] else 0


def cost(target: Target) -> str:
    """Return what a run creates and what it costs at most."""
    hours = (JOBS * requests.MAX_RUN_S + requests.KEEP_S) / 3600
    price = f", {hours * PRICE_USD:.2f} USD in us-east-1" if target.instance_type == INSTANCE_TYPE else ""
    return (
        f"On {target.stack} in {target.region}: up to {JOBS} training jobs on {target.instance_type} of at most "
        f"{requests.MAX_RUN_S // 60} minutes each ({hours:.2f} instance-hours at most{price}), and, free of charge, "
        "two roles, a rule, a queue, an alarm and a stack. All are removed at the end."
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Prove on a deployment what Headway assumes of AWS.")
    parser.add_argument("--endpoint", help="of the queue; by default as `headway` finds it, else a new sandbox")
    parser.add_argument("--region", help="of the queue")
    parser.add_argument("--profile", help="of Headway's profile file")
    parser.add_argument("--aws-profile", help="whose credentials are used")
    parser.add_argument("--stack", help="name of the stack; by default that with the endpoint's API")
    parser.add_argument("--role", help="ARN of the training role; by default the first that the queue may pass")
    parser.add_argument("--bucket", help="for the outputs of the training jobs")
    parser.add_argument("--image", help="URI of an image in ECR that has /bin/sh")
    parser.add_argument("--instance-type", default=INSTANCE_TYPE, help="of the training jobs (%(default)s)")
    parser.add_argument("--sandbox", action="store_true", help="use a new sandbox whatever is configured")
    parser.add_argument("--minutes", type=float, default=40.0, help="limit of the wait for the jobs (%(default)g)")
    parser.add_argument("--out", type=Path, default=report_folder(), help="folder of the report (%(default)s)")
    parser.add_argument("--yes", action="store_true", help="begin on AWS, where it costs")
    return parser


def _tell(sentence: str) -> None:
    print(sentence, flush=True)


def _end(number: int, _frame: object) -> None:
    """Exit by an exception, as Ctrl-C does, so that everything is removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    sys.exit(main())
