"""A queue on virtual time behind HTTP, which tests control by lines on standard input.

It runs in the environment with the service, and the tests in the one with the browser. Lines: ``submit NAME PRIORITY
TEAM COUNT``, ``hold NAME``, ``after NAME OTHER``, ``tick``, ``pass SECONDS``, ``refuse on|off``; each is answered with
a line.
"""

from __future__ import annotations

import sys
from typing import Any

from headway_service.admission.submission import Submission
from headway_service.config.authorization import Caller
from tests.client.fakes import handler_server
from tests.service.world import ACCOUNT, World, on, request

P5 = "ml.p5.48xlarge"
ADA = Caller(arn=f"arn:aws:iam::{ACCOUNT}:user/ada", account=ACCOUNT)


class Queue(World):
    """The queue."""

    def __init__(self) -> None:
        super().__init__(pools={P5: 2})
        self.configuration.write(
            {
                "pools": {P5: {"size": 2}, "ml.g5.xlarge": {"size": 8}},
                "teams": {"vision": {"guaranteed": {"ml.g5.xlarge": 2}}, "search": {}},
                "prices": {P5: [{"from": "2026-01-01", "onDemandPerHour": 55.04}]},
            }
        )
        self.refuses = False

    def handle(self, event: dict[str, Any], _: Any) -> dict[str, Any]:
        # Each call is a second later, so that the function's own copy of the summary is old.
        self.now_s += 1
        if self.refuses:
            return {"statusCode": 503, "body": "{}", "multiValueHeaders": {"Content-Type": ["application/json"]}}
        answer: dict[str, Any] = self.invoke("api", event)
        return answer

    def obey(self, command: str, *arguments: str) -> None:
        match command:
            case "submit":
                name, priority, team, count = arguments
                tags = [{"Key": "priority", "Value": priority}, {"Key": "team", "Value": team}]
                self.submitter.submit(request(name, ResourceConfig=on(int(count)), Tags=tags), ADA)
            case "after":
                name, other = arguments
                tags = [{"Key": "team", "Value": "search"}]
                depends_on = [{"job": other, "condition": "any"}]
                self.submitter.submit(Submission(request=request(name, Tags=tags), depends_on=depends_on), ADA)
            case "sweep":
                name, count = arguments
                sweep = {"grid": {"rate": [str((index + 1) / 10) for index in range(int(count))]}}
                self.submitter.submit(
                    Submission(request=request(name, Tags=[{"Key": "team", "Value": "search"}]), sweep=sweep), ADA
                )
            case "hold":
                self.commands.hold(arguments[0], ADA)
            case "tick":
                self.tick()
            case "pass":
                self.pass_time(float(arguments[0]))
            case "refuse":
                self.refuses = arguments == ("on",)
            case _:
                raise ValueError(command)


def main() -> None:
    queue = Queue()
    with handler_server.serving(queue.handle) as endpoint:
        sys.stderr.write(f"{endpoint}\n")
        sys.stderr.flush()
        for line in sys.stdin:
            queue.obey(*line.split())
            sys.stderr.write("done\n")
            sys.stderr.flush()


if __name__ == "__main__":
    main()
