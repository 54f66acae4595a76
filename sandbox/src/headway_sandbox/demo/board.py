"""Opens the board on a busy queue in a sandbox: jobs of two teams come, preempt each other and end.

    python -m headway_sandbox.demo.board          (or `make demo-board`)

It goes on until Ctrl-C, or for ``--seconds``, and removes the sandbox at the end.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
import webbrowser
from collections.abc import Sequence

from botocore.credentials import Credentials

from headway_client.board.web.server import BoardServer
from headway_client.errors import ClientError
from headway_client.http.api import HeadwayApi
from headway_client.http.transport import Limits
from headway_sandbox.demo.stage import check, say
from headway_sandbox.local.sandbox import Sandbox
from headway_sandbox.sagemaker.request_builder import P5, training_request

CAPACITY = 8
SPEED = 60.0
SUBMIT_EVERY_S = 3.0
MAX_WAITING = 40
"""No more jobs come while as many wait."""

_RUN_S = (300, 3600)


def play(api: HeadwayApi, stopped: threading.Event, rng: random.Random) -> None:
    """Submit jobs until the demo ends.

    Args:
        api: The queue.
        stopped: Set at the end.
        rng: Draws the jobs.
    """
    for number in range(1_000_000):
        if stopped.wait(SUBMIT_EVERY_S if number >= CAPACITY + 4 else 0.0):
            return
        tags = {"priority": str(rng.choice((1, 1, 2, 5, 9))), "project": rng.choice(("vision", "search"))}
        request = training_request(
            f"job-{number:03}", [(P5, rng.choice((1, 1, 2, 4)))], run_s=rng.randint(*_RUN_S), tags=tags
        )
        request["CheckpointConfig"] = {"S3Uri": f"s3://jobs/checkpoints/job-{number:03}"}
        try:
            if api.capacity().pools[0].waiting < MAX_WAITING:
                api.submit(request)
        except ClientError as error:
            say(f"not submitted: {error}")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the demo and return the exit code: 1 if the board has seen no running job."""
    parser = argparse.ArgumentParser(description="The board on a busy queue on this machine.")
    parser.add_argument("--speed", type=float, default=SPEED, help="acceleration of training time (%(default)g)")
    parser.add_argument("--seconds", type=float, help="end by itself after this time")
    parser.add_argument("--no-browser", action="store_true", help="only print the link")
    options = parser.parse_args(arguments)
    say(f"start the sandbox and deploy the template, with a pool of {CAPACITY} {P5}")
    parameters = {"PoolInstanceType": P5, "PoolSize": str(CAPACITY)}
    with Sandbox(speed=options.speed, parameters=parameters) as sandbox:
        credentials = Credentials(sandbox.info.access_key, sandbox.info.secret_key)

        def connect(limits: Limits) -> HeadwayApi:
            return HeadwayApi(sandbox.endpoint, region=sandbox.info.region, credentials=credentials, limits=limits)

        board = BoardServer(connect(Limits(tries=1)), sandbox.client, allow_changes=True)
        stopped = threading.Event()
        threads = [
            threading.Thread(target=play, args=(connect(Limits()), stopped, random.Random(1))),
            threading.Thread(target=board.serve),
        ]
        for thread in threads:
            thread.start()
        say(f"open {board.url}")
        if not options.no_browser:
            board.open(webbrowser.open)
        try:
            _wait(options.seconds)
            document, _ = board.picture(hidden=False)
        finally:
            stopped.set()
            board.stop()
            for thread in threads:
                thread.join()
            board.close()
    running = len((document["summary"] or {}).get("running", ()))
    check(f"the board showed {running} running jobs, without errors: {not document['error']}")
    return 0 if running and not document["error"] else 1


def _wait(seconds: float | None) -> None:
    try:
        time.sleep(seconds if seconds is not None else threading.TIMEOUT_MAX)
    except KeyboardInterrupt:
        say("the board ends")


if __name__ == "__main__":
    sys.exit(main())
