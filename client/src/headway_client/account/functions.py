"""Does each function of the queue run? Each is invoked once, with an event that changes nothing.

CloudFormation runs no function, so a version that cannot be imported is deployed successfully.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from headway_client.account.finding import Finding, Unread
from headway_client.account.seen import Invocation

HOW_TO_ROLL_BACK = (
    "Roll back: `git switch --detach COMMIT` with the commit that ran before, and `make deploy` "
    '(docs/how-to/release.md, "Roll back").'
)

_SCHEDULED = {"source": "aws.events", "detail-type": "Scheduled Event", "resources": [], "detail": {}}
_NO_TRAINING_JOB = "headway.doctor"
"""No training job has this name, as names have no dots (service model, TrainingJobName)."""

EVENTS: Mapping[str, Mapping[str, Any]] = {
    "ApiFunction": {
        "resource": "/version",
        "path": "/version",
        "httpMethod": "GET",
        "headers": {},
        "multiValueHeaders": {},
        "queryStringParameters": None,
        "multiValueQueryStringParameters": None,
        "pathParameters": None,
        "stageVariables": None,
        "requestContext": {
            "httpMethod": "GET",
            "path": "/version",
            "resourcePath": "/version",
            "requestId": "headway-doctor",
            "stage": "headway-doctor",
            "identity": {"sourceIp": "127.0.0.1"},
        },
        "body": None,
        "isBase64Encoded": False,
    },
    # A tick, as one happens every minute.
    "ScheduleFunction": {"Records": []},
    # Of a job that has ended and that the queue does not know: there is nothing to record.
    "ObserveFunction": {
        "source": "aws.sagemaker",
        "detail-type": "SageMaker Training Job State Change",
        "detail": {
            "TrainingJobName": _NO_TRAINING_JOB,
            "TrainingJobStatus": "Completed",
            "SecondaryStatus": "Completed",
        },
    },
    # What happens every minute, once more.
    "ReconcileFunction": _SCHEDULED,
    "PatrolFunction": _SCHEDULED,
    "WatchFunction": _SCHEDULED,
    "TellFunction": {"Records": []},
}
"""An event for each function, by its logical id in the template."""


def check_function(logical_id: str, name: str, answer: Invocation | Unread | None) -> Finding:
    """Check what a function answered to its event.

    Args:
        logical_id: in the template.
        name: of the function.
        answer: None if there is no event for it.
    """
    asked = f"an invocation of {logical_id} ({name})"
    if isinstance(answer, Unread):
        return answer.note("function", asked)
    if answer is None:
        said, remedy = "this client has no event for it", "Use the client of the version that is deployed."
        return Finding(check="function", result="note", asked=asked, said=said, remedy=remedy)
    if answer.error:
        return _problem(asked, answer.error)
    status = answer.payload.get("statusCode") if isinstance(answer.payload, Mapping) else None
    if logical_id == "ApiFunction" and status != 200:
        return _problem(asked, f"GET /version has status {status}")
    return Finding(check="function", result="ok", asked=asked, said="it runs")


def _problem(asked: str, said: str) -> Finding:
    return Finding(check="function", result="problem", asked=asked, said=said, remedy=HOW_TO_ROLL_BACK)
